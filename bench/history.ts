// `bun bench/history.ts [CHARGES] [FOLDER]`: fills a SQLite file with two years of charges, and measures what reports on them
// take, before and after the first year is closed. Times are those of the processor, so that a busy machine changes little.
// It must never fail because something was slow: it only reports.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderPlace } from '../src/backup/place'
import { endOfLedger, ledgerOf } from '../src/billing/account-ledger'
import { signingKey } from '../src/billing/checkpoint'
import { usageBy } from '../src/billing/usage-report'
import { addToTotals, DAY_MS } from '../src/billing/usage-totals'
import { verify } from '../src/billing/verify'
import { apply, type Db } from '../src/db/db'
import { migrate } from '../src/db/migrations'
import { openSqlite } from '../src/db/sqlite'
import { runRetention } from '../src/retention/run'
import type { HistoryFigures } from './figures'

const ACCOUNTS = 20
const KEYS = 3
const MODELS = 4
const SERIES = ACCOUNTS * KEYS * MODELS
const MONTHS = 24
const KEPT_MONTHS = 12
const START = Date.UTC(2025, 0)
const END = Date.UTC(2027, 0)
const CHUNK = 50_000
const PAGE = 50

const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))

/** Adds what charges share, and accounts with money for all of them. */
async function prepare(db: Db): Promise<void> {
  await apply(db, [
    {
      sql: `insert into price_lists values (1, 'bench', '[{"pico":{"input_token":250000,"output_token":2000000}}]')`,
    },
    {
      sql: `insert into usage_shapes values (1, 'bench', '{"prompt_tokens":\u0001,"completion_tokens":\u0001}')`,
    },
    {
      sql: `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${SERIES - 1})
        insert into charge_series (id, account, key_id, model, operation) select i + 1, 'account ' || (i % ${ACCOUNTS}), 'key ' || (i % ${ACCOUNTS * KEYS}),
          'model ' || (i / ${ACCOUNTS * KEYS}), 'chat' from n`,
    },
    {
      sql: `insert into accounts (name, balance, held, created_at) select account, 4000000000000000, 0, 1
        from charge_series group by account`,
    },
    {
      sql: `insert into transfers (id, at, kind, from_book, to_book, amount)
        select 'tr ' || account, 1, 'credit', 'funding', 'account:' || account, 4000000000000000
        from charge_series group by account`,
    },
  ])
}

/** Charges of all series in turn, spread evenly over a time, and paid by their accounts. */
async function addCharges(db: Db, count: number, start: number, spanMs: number): Promise<void> {
  const at = `${start} + cast(i * ${spanMs / count} as integer)`
  for (let from = 0; from < count; from += CHUNK) {
    await apply(db, [
      {
        sql: `with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${Math.min(from + CHUNK, count) - 1})
          insert into ended_charges (id, series, price_list, state, held, amount, shortfall, usage_shape, usage,
            usage_source, ended_by, created_at, ended_at)
          select 'req_' || printf('%012x', ${at}) || printf('%020x', i + ${start}),
            1 + (i * 7919) % ${SERIES}, 1, i % 50 > 0, 8000000 + i % 999983,
            case when i % 50 > 0 then 1000000 + i % 999979 else 0 end, 0, 1,
            (1000 + i % 3000) || ',' || (i % 900) || ',' || (2000 + i % 3900) || ',' || (i % 512) || ',,' || (i % 300) || ',,,',
            0, 0, ${at} - 2500, ${at} from n`,
      },
      {
        sql: `update accounts set balance = balance - (select coalesce(sum(amount), 0) from ended_charges join charge_series
            on charge_series.id = series where account = name and position > (select position from marks where name = 'usage'))`,
      },
    ])
    await addToTotals(db)
  }
}

/** Milliseconds of processor time that work takes. */
async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Bytes of the file that hold something. */
async function usedBytes(db: Db, tables: string): Promise<number> {
  const [row] = await db.query({
    sql: `select coalesce(sum(pgsize), 0) as bytes from dbstat where name in (${tables})`,
  })
  return row?.bytes as number
}

const CHARGES = `'ended_charges'`
const SUMS = `'usage_totals', 'closings', 'closing_entries'`

async function checkBooks(db: Db): Promise<void> {
  const key = await signingKey(db, randomBytes, END)
  const { problems } = await verify(db, { now: END, key, whole: false, onProgress() {} })
  if (problems.length > 0) throw new Error(`the books are wrong: ${problems.slice(0, 3).join('; ')}`)
}

/** Reports on the last year, which is never closed, and on all. */
async function measureReports(db: Db, perDay: number): Promise<HistoryFigures['before']> {
  const month = { since: Date.UTC(2026, 5), until: Date.UTC(2026, 6) }
  const everMs = await processorMs(() => usageBy(db, 'key', { since: 0 }))
  const monthMs = await processorMs(() => usageBy(db, 'key', month))
  const pageMs = await processorMs(() => endOfLedger(db, 'account 1', month, PAGE))
  const ledgerMs = await processorMs(async () => {
    for await (const _page of ledgerOf(db, 'account 1'));
  })
  await checkBooks(db)
  await addCharges(db, perDay, END - DAY_MS, DAY_MS - 1)
  const verifyMs = await processorMs(() => checkBooks(db))
  return {
    everMs,
    monthMs,
    pageMs,
    ledgerMs,
    verifyMs,
    chargeBytes: await usedBytes(db, CHARGES),
    sumBytes: await usedBytes(db, SUMS),
    rssMb: process.memoryUsage.rss() / 1e6,
  }
}

async function measure(charges: number, folder: string): Promise<HistoryFigures> {
  const db = openSqlite(join(folder, 'gateway.sqlite'), { durable: false })
  await migrate(db)
  await prepare(db)
  const perDay = Math.max(1, Math.round(charges / (MONTHS * 30)))
  await addCharges(db, perDay, START, DAY_MS)
  // The first verification reads all; what comes after it is read from there on.
  await checkBooks(db)
  await addCharges(db, charges - perDay, START + DAY_MS, END - START - 2 * DAY_MS)
  const before = await measureReports(db, perDay)
  const archives = join(folder, 'archive')
  mkdirSync(archives)
  const key = await signingKey(db, randomBytes, END)
  const parts = { db, place: folderPlace(archives), key, scratch: folder, now: () => END }
  let closed = 0
  let archiveBytes = 0
  const closingMs = await processorMs(async () => {
    for (const closing of (await runRetention(parts, KEPT_MONTHS)).closed) {
      closed += closing.charges
      archiveBytes += closing.archiveBytes
    }
  })
  const after = await measureReports(db, perDay)
  await db.close()
  return { charges, closed, archiveBytes, closingMs, before, after }
}

const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'gateway-history-'))
try {
  const figures = await measure(Number(process.argv[2] ?? 1_000_000), folder)
  if (process.send) process.send(figures)
  else console.log(JSON.stringify(figures, null, 2))
} finally {
  if (process.argv[3] === undefined) rmSync(folder, { recursive: true })
}
process.exit(0)
