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
import { DAY_MS } from '../src/billing/usage-totals'
import { verify } from '../src/billing/verify'
import type { Db } from '../src/db/db'
import { migrate } from '../src/db/migrations'
import { openSqlite } from '../src/db/sqlite'
import { runRetention } from '../src/retention/run'
import type { HistoryFigures } from './figures'
import { addCharges, prepareHistory, processorMs } from './history-rows'

const MONTHS = 24
const KEPT_MONTHS = 12
const START = Date.UTC(2025, 0)
const END = Date.UTC(2027, 0)
const PAGE = 50

const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))

/** Bytes of the file that hold something. */
async function usedBytes(db: Db, tables: string): Promise<number> {
  const [row] = await db.query({
    sql: `select coalesce(sum(pgsize), 0) as bytes from dbstat where name in (${tables})`,
  })
  return row?.bytes as number
}

const CHARGES = `'ended_charges'`
const SUMS = `'usage_totals', 'totals_of_series', 'closings', 'closing_entries'`

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
  await prepareHistory(db)
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
