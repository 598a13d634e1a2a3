// `bun bench/history.ts [CHARGES] [FOLDER]`: fills a SQLite file with a long history and prints what reports on it take. The
// size of a charge is that of the file after `vacuum`. It must never fail because something was slow: it only reports.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endOfLedger, ledgerOf } from '../src/billing/account-ledger'
import { audit } from '../src/billing/audit'
import { usageBy } from '../src/billing/usage-report'
import { addToTotals, DAY_MS } from '../src/billing/usage-totals'
import { apply, type Db } from '../src/db/db'
import { migrate } from '../src/db/migrations'
import { openSqlite } from '../src/db/sqlite'

const charges = Number(process.argv[2] ?? 1_000_000)
const ACCOUNTS = 20
const KEYS = 3
const MODELS = 4
const MONTHS = 24
const START = Date.UTC(2025, 0)
const SPAN_MS = MONTHS * 30 * DAY_MS
const CHUNK = 100_000

const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'gateway-history-'))
const path = join(folder, 'gateway.sqlite')

/** Charges of all series in turn, spread evenly over two years. */
async function fill(db: Db): Promise<void> {
  const series = ACCOUNTS * KEYS * MODELS
  await apply(db, [
    {
      sql: `insert into price_lists values (1, 'bench', '[{"pico":{"input_token":250000,"output_token":2000000}}]')`,
    },
    {
      sql: `insert into usage_shapes values (1, 'bench', '{"prompt_tokens":\u0001,"completion_tokens":\u0001}')`,
    },
    {
      sql: `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${series - 1})
        insert into charge_series select i + 1, 'account ' || (i % ${ACCOUNTS}), 'key ' || (i % ${ACCOUNTS * KEYS}),
          'model ' || (i / ${ACCOUNTS * KEYS}), 'chat' from n`,
    },
  ])
  for (let from = 0; from < charges; from += CHUNK) {
    await apply(db, [
      {
        sql: `with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${Math.min(from + CHUNK, charges) - 1})
          insert into ended_charges (id, series, price_list, state, held, amount, shortfall, usage_shape, usage,
            usage_source, ended_by, created_at, ended_at)
          select 'req_' || printf('%012x', ${START} + cast(i * ${SPAN_MS / charges} as integer)) || printf('%020x', i),
            1 + (i * 7919) % ${series}, 1, i % 50 > 0, 8000000 + i % 999983,
            case when i % 50 > 0 then 1000000 + i % 999979 else 0 end, 0, 1,
            (1000 + i % 3000) || ',' || (i % 900) || ',' || (2000 + i % 3900) || ',' || (i % 512) || ',,' || (i % 300) || ',,,',
            0, 0, ${START} + cast(i * ${SPAN_MS / charges} as integer) - 2500,
            ${START} + cast(i * ${SPAN_MS / charges} as integer) from n`,
      },
    ])
  }
  await apply(db, [
    {
      sql: `insert into accounts (name, balance, held, created_at) select account, 1000000000000, 0, 1
        from charge_series group by account`,
    },
    {
      sql: `insert into transfers (id, at, kind, from_book, to_book, amount) select 'tr ' || account, 1, 'credit', 'funding',
        'account:' || account, 1000000000000 + (select sum(amount) from ended_charges e join charge_series s on s.id = e.series
          where s.account = charge_series.account) from charge_series group by account`,
    },
  ])
}

async function measure(name: string, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now()
  const result = await work()
  const tookMs = performance.now() - begun
  const rssMb = Math.round(process.memoryUsage.rss() / 1e6)
  console.log(`${name.padEnd(44)} ${tookMs.toFixed(0).padStart(8)} ms  ${rssMb} MB RSS  ${result ?? ''}`)
}

const db = openSqlite(path, { durable: false })
await migrate(db)
await db.compact?.()
const emptyBytes = statSync(path).size
await measure(`make ${charges} charges`, () => fill(db))
await db.compact?.()
console.log(`bytes a charge: ${((statSync(path).size - emptyBytes) / charges).toFixed(1)}`)
await measure('add all to the totals', async () => {
  while ((await addToTotals(db)) > 0);
})
const month = { since: Date.UTC(2026, 5), until: Date.UTC(2026, 6) }
for (const by of ['key', 'account', 'model', 'operation', 'day'] as const)
  await measure(`usage of a month by ${by}`, async () => (await usageBy(db, by, month)).length)
await measure('usage since ever by key', async () => (await usageBy(db, 'key', { since: 0 })).length)
await measure('usage of 30 days to the minute', async () => {
  const since = START + SPAN_MS - 30 * DAY_MS + 1_234_567
  return (await usageBy(db, 'model', { since })).length
})
await measure('the last 50 of a ledger of a month', async () => {
  return (await endOfLedger(db, 'account 1', month, 50)).length
})
await measure('a whole ledger', async () => {
  let entries = 0
  for await (const page of ledgerOf(db, 'account 1')) entries += page.length
  return entries
})
await measure('verify', async () => (await audit(db, Date.now())).problems.length)
await db.close()
if (process.argv[3] === undefined) rmSync(folder, { recursive: true })
