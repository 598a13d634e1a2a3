// Several nodes on one PostgreSQL against one node on SQLite, in turns: their throughput, and the processor time of the database
// and the nodes per request. All load comes from this machine, so only the ratios apply to other machines.
import { join } from 'node:path'
import { WHOLE } from './exchange'
import type { NodeFigures, NodesFigures } from './figures'
import { createKey, type GatewayStart, setUpGateway, startGateway } from './gateway'
import { LoadClient } from './load-client'
import type { Amounts } from './options'
import { startPostgres } from './postgres-server'
import type { Target } from './targets'

export const NODES = 3
export const NODE_CONNECTIONS = 96
const WARM_UP_MS = 3000

export async function measureNodes(
  command: string[],
  directory: string,
  mockPort: number,
  amounts: Amounts,
): Promise<NodesFigures> {
  if (process.platform !== 'linux')
    throw new Error('the processor time of a database can be read on Linux only')
  const server = await startPostgres(directory)
  const setUp = (name: string, database?: string) =>
    setUpGateway(command, join(directory, name), mockPort, { database })
  const single = await startGateway(setUp('sqlite'))
  const setups = Array.from({ length: NODES }, (_, index) => () => setUp(`node-${index}`, server.url))
  const nodes: GatewayStart[] = []
  const keys: string[] = []
  for (const [index, make] of setups.entries()) {
    const setup = make()
    keys.push(index === 0 ? setup.key : createKey(setup, `account-${index}`, '1000000'))
    nodes.push(await startGateway(setup))
  }
  const clients = nodes.map(() => new LoadClient(directory))
  const target = (index: number, key: number): Target => {
    const node = nodes[index]?.target as Target
    return { ...node, headers: { authorization: `Bearer ${keys[key]}` } }
  }
  const cases: Record<keyof NodesFigures, Target[]> = {
    sqlite: [single.target],
    postgres: [target(0, 0)],
    oneAccount: nodes.map((_, index) => target(index, 0)),
    manyAccounts: nodes.map((_, index) => target(index, index)),
  }
  const measure = async (targets: readonly Target[], durationMs: number): Promise<NodeFigures> => {
    const before = server.cpuMs()
    const connections = NODE_CONNECTIONS / targets.length
    const metered = await Promise.all(
      targets.map((each, index) =>
        (clients[index] as LoadClient).loop(each, WHOLE, false, { connections, durationMs }),
      ),
    )
    const databaseMs = server.cpuMs() - before
    const replies = sum(metered.map(({ report }) => report.replies))
    return {
      repliesPerSecond: sum(metered.map(({ report }) => (report.replies * 1000) / report.elapsedMs)),
      p50Ms: Math.max(...metered.map(({ report }) => report.latencyMs.p50)),
      p99Ms: Math.max(...metered.map(({ report }) => report.latencyMs.p99)),
      databaseMicros: (databaseMs * 1000) / replies,
      ownMicros: (sum(metered.map(({ cpuMs }) => cpuMs)) * 1000) / replies,
      errors: sum(metered.map(({ report }) => report.errors)),
    }
  }
  const figures: NodesFigures = { sqlite: [], postgres: [], oneAccount: [], manyAccounts: [] }
  const names = Object.keys(cases) as (keyof NodesFigures)[]
  for (const name of names) await measure(cases[name], WARM_UP_MS)
  for (let round = 0; round < amounts.nodeRounds; round++) {
    for (const name of names) figures[name].push(await measure(cases[name], amounts.nodesMs))
  }
  for (const { child } of [single, ...nodes]) await child.stop()
  await server.stop()
  return figures
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
