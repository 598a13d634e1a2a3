// PgBouncer between the gateway and PostgreSQL, in transaction mode: each transaction gets a session that others have used.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { balanceOf } from '../../src/billing/ledger/balances'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import { openPostgres } from '../../src/db/drivers/postgres'
import { migrate } from '../../src/db/migrations'
import { createLedgerFuzz } from '../support/bookkeepers/ledger-fuzz'
import { databaseKinds, postgresUrl, temporaryFolder } from '../support/databases/databases'
import { makeCharge, makeSettlement, START } from '../support/databases/ledger-rows'
import { waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import { createRandom, seedOf } from '../support/random'

setDefaultTimeout(120_000)

const executable = Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin` })
const seed = seedOf('LEDGER_SEED')
const children: Bun.Subprocess[] = []
afterAll(() => {
  for (const child of children) child.kill()
})

const canRun = executable !== null && databaseKinds.includes('postgres')
const group = canRun ? describe : describe.skip
group(`PgBouncer in transaction mode${executable ? '' : ' (skipped: pgbouncer is not installed)'}`, () => {
  test('allows 300 concurrent holds over two nodes, and they are exact', async () => {
    const address = await startPgBouncer()
    const nodes = [openPostgres(address), openPostgres(address)] as const
    const [first] = nodes
    await Promise.all(nodes.map((node) => migrate(node)))
    await addCredit(first, { id: 'd', account: 'alice', amountNano: 100, now: START, note: null })
    const charges = Array.from({ length: 300 }, () => makeCharge(10))
    const nodeOf = (index: number) => nodes[index % 2] ?? first
    const results = await Promise.all(charges.map((charge, index) => hold(nodeOf(index), charge)))
    const held = charges.filter((_, index) => 'held' in (results[index] as object))
    expect(held).toHaveLength(10)
    await Promise.all(held.map((charge, index) => settle(nodeOf(index), charge, makeSettlement(10))))
    expect(await balanceOf(first, 'alice')).toMatchObject({ balanceNano: 0, heldNano: 0 })
    expect((await audit(first, START)).problems).toEqual([])
    for (const node of nodes) await node.close()
  })

  test(`has the results of the second bookkeeper (LEDGER_SEED=${seed})`, async () => {
    const db = openPostgres(await startPgBouncer())
    await migrate(db)
    const fuzz = await createLedgerFuzz(db, createRandom(seed))
    for (let wave = 0; wave < 2; wave++) await fuzz.wave()
    await fuzz.compare()
    await db.close()
  })

  test('applies the time limits of the gateway to each transaction', async () => {
    const db = openPostgres(await startPgBouncer())
    const result = await db.batch([
      {
        sql: `select current_setting('statement_timeout') as statements, current_setting('lock_timeout') as locks`,
      },
    ])
    expect(result).toEqual({ rows: [[{ statements: '5s', locks: '5s' }]] })
    await db.close()
  })
})

/** The address of a pooler in front of a new database. */
async function startPgBouncer(): Promise<string> {
  const to = new URL(await postgresUrl())
  const port = await freePort()
  const folder = temporaryFolder()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=${to.hostname} port=${to.port} user=postgres password=${to.password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = any
pool_mode = transaction
default_pool_size = 6
unix_socket_dir =
`,
  )
  const isRoot = process.getuid?.() === 0
  // It refuses to run as root.
  if (isRoot) {
    const nobody = 65_534
    chmodSync(folder, 0o755)
    chownSync(file, nobody, nobody)
  }
  const user = isRoot ? ['-u', 'nobody'] : []
  const child = Bun.spawn([executable ?? '', '-q', ...user, file], { stdout: 'ignore', stderr: 'ignore' })
  children.push(child)
  await waitFor(() => accepts(port))
  return `postgres://postgres@127.0.0.1:${port}${to.pathname}?pgbouncer=true`
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
