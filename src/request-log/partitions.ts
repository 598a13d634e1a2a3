// The request log in PostgreSQL, for all nodes together: pages, in one partition per day, so that old days are dropped as a whole.
// Its tables do not belong to the numbered schema, because losing them is harmless.

import type { Db, Statement } from '../db/db'
import { findInPages, firstEndedAt, listPages, scanPages } from './page-search'
import { joinPages, logPageOf } from './pages'
import type { RequestReader, RequestStore } from './request-log'

const DAY_MS = 86_400_000

/** The tables. Rows are numbered across all nodes, without gaps, in the order in which their pages are committed. */
const TABLES = [
  `create table if not exists request_numbers (one bigint primary key check (one = 1), last bigint not null)`,
  'insert into request_numbers (one, last) values (1, 0) on conflict (one) do nothing',
  `create table if not exists request_pages (number bigint not null, oldest_at bigint not null, ended_at bigint not null,
    terms text not null, rows text not null, columns text, searched text) partition by range (ended_at)`,
  'alter table request_pages add column if not exists columns text',
  'alter table request_pages add column if not exists searched text',
  'create index if not exists request_pages_by_number on request_pages (number)',
  'create index if not exists request_pages_by_end on request_pages (ended_at, number)',
]
/** Does not wait for the disk: a power failure may lose the last rows. */
const INSERT = `with setting as (select set_config('synchronous_commit', 'off', true) as commits),
  taken as (update request_numbers set last = last + $1 from setting where commits = 'off' returning last)
  insert into request_pages (number, oldest_at, ended_at, terms, rows, columns, searched)
  select last, $2, $3, $4, $5, $6, $7 from taken`
/** Nodes merge pages one after another. */
const LOCK: Statement = { sql: `select pg_advisory_xact_lock(hashtext('request_pages'))` }

export async function openPartitions(db: Db, keepMs: number, now: number): Promise<RequestStore> {
  await createTables(db, now)
  /** The number up to which pages need not be merged; pages of earlier days have been merged. */
  let joined = ((await firstEndedAt(db, now - DAY_MS)) ?? 1) - 1
  return {
    async insert(batch) {
      const { oldestAt, endedAt, terms, columns, searched, rows } = logPageOf(batch, db.codec)
      const parameters = [batch.length, oldestAt, endedAt, terms, rows, columns, searched]
      const statement = { sql: INSERT, parameters }
      try {
        await db.batch([statement])
      } catch (error) {
        if (!isWithoutPartition(error)) throw error
        await createDays(db, [dayOf(endedAt)])
        await db.batch([statement])
      }
    },
    async trim(now) {
      await createDays(db, [dayOf(now), dayOf(now + DAY_MS)])
      await dropBefore(db, dayOf(now - keepMs))
      joined = await joinPages(db, joined, [LOCK])
    },
    ...readPartitions(db),
  }
}

/** Reads the tables; an empty log if there are none yet. */
export function readPartitions(db: Db): RequestReader {
  const isThere = async () => {
    const [row] = await db.query({ sql: `select to_regclass('request_pages') is not null as found` })
    return Boolean(row?.found)
  }
  return {
    list: async (filter, page) =>
      (await isThere()) ? listPages(db, filter, page) : { rows: [], next: null, looked: null },
    find: async (id) => ((await isThere()) ? findInPages(db, id) : undefined),
    scan: async (filter, visitor) => !(await isThere()) || scanPages(db, filter, visitor),
    // The database belongs to the gateway.
    async close() {},
  }
}

async function createTables(db: Db, now: number): Promise<void> {
  const statements = TABLES.map((sql) => ({ sql }))
  // Nodes that start at the same time can collide here despite `if not exists`. The second try then finds the tables.
  await db.batch(statements).catch(() => db.batch(statements))
  await createDays(db, [dayOf(now), dayOf(now + DAY_MS)])
}

/** The day of a time, counted from 1970. */
function dayOf(at: number): number {
  return Math.floor(at / DAY_MS)
}

function nameOf(day: number): string {
  return `request_pages_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`
}

async function createDays(db: Db, days: readonly number[]): Promise<void> {
  const existing = new Set(await partitionNames(db))
  for (const day of days) {
    if (existing.has(nameOf(day))) continue
    const sql = `create table if not exists ${nameOf(day)} partition of request_pages
      for values from (${day * DAY_MS}) to (${(day + 1) * DAY_MS})`
    await db.batch([{ sql }]).catch(() => db.batch([{ sql }]))
  }
}

async function dropBefore(db: Db, day: number): Promise<void> {
  const oldest = nameOf(day)
  const old = (await partitionNames(db)).filter((name) => name < oldest)
  for (const name of old) await db.batch([{ sql: `drop table if exists ${name}` }])
}

async function partitionNames(db: Db): Promise<string[]> {
  const rows = await db.query({
    sql: `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = to_regclass('request_pages')`,
  })
  return rows.map(({ name }) => String(name)).filter((name) => /^request_pages_\d{8}$/.test(name))
}

/** Whether no partition accepts a page: `check_violation`. */
function isWithoutPartition(error: unknown): boolean {
  return (error as { errno?: string }).errno === '23514'
}
