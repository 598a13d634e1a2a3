// Several gateways as nodes of one installation: they share a database, a vendor and, optionally, a clock.

import type { DatabaseKind } from './databases/databases'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from './gateway'

/** One on SQLite, because two processes never share its file. */
export async function startNodes(
  database: DatabaseKind,
  count: number,
  options: TestGatewayOptions = {},
): Promise<[TestGateway, ...TestGateway[]]> {
  const first = await startTestGateway({ database, ...options })
  const others = Array.from({ length: database === 'sqlite' ? 0 : count - 1 }, () =>
    startTwin(first, options),
  )
  return [first, ...(await Promise.all(others))]
}

/** Starts one more node on the database of another. It does not create an account or add money. */
export async function startTwin(
  gateway: TestGateway,
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  const { databaseUrl, sandbox } = gateway
  if (!databaseUrl) throw new Error('a SQLite database has one node')
  return startTestGateway({ ...options, databaseUrl, sandbox, balance: '0' })
}

/** Stops a gateway and starts it again on the same data. */
export async function restart(gateway: TestGateway, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const { databaseUrl, dataDir, sandbox } = gateway
  await gateway.server.stop(0)
  return startTestGateway({
    ...options,
    ...(databaseUrl ? { databaseUrl } : {}),
    dataDir,
    sandbox,
    balance: '0',
  })
}

/** Stops the first node last, because that also stops the vendor. */
export async function closeNodes(nodes: readonly TestGateway[]): Promise<void> {
  for (const node of [...nodes].reverse()) await node.close()
}

/** Sends many requests at once and reads all the answers. */
export async function flood(
  count: number,
  send: (index: number) => Promise<Response>,
): Promise<{ status: number; headers: Headers; text: string }[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const response = await send(index)
      return { status: response.status, headers: response.headers, text: await response.text() }
    }),
  )
}

/** The number of answers by status. */
export function statusesOf(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
