// kill -9 of nodes and of the database in the middle of groups of movements: confirmed movements exist once, unconfirmed ones
// completely or not at all, and the books are correct.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { balanceOf } from '../../src/billing/ledger/balances'
import { addCredit, releaseExpired } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import { DatabaseUnavailable, type Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { databaseAddress, databaseKinds, openAddress, temporaryFolder } from '../support/databases/databases'
import { START } from '../support/databases/ledger-rows'
import { startPostgres } from '../support/databases/postgres'
import { waitFor } from '../support/gateway'

setDefaultTimeout(300_000)

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? 3)
const FUNDS_NANO = 1e12
const PRICE_NANO = 400
/** Settlements of a node before anything is killed. */
const MIN_SETTLED = 300

interface Mover {
  /** Charges by their reported result. */
  held: string[]
  settled: string[]
  kill(): Promise<void>
}

for (const kind of databaseKinds) {
  const nodes = kind === 'sqlite' ? 1 : 3
  test(`kill -9 of ${nodes} of ${nodes} nodes on ${kind} loses and doubles nothing`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const address = await databaseAddress(kind)
      const db = await openFunded(address)
      const movers = Array.from({ length: nodes }, (_, index) => startMover(address, `node ${index}`))
      for (const mover of movers) {
        await waitFor(() => mover.settled.length >= MIN_SETTLED)
        await Bun.sleep(Math.random() * 50)
        await mover.kill()
      }
      await proveBooks(db, movers)
      await db.close()
    }
  })
}

test.skipIf(!databaseKinds.includes('postgres'))(
  'kill -9 of PostgreSQL in the middle of groups loses and doubles nothing',
  async () => {
    const server = await startPostgres(temporaryFolder(), { durable: true })
    const db = await openFunded(server.url)
    const movers = [0, 1, 2].map((index) => startMover(server.url, `node ${index}`))
    for (let round = 0; round < ROUNDS; round++) {
      const before = movers.map(({ settled }) => settled.length)
      const goOn = (index: number) =>
        (movers[index] as Mover).settled.length >= (before[index] ?? 0) + MIN_SETTLED
      await waitFor(() => movers.every((_, index) => goOn(index)))
      await killServer(db)
    }
    const before = movers.map(({ settled }) => settled.length)
    // All continue automatically when it is back.
    await waitFor(() => movers.every(({ settled }, index) => settled.length > (before[index] ?? 0)))
    await Promise.all(movers.map((mover) => mover.kill()))
    await proveBooks(db, movers)
    await db.close()
    await server.stop()
  },
)

/** Kills one working process of the server, which then ends all others and recovers from its log. */
async function killServer(db: Db): Promise<void> {
  const sql = `select pid from pg_stat_activity where query like '%move_money%' and pid <> pg_backend_pid()`
  const rows = await whenUp(() => db.query({ sql }))
  process.kill(rows[0]?.pid as number, 'SIGKILL')
}

/** Repeats a call while the database is down. */
async function whenUp<Result>(work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      await Bun.sleep(50)
    }
  }
}

async function openFunded(address: string): Promise<Db> {
  const db = openAddress(address)
  await migrate(db)
  await addCredit(db, { id: 'funds', account: 'alice', amountNano: FUNDS_NANO, now: START, note: null })
  return db
}

function startMover(address: string, name: string): Mover {
  const script = join(import.meta.dir, '../support/processes/move-until-killed.ts')
  const child = Bun.spawn([process.execPath, script, address, name], { stdout: 'pipe', stderr: 'inherit' })
  const [held, settled]: [string[], string[]] = [[], []]
  const read = (async () => {
    let rest = ''
    const decoder = new TextDecoder()
    for await (const piece of child.stdout) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line.startsWith('held ')) held.push(line.slice('held '.length))
        else settled.push(line.slice('settled '.length))
      }
    }
  })()
  return {
    held,
    settled,
    async kill() {
      child.kill('SIGKILL')
      await child.exited
      await read
    },
  }
}

async function proveBooks(db: Db, movers: readonly Mover[]): Promise<void> {
  // Data from a connection of a killed node may still be on its way.
  await waitFor(async () => {
    const before = await whenUp(() => balanceOf(db, 'alice'))
    await Bun.sleep(100)
    return Bun.deepEquals(before, await whenUp(() => balanceOf(db, 'alice')))
  })
  expect((await audit(db, START)).problems).toEqual([])
  const rows = await db.query({ sql: 'select id, state, amount from charges' })
  const states = new Map(rows.map(({ id, state, amount }) => [id, `${state} ${amount}`]))
  expect(states.size).toBe(rows.length)
  for (const { held, settled } of movers) {
    expect(held.filter((id) => !states.has(id))).toEqual([])
    expect(settled.filter((id) => states.get(id) !== `settled ${PRICE_NANO}`)).toEqual([])
  }
  const paid = rows.filter(({ amount }) => amount === PRICE_NANO).length * PRICE_NANO
  await releaseExpired(db, START, { all: true })
  expect(await balanceOf(db, 'alice')).toMatchObject({ balanceNano: FUNDS_NANO - paid, heldNano: 0 })
  expect((await audit(db, START)).problems).toEqual([])
}
