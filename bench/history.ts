// `bun bench/history.ts [CHARGES] [FOLDER] [sqlite|postgres]`: fills a database with two years of charges, and measures the time of
// reports, before and after the first year is closed. It measures processor time, including that of a PostgreSQL server, which a
// busy machine changes little. It must never fail because something was slow: it only reports.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderPlace } from '../src/backup/place'
import { ledgerOf, pageOfLedger } from '../src/billing/ledger/account-ledger'
import { type Charge, hold, settle } from '../src/billing/ledger/ledger'
import { signingKey } from '../src/billing/proofs/checkpoint'
import { verify } from '../src/billing/proofs/verify'
import { chargesOf, usageBy, usageDimensions } from '../src/billing/reports/usage-report'
import { DAY_MS } from '../src/billing/reports/usage-totals'
import type { Db } from '../src/db/db'
import { openPostgres } from '../src/db/drivers/postgres'
import { openSqlite } from '../src/db/drivers/sqlite'
import { migrate } from '../src/db/migrations'
import { runRetention } from '../src/retention/run'
import type { HistoryFigures, ReportFigures } from './figures'
import { addCharges, prepareHistory, processorMs } from './history-rows'
import { startPostgres } from './postgres-server'

const DAYS = 24 * 30
const KEPT_MONTHS = 12
const START = Date.UTC(2025, 0)
const END = Date.UTC(2027, 0)
const PAGE = 50
/** Holds and settlements that are measured. */
const MOVEMENTS = 500

const randomBytes = (count: number) => crypto.getRandomValues(new Uint8Array(count))

/** A database to fill, and the figures that only its server has. */
interface Subject {
  db: Db
  /** Processor time that its server has taken so far. */
  serverMs(): number
  /** Bytes of the tables of charges and of their sums, with their indexes. */
  bytes(what: 'charges' | 'sums'): Promise<number>
  close(): Promise<void>
}

const SUMS = ['usage_totals', 'closings', 'closing_entries']

async function openSubject(kind: string, folder: string): Promise<Subject> {
  if (kind === 'sqlite') {
    const db = openSqlite(join(folder, 'gateway.sqlite'), { durable: false })
    const tables = { charges: ['ended_charges'], sums: [...SUMS, 'totals_of_series'] }
    return {
      db,
      serverMs: () => 0,
      bytes: (what) =>
        sum(db, `select sum(pgsize) as bytes from dbstat where name in (${quoted(tables[what])})`),
      close: () => db.close(),
    }
  }
  const server = await startPostgres(folder)
  const db = openPostgres(server.url, { patient: true })
  const tables = { charges: `relname like 'ended_charges%'`, sums: `relname in (${quoted(SUMS)})` }
  return {
    db,
    serverMs: server.cpuMs,
    bytes: (what) =>
      sum(
        db,
        `select cast(sum(pg_total_relation_size(oid)) as bigint) as bytes from pg_class where relkind = 'r' and ${tables[what]}`,
      ),
    async close() {
      await db.close()
      await server.stop()
    },
  }
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(', ')
}

async function sum(db: Db, sql: string): Promise<number> {
  const [row] = await db.query({ sql })
  return (row?.bytes ?? 0) as number
}

async function checkBooks(db: Db, whole = false): Promise<void> {
  const key = await signingKey(db, randomBytes, END)
  const { problems } = await verify(db, { now: END, key, whole, onProgress() {} })
  if (problems.length > 0) throw new Error(`the books are wrong: ${problems.slice(0, 3).join('; ')}`)
}

/** Reports on the last year, which is never closed, and on all. */
async function measureReports(subject: Subject, perDay: number): Promise<ReportFigures> {
  const { db } = subject
  const takes = async (name: string, work: () => Promise<unknown>) => {
    const serverMs = subject.serverMs()
    const ownMs = await processorMs(work)
    const ms = ownMs + subject.serverMs() - serverMs
    console.error(`${name}: ${ms.toFixed(1)} ms`)
    return ms
  }
  const month = { since: Date.UTC(2026, 5), until: Date.UTC(2026, 6) }
  const monthMs: number[] = []
  for (const by of usageDimensions)
    monthMs.push(await takes(`usage by ${by}, a month`, () => usageBy(db, by, month)))
  const [early] = await db.query({
    sql: `select id from ended_charges where position = ${Math.round(perDay * DAYS * 0.6)}`,
  })
  const figures = {
    everMs: await takes('usage by key, all time', () => usageBy(db, 'key', { since: 0 })),
    monthMs: Math.max(...monthMs),
    pageMs: await takes('the last entries of a month', () => pageOfLedger(db, 'account 1', month, PAGE)),
    newestMs: await takes('the newest entries', () => pageOfLedger(db, 'account 1', {}, PAGE)),
    ledgerMs: await takes('a whole ledger', () => readLedger(db)),
    chargeMs: await takes('one charge by its id', () => chargesOf(db, early?.id as string)),
    movementMs: (await takes(`${MOVEMENTS} holds and settlements`, () => moveMoney(db))) / MOVEMENTS,
  }
  await checkBooks(db)
  await addCharges(db, perDay, END - DAY_MS, DAY_MS - 1)
  const verifyMs = await takes('verification of a day', () => checkBooks(db))
  const [chargeBytes, sumBytes] = [await subject.bytes('charges'), await subject.bytes('sums')]
  return { ...figures, verifyMs, chargeBytes, sumBytes, rssMb: process.memoryUsage.rss() / 1e6 }
}

async function readLedger(db: Db): Promise<void> {
  for await (const _page of ledgerOf(db, 'account 1'));
}

/** Holds and settlements one after another, as for sequential requests. */
async function moveMoney(db: Db): Promise<void> {
  for (let index = 0; index < MOVEMENTS; index++) {
    const charge: Charge = {
      id: `moved ${crypto.randomUUID()}`,
      account: 'account 1',
      keyId: 'key 1',
      model: 'model 0',
      operation: 'chat',
      heldNano: 8_000_000,
      pricesJson: '[{"pico":{"input_token":250000,"output_token":2000000}}]',
      createdAt: END - DAY_MS,
      expiresAt: END + DAY_MS,
      budgetPeriod: null,
      windowMinute: null,
      windowTokens: 0,
    }
    const settlement = { usageSource: 'upstream', usageJson: null, endedBy: 'done', tokens: 0 } as const
    await hold(db, charge)
    await settle(db, charge, { ...settlement, priceNano: 1_000_000, endedAt: END - DAY_MS })
  }
}

async function measure(charges: number, folder: string, kind: string): Promise<HistoryFigures> {
  const subject = await openSubject(kind, folder)
  const { db } = subject
  await migrate(db)
  await prepareHistory(db)
  const perDay = Math.max(1, Math.round(charges / DAYS))
  await addCharges(db, perDay, START, DAY_MS)
  // The first verification reads all charges; later ones continue from there.
  await checkBooks(db)
  await addCharges(db, charges - perDay, START + DAY_MS, END - START - 2 * DAY_MS)
  // A server does this by itself within a minute, possibly in the middle of the reports.
  if (db.kind === 'postgres') await db.query({ sql: 'vacuum analyze' })
  const before = await measureReports(subject, perDay)
  const wholeMs = await processorMs(() => checkBooks(db, true))
  const archives = join(folder, 'archive')
  mkdirSync(archives)
  const key = await signingKey(db, randomBytes, END)
  const parts = { db, place: folderPlace(archives), key, scratch: folder, now: () => END }
  let closed = 0
  let archiveBytes = 0
  const serverMs = subject.serverMs()
  const ownMs = await processorMs(async () => {
    for (const closing of (await runRetention(parts, KEPT_MONTHS)).closed) {
      closed += closing.charges
      archiveBytes += closing.archiveBytes
    }
  })
  const closingMs = ownMs + subject.serverMs() - serverMs
  const after = await measureReports(subject, perDay)
  await subject.close()
  return { charges, closed, archiveBytes, closingMs, wholeMs, before, after }
}

const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'gateway-history-'))
try {
  const figures = await measure(Number(process.argv[2] ?? 1_000_000), folder, process.argv[4] ?? 'sqlite')
  if (process.send) process.send(figures)
  else console.log(JSON.stringify(figures, null, 2))
} finally {
  if (process.argv[3] === undefined) rmSync(folder, { recursive: true })
}
process.exit(0)
