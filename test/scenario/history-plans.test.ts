// Query plans of reports, checks and closings: on PostgreSQL none may read the whole history of charges, and on both databases a
// query about one account or key must not read the totals of all.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { spendOf } from '../../src/admin/overview-figures'
import { ledgerOf, pageOfLedger } from '../../src/billing/ledger/account-ledger'
import { findEndedCharge } from '../../src/billing/ledger/ledger'
import { referencesOf } from '../../src/billing/ledger/shared-rows'
import { writeCheckpoint } from '../../src/billing/proofs/checkpoint'
import { reconcile } from '../../src/billing/proofs/reconciliation'
import { verify } from '../../src/billing/proofs/verify'
import { draftStatements } from '../../src/billing/reports/statements'
import { chargesOf, costsBetween, usageBy, usageDimensions } from '../../src/billing/reports/usage-report'
import { addToTotals, DAY_MS, HOUR_MS } from '../../src/billing/reports/usage-totals'
import { makeChargePartitions } from '../../src/db/charge-partitions'
import { apply, type Db, type Statement } from '../../src/db/db'
import { chargesToClose, monthsToClose } from '../../src/retention/months'
import { removeRows } from '../../src/retention/remove'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { makeCharge, START } from '../support/databases/ledger-rows'

setDefaultTimeout(300_000)

/** Months with charges: others cost nothing. Or the totals of all times. */
const READS_ALL = /Seq Scan on (ended_charges_2026_0[345]|usage_totals)/
const CHARGES = 200_000
const HISTORY_DAYS = 60

/** A long history of one series, spread evenly, behind two months of totals of a hundred others. */
async function fill(db: Db): Promise<void> {
  const references = referencesOf(db)
  await references.seriesId(makeCharge(1))
  await references.priceListId(makeCharge(1).pricesJson)
  for (const month of [0, 1, 2]) await makeChargePartitions(db, Date.UTC(2026, 2 + month))
  await apply(db, [
    {
      sql: `insert into ended_charges (id, series, price_list, state, held, amount, shortfall, ended_by, created_at, ended_at)
        select 'charge ' || i, 1, 1, 1, 9, 5, 0, 0, ${START} + cast(i as bigint) * ${(HISTORY_DAYS * DAY_MS) / CHARGES},
          ${START} + cast(i as bigint) * ${(HISTORY_DAYS * DAY_MS) / CHARGES} from generate_series(1, ${CHARGES}) as i`,
    },
  ])
  while ((await addToTotals(db)) > 0);
  const hours = (HISTORY_DAYS * DAY_MS) / HOUR_MS
  await apply(db, [
    {
      sql: `insert into usage_totals (span, start, series, requests, released, counted, estimated, amount, shortfall,
          first_position, last_position)
        select ${HOUR_MS}, ${START - HISTORY_DAYS * DAY_MS} + cast(i as bigint) * ${HOUR_MS}, series, 1, 0, 0, 0, 5, 0, 0, 0
        from generate_series(0, ${hours - 1}) as i cross join generate_series(2, 101) as series`,
    },
    { sql: 'analyze' },
  ])
}

/** Closes a few of the first charges, and removes them. */
async function closeSome(db: Db): Promise<void> {
  await apply(db, [
    {
      sql: `insert into closings (position, month, ended_before, at, charges, hash, entries_hash, archive, archive_bytes, signature)
        values (2500, '2026-03', ${START + HOUR_MS}, 1, 2500, '', '', '', 0, '')`,
    },
  ])
  await removeRows(db, async () => {})
  await monthsToClose(db, 1, START + 90 * DAY_MS)
  await Array.fromAsync(ledgerOf(db, 'alice', { since: 0, until: START + 2 * HOUR_MS }))
}

/** Everything that reads a part of the charges besides requests: checks, comparisons with vendors, statements, closings. */
async function readBooks(db: Db, late: number): Promise<void> {
  const key = 'signs'
  const position = CHARGES - 1_000
  const sums = { charges: position, paid: { alice: String(5 * position) }, shortfall: '0' }
  await writeCheckpoint(db, { position, at: late, hash: '', sums }, '', key)
  const { since, problems } = await verify(db, { now: late, key, whole: false, onProgress() {} })
  expect(since).toBe(late)
  // There is no account: only charges were written.
  const unpaid = `account:alice: the ledger has -${5 * CHARGES} for an account that does not exist`
  expect(problems).toEqual([unpaid])
  await reconcile(db, [], {
    since: late,
    until: late + HOUR_MS,
    vendorNames: new Map([['any', 'any']]),
    tolerance: 0,
  })
  await draftStatements(db, '2026-03', {})
  await spendOf(db, { since: late, until: late + DAY_MS })
  const month = { month: '2026-03', endedBefore: late, after: 1_000, position: 3_000, open: 0 }
  await chargesToClose(db, month, async () => {})
  // As after a month without any reader.
  await apply(db, [{ sql: `update marks set position = position - 500 where name = 'usage'` }])
  await addToTotals(db)
}

const server = databaseKinds.includes('postgres') ? describe : describe.skip
server('a statement that reads history', () => {
  test('finds its rows without reading the rest', async () => {
    const db = await openTestDatabase('postgres')
    await fill(db)
    const statements: Statement[] = []
    const note = (statement: Statement) => {
      if (/ended_charges|charge_history|\bcharges\b/.test(statement.sql)) statements.push(statement)
    }
    const watched: Db = {
      ...db,
      batch(batch) {
        for (const statement of batch)
          if (/^(select|delete|insert into usage_totals)/.test(statement.sql)) note(statement)
        return db.batch(batch)
      },
      query(statement) {
        note(statement)
        return db.query(statement)
      },
    }
    const since = START + 30 * DAY_MS + 5
    for (const by of usageDimensions) await usageBy(watched, by, { since, until: since + DAY_MS })
    await pageOfLedger(watched, 'alice', { since, until: since + HOUR_MS }, 10)
    const newest = await pageOfLedger(watched, 'alice', {}, 10)
    await pageOfLedger(watched, 'alice', {}, 10, newest?.next ?? undefined)
    const late = START + (HISTORY_DAYS - 1) * DAY_MS
    await costsBetween(watched, 'chat', { from: CHARGES - 500, to: CHARGES, begunBefore: late })
    await findEndedCharge(watched, 'charge 199000', late)
    await chargesOf(watched, `req_${late.toString(16).padStart(12, '0')}${'0'.repeat(20)}`)
    await readBooks(watched, late)
    await closeSome(watched)
    expect(statements.length).toBeGreaterThan(40)
    for (const { sql, parameters = [] } of statements) {
      const plan = await db.query({ sql: `explain ${sql}`, parameters })
      const text = plan.map((row) => Object.values(row)[0]).join('\n')
      expect({ sql, reads: READS_ALL.test(text) ? text : '' }).toEqual({
        sql,
        reads: '',
      })
    }
    await db.close()
  })

  test('by hour and day does not look up series', async () => {
    const db = await openTestDatabase('postgres')
    const looked = new Map<string, boolean>()
    const watched = (by: string): Db => ({
      ...db,
      query(statement) {
        if (/usage_totals/.test(statement.sql)) looked.set(by, / join charge_series/.test(statement.sql))
        return db.query(statement)
      },
    })
    const period = { since: START, until: START + 30 * DAY_MS }
    for (const by of usageDimensions) await usageBy(watched(by), by, period)
    await usageBy(watched('day and hour'), 'day', period, 'hour')
    await usageBy(watched('day and model'), 'day', period, 'model')
    expect(looked.size).toBe(usageDimensions.length + 2)
    expect([...looked].filter(([, isLooked]) => !isLooked).map(([by]) => by)).toEqual([
      'day',
      'hour',
      'day and hour',
    ])
    await db.close()
  })
})

const ACCOUNTS = 200
const SERIES = 4 * ACCOUNTS

/** Totals of two months of days and one day of hours, of accounts with four keys each. */
async function fillTotals(db: Db): Promise<void> {
  const fill = (span: number, count: number) => ({
    sql: `with recursive times(i) as (select 0 union all select i + 1 from times where i < ${count - 1})
      insert into usage_totals (span, start, series, requests, released, counted, estimated, amount, shortfall,
        first_position, last_position)
      select ${span}, ${START} + cast(i as bigint) * ${span}, id, 1, 0, 0, 0, 5, 0, 1, 1 from times cross join charge_series`,
  })
  await apply(db, [
    {
      sql: `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${SERIES})
        insert into charge_series (id, account, key_id, model, operation)
        select i, 'account ' || (i % ${ACCOUNTS}), 'key ' || i, 'm', 'chat' from n`,
    },
    fill(DAY_MS, HISTORY_DAYS),
    fill(HOUR_MS, 24),
    // SQLite never learns how many rows there are.
    ...(db.kind === 'postgres' ? [{ sql: 'analyze' }] : []),
  ])
}

/** A look-up of one row by the other index is as good. The rows that PostgreSQL really read count, not its estimate. */
const READS_OTHERS =
  /SCAN usage_totals|usage_totals USING PRIMARY|Seq Scan on usage_totals|usage_totals_pkey .*actual.* rows=\d\d/

describe.each(databaseKinds)('totals of one account on %s', (kind) => {
  test('are found without reading those of others', async () => {
    const db = await openTestDatabase(kind)
    await fillTotals(db)
    const statements: Statement[] = []
    const watched: Db = {
      ...db,
      query(statement) {
        if (/usage_totals[^)]*charge_series/s.test(statement.sql)) statements.push(statement)
        return db.query(statement)
      },
    }
    const until = START + HISTORY_DAYS * DAY_MS
    const account = 'account 7'
    const since = START + 50 * DAY_MS
    // The balance before a time is the sum of all days before it.
    expect(await Array.fromAsync(ledgerOf(watched, account, { since, until: since }))).toEqual([])
    await pageOfLedger(watched, account, { since: START, until }, 10)
    await pageOfLedger(watched, account, {}, 10, { position: 1, at: since, id: '' })
    for (const by of ['account', 'model', 'day', 'hour'] as const) {
      await usageBy(watched, by, { since: 0, until, account })
      await usageBy(watched, by, { since: 0, keyId: 'key 7' })
    }
    expect(statements.length).toBeGreaterThan(10)
    const explain = kind === 'sqlite' ? 'explain query plan' : 'explain analyze'
    for (const { sql, parameters = [] } of statements) {
      const plan = await db.query({ sql: `${explain} ${sql}`, parameters })
      const lines = plan.map((row) => String(row.detail ?? row['QUERY PLAN']))
      const reads = lines.filter((line) => READS_OTHERS.test(line))
      expect({ sql, reads }).toEqual({ sql, reads: [] })
    }
    await db.close()
  })
})
