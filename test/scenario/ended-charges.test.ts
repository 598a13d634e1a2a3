// Ended charges as stored: each is read back unchanged, and takes few bytes of the disk.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { DAY_MS } from '../../src/billing/reports/usage-totals'
import { makeChargePartitions, tableOfCharges } from '../../src/db/charge-partitions'
import { apply, type Statement } from '../../src/db/db'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { START } from '../support/databases/ledger-rows'

setDefaultTimeout(120_000)

/** The rows that all charges of these tests refer to. */
const SHARED: Statement[] = [
  {
    sql: `insert into charge_series (id, account, key_id, model, operation) values (1, 'alice', 'k1', 'm', 'chat')`,
  },
  { sql: `insert into price_lists values (1, 'one', '{}')` },
  { sql: `insert into usage_shapes values (1, 'one', '{"a":\u0001,"b":\u0001}')` },
]
const DIGITS = '0193a1b2c3d47e8f9a0b1c2d3e4f5a6b'
/** Ids of the gateway, and similar ones. */
const IDS = [
  `req_${DIGITS}`,
  `req_${DIGITS}:late`,
  `req_${DIGITS.toUpperCase()}`,
  `req_${DIGITS.slice(1)}`,
  `req_${DIGITS}0`,
  `req_${DIGITS.replace('3', 'g')}`,
  `req-${DIGITS}`,
  `xreq_${DIGITS}`,
  `req_${DIGITS.slice(1)}\n`,
  'req_',
  DIGITS,
  '',
]

/**
 * Charges with these ids, in several months: some have a shortfall or a known cost, some took long or ended before they began,
 * by a clock that was wrong.
 */
function chargesWith(ids: readonly string[]) {
  return ids.map((id, index) => ({
    id,
    shortfall: index % 3 === 0 ? 4 : 0,
    cost: index % 2 === 0 ? null : 3,
    created_at: START + (index % 5 === 0 ? 3_600_000 : -1),
    ended_at: START + (index % 7) * 20 * DAY_MS,
  }))
}

function insertionsOf(charges: ReturnType<typeof chargesWith>): Statement[] {
  return charges.map(({ id, shortfall, cost, created_at, ended_at }) => ({
    sql: `insert into ended_charges (id, series, price_list, state, held, amount, shortfall, usage_shape, usage, usage_source,
        ended_by, created_at, ended_at, cost)
      values ($1, 1, 1, 1, 5, 5, $2, 1, '7,', 0, 0, $3, $4, $5)`,
    parameters: [id, shortfall, created_at, ended_at, cost],
  }))
}

const POSITIONS = 'select * from charge_history order by position'

describe.each(databaseKinds)('the stored form of charges on %s', (kind) => {
  test('has the place by which the database identifies it', async () => {
    const db = await openTestDatabase(kind)
    expect(await tableOfCharges(db)).toEqual(
      kind === 'sqlite'
        ? { name: 'ended_charges', hasPartitions: false }
        : { name: 'stored_charges', hasPartitions: true },
    )
    await db.close()
  })

  test('returns each charge unchanged', async () => {
    const db = await openTestDatabase(kind)
    await apply(db, [...SHARED, ...insertionsOf(chargesWith(IDS))])
    const sql = 'select id, shortfall, cost, created_at, ended_at from ended_charges order by position'
    expect(await db.query({ sql })).toEqual(chargesWith(IDS))
    await db.query({ sql: 'delete from ended_charges where position <= 3' })
    expect((await db.query({ sql: POSITIONS })).map(({ id }) => id)).toEqual(IDS.slice(3))
    await db.close()
  })

  test.each([
    ['is not known', 'null'],
    ['is known', '700000 + i'],
  ])('takes at most 150 bytes of a charge whose cost %s', async (_, cost) => {
    const count = 20_000
    const db = await openTestDatabase(kind)
    await makeChargePartitions(db, START)
    const id = kind === 'sqlite' ? `printf('%032x', i * 7919)` : `lpad(to_hex(i * 7919), 32, '0')`
    await apply(db, [
      ...SHARED,
      {
        sql: `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
          insert into ended_charges (id, series, price_list, state, held, amount, shortfall, usage_shape, usage, usage_source,
            ended_by, created_at, ended_at, cost)
          select 'req_' || ${id}, 1, 1, 1, 8000000 + i, 1000000 + i, 0, 1, (1000 + i % 3000) || ',200,' || (1200 + i % 3000) ||
            ',,,128,,,', 0, 0, ${START} + i, ${START} + i + 2500, ${cost} from n`,
      },
    ])
    // Without PostgreSQL's range indexes, whose size does not depend on the number of charges.
    const bytes = {
      sqlite: `select sum(pgsize) as bytes from dbstat where name = 'ended_charges'`,
      postgres: `select cast(sum(pg_relation_size(oid)) as bigint) as bytes from pg_class
        where relkind = 'r' and relname like 'ended_charges_%'`,
    }
    const [row] = await db.query({ sql: bytes[kind] })
    expect((row?.bytes as number) / count).toBeLessThanOrEqual(150)
    expect((row?.bytes as number) / count).toBeGreaterThan(80)
    await db.close()
  })
})
