// Databases from before charges were stored in their short form: nothing that they said is lost.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { audit } from '../../src/billing/audit'
import { findOpenCharge, settle } from '../../src/billing/ledger'
import { withWholeUsage } from '../../src/billing/usage-form'
import { COMPACT_CHARGES } from '../../src/db/compact-charges'
import { apply, type Db, type Value } from '../../src/db/db'
import { migrate, migrations } from '../../src/db/migrations'
import { databaseAddress, databaseKinds, openAddress } from '../support/databases'
import { makeSettlement, START } from '../support/ledger-rows'

setDefaultTimeout(120_000)

const usage = '{"prompt_tokens":3}'
/** Ended charges in the columns of their time. */
const ended: readonly Value[][] = [
  [
    'a',
    'alice',
    'k1',
    'm',
    'chat',
    'settled',
    9,
    5,
    0,
    '{"x":1}',
    usage,
    'upstream',
    'done',
    START,
    START + 1,
  ],
  ['b', 'alice', 'k1', 'm', 'chat', 'released', 9, 0, 0, '{"x":1}', null, null, 'client', START, START + 2],
  ['c', 'bob', 'k2', 'n', 'image', 'settled', 2, 3, 4, '{"x":2}', usage, 'estimated', 'expired', 1, 2],
]

const list = (count: number) => Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ')

async function fill(db: Db): Promise<void> {
  await apply(db, [
    ...['alice', 'bob'].map((name) => ({
      sql: 'insert into accounts (name, balance, held, created_at) values ($1, $2, $3, 0)',
      parameters: name === 'alice' ? [name, 95, 7] : [name, 97, 0],
    })),
    ...['alice', 'bob'].map((name) => ({
      sql: `insert into transfers (id, at, kind, from_book, to_book, amount) values ($1, 0, 'credit', 'funding', $2, 100)`,
      parameters: [name, `account:${name}`],
    })),
    ...ended.map((parameters) => ({ sql: `insert into ended_charges values (${list(15)})`, parameters })),
    {
      sql: `insert into open_charges values (${list(12)})`,
      parameters: ['k1', 'open', 'alice', 'm', 'chat', 7, '{"x":3}', null, null, 0, START, START + 60_000],
    },
  ])
}

describe.each(databaseKinds)('charges of an older database on %s', (kind) => {
  test('are there as they were, and the books are right', async () => {
    const db = openAddress(await databaseAddress(kind))
    await migrate(db, migrations.slice(0, migrations.indexOf(COMPACT_CHARGES)))
    await fill(db)
    const read = async () =>
      (await db.query({ sql: 'select * from charges order by id' })).map(withWholeUsage)
    const before = await db.query({ sql: 'select * from charges order by id' })
    await migrate(db)
    // Nobody knew what vendors asked for them.
    expect(await read()).toEqual(before.map((row) => ({ ...row, cost: null })))
    expect((await audit(db, START)).problems).toEqual([])
    const open = await findOpenCharge(db, 'k1', 'open')
    expect(open).toMatchObject({ pricesJson: '{"x":3}', heldNano: 7 })
    if (open) await settle(db, open, makeSettlement(6))
    expect((await audit(db, START)).problems).toEqual([])
    await db.close()
  })
})
