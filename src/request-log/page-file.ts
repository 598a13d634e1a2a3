// The request log in a SQLite file: a table of pages, the oldest of which are dropped.

import type { Db, Statement } from '../db/db'
import { findInPages, listPages, scanPages } from './page-search'
import { joinPages, logPageOf } from './pages'
import type { RequestReader, RequestStore } from './request-log'

/** Maximum number of stored rows: otherwise the file would grow to many gigabytes in a month. */
const KEEP_ROWS = 2_000_000
const TRIM_PAGES = 500

/** The table. The rows are last, so that they are read only where they are needed. */
const TABLES = [
  `create table if not exists request_pages (number integer primary key, oldest_at integer not null,
    ended_at integer not null, terms text not null, columns text, searched text, rows text not null)`,
  'create index if not exists request_pages_by_begin on request_pages (oldest_at)',
  'create index if not exists request_pages_by_end on request_pages (ended_at)',
]
const INSERT = `insert into request_pages (number, oldest_at, ended_at, terms, columns, searched, rows)
  values (coalesce((select max(number) from request_pages), 0) + $1, $2, $3, $4, $5, $6, $7)`
/** Added to files of older gateways. */
const ADDED_COLUMNS = ['columns', 'searched']

export async function openPageFile(db: Db, keepMs: number): Promise<RequestStore> {
  await db.batch(TABLES.map((sql) => ({ sql })))
  const found = await db.query({ sql: `select name from pragma_table_info('request_pages')` })
  const missing = ADDED_COLUMNS.filter((column) => !found.some(({ name }) => name === column))
  await db.batch(missing.map((column) => ({ sql: `alter table request_pages add column ${column} text` })))
  /** The number up to which pages need not be merged. */
  let joined = 0
  return {
    async insert(batch) {
      const { oldestAt, endedAt, terms, columns, searched, rows } = logPageOf(batch, db.codec)
      const parameters = [batch.length, oldestAt, endedAt, terms, columns, searched, rows]
      await db.batch([{ sql: INSERT, parameters }])
    },
    ...readPageFile(db),
    async trim(now) {
      await db.batch([dropEndedBefore(now - keepMs), DROP_BEYOND])
      joined = await joinPages(db, joined)
    },
  }
}

/** The pages of a file for a command, which only reads it. */
export function readPageFile(db: Db): RequestReader {
  return {
    list: (filter, page) => listPages(db, filter, page),
    find: (id) => findInPages(db, id),
    scan: (filter, visitor) => scanPages(db, filter, visitor),
    close: () => db.close(),
  }
}

function dropEndedBefore(at: number): Statement {
  const sql = `delete from request_pages where number in
    (select number from request_pages where ended_at < $1 order by ended_at limit ${TRIM_PAGES})`
  return { sql, parameters: [at] }
}

const DROP_BEYOND: Statement = {
  sql: `delete from request_pages where number in (select number from request_pages
    where number <= (select max(number) from request_pages) - ${KEEP_ROWS} order by number limit ${TRIM_PAGES})`,
}
