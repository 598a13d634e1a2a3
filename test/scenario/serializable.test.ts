// PostgreSQL configured like engines with only serializable transactions: all transactions that the server aborts are repeated
// within a limit, and amounts stay exact.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { balanceOf } from '../../src/billing/ledger/balances'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import { DatabaseUnavailable, type Db, type Statement } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { createLedgerFuzz } from '../support/bookkeepers/ledger-fuzz'
import { databaseKinds, openAddress, postgresUrl } from '../support/databases/databases'
import { makeCharge, makeSettlement, START } from '../support/databases/ledger-rows'
import { createRandom, seedOf } from '../support/random'

setDefaultTimeout(180_000)

const seed = seedOf('LEDGER_SEED')
const group = databaseKinds.includes('postgres') ? describe : describe.skip

group('a server whose transactions are serializable', () => {
  test('grants exactly 10 of 1,000 holds on money for 10, over three nodes', async () => {
    const [first, ...others] = await openNodes(3)
    const nodes = [first as Db, ...others]
    await addCredit(first as Db, { id: 'd', account: 'alice', amountNano: 100, now: START, note: null })
    const charges = Array.from({ length: 1_000 }, () => makeCharge(10))
    const results = await Promise.all(charges.map((charge, index) => hold(nodes[index % 3] as Db, charge)))
    const held = charges.filter((_, index) => 'held' in (results[index] as object))
    expect(held).toHaveLength(10)
    await Promise.all(held.map((charge, index) => settle(nodes[index % 3] as Db, charge, makeSettlement(10))))
    expect(await balanceOf(first as Db, 'alice')).toMatchObject({ balanceNano: 0, heldNano: 0 })
    expect((await audit(first as Db, START)).problems).toEqual([])
    await Promise.all(nodes.map((node) => node.close()))
  })

  test(`has the results of the second bookkeeper (LEDGER_SEED=${seed})`, async () => {
    const [db] = (await openNodes(1)) as [Db]
    const fuzz = await createLedgerFuzz(db, createRandom(seed))
    for (let wave = 0; wave < 2; wave++) await fuzz.wave()
    await fuzz.compare()
    await db.close()
  })
})

group.each(['40001', '40P01'])('a transaction that the server aborts with %s', (state) => {
  test('is tried again: a batch, a query and a movement', async () => {
    const db = await openFailing(state, 3)
    expect(await db.batch([FAIL, { sql: 'insert into things (id) values (1)' }])).toHaveProperty('rows')
    await failAgain(db)
    expect(await db.query(FAIL)).toEqual([{ done: 1 }])
    await failAgain(db)
    const charge = makeCharge(10)
    await db.batch([{ sql: TRIGGER }])
    expect(await hold(db, charge)).toEqual({ held: true })
    expect(await settle(db, charge, makeSettlement(4))).toEqual({ paidNano: 4, shortfallNano: 0 })
    expect(await db.query({ sql: 'select id from things' })).toEqual([{ id: 1 }])
    expect(await balanceOf(db, 'alice')).toMatchObject({ balanceNano: 96, heldNano: 0 })
    await db.close()
  })

  test('repeatedly is abandoned, and nothing has changed', async () => {
    const db = await openFailing(state, 1_000)
    const failing = db.batch([{ sql: 'insert into things (id) values (1)' }, FAIL])
    expect(await failing.catch((error) => error)).toBeInstanceOf(DatabaseUnavailable)
    await db.batch([{ sql: TRIGGER }])
    expect(await hold(db, makeCharge(10)).catch((error) => error)).toBeInstanceOf(DatabaseUnavailable)
    const [row] = await db.query({ sql: 'select last_value as tries from tries' })
    expect(row?.tries as number).toBeLessThan(40)
    expect(await db.query({ sql: 'select id from things' })).toEqual([])
    expect(await balanceOf(db, 'alice')).toMatchObject({ balanceNano: 100, heldNano: 0 })
    await db.close()
  })
})

const FAIL: Statement = { sql: 'select fail() as done' }
const TRIGGER = 'create trigger fails before insert on open_charges execute function fail_first()'

async function failAgain(db: Db): Promise<void> {
  await db.query({ sql: `select setval('tries', 1) as now` })
}

/**
 * A database with money, whose function `fail` fails a number of times; a sequence continues to count even if the rest is rolled
 * back.
 */
async function openFailing(state: string, times: number): Promise<Db> {
  const db = openAddress(await postgresUrl())
  await migrate(db)
  await addCredit(db, { id: 'd', account: 'alice', amountNano: 100, now: START, note: null })
  const raise = `if nextval('tries') <= ${times} then raise exception using errcode = '${state}'; end if;`
  await db.batch([
    { sql: 'create table things (id bigint primary key)' },
    { sql: 'create sequence tries' },
    { sql: `create function fail() returns int language plpgsql as $$ begin ${raise} return 1; end $$` },
    {
      sql: `create function fail_first() returns trigger language plpgsql as $$ begin ${raise} return null; end $$`,
    },
  ])
  return db
}

async function openNodes(count: number): Promise<Db[]> {
  const url = await postgresUrl()
  const admin = openAddress(url)
  const name = new URL(url).pathname.slice(1)
  await admin.batch([{ sql: `alter database ${name} set default_transaction_isolation = 'serializable'` }])
  await admin.close()
  const nodes = Array.from({ length: count }, () => openAddress(url))
  for (const node of nodes) await migrate(node)
  expect(await (nodes[0] as Db).query({ sql: 'show transaction_isolation' })).toEqual([
    { transaction_isolation: 'serializable' },
  ])
  return nodes
}
