// The request log in a file of SQLite. A batch of rows is one page of JSON, because a statement for each row takes twice
// the time, and an index of rows would take it again. What stands in a page is indexed by the page: a list reads only
// pages that have a row of the key, the model and so on, and then looks at their rows.

import type { Db, Row, Statement, Value } from '../db/db'
import {
  EQUAL_COLUMNS,
  matches,
  type PageWish,
  type RequestFilter,
  type RequestPage,
  statusWords,
  timeOfId,
  UnknownCursor,
} from './filter'
import type { RequestStore } from './request-log'
import { type LoggedRequest, loggedRequestOf, type RequestLogRow, valuesOf } from './row'

/** Rows that are kept at most: the file would otherwise grow to many gigabytes in a month. */
const KEEP_ROWS = 2_000_000
const TRIM_PAGES = 500
/** Pages that a list reads at a time. */
const PAGES_AT_ONCE = 16
/** How far the clock that made an id may be from the gateway's, in milliseconds. */
const CLOCKS_MS = 60_000

/**
 * The tables. `number` is that of a page's last row, `oldest_at` the earliest arrival of a row in it, `ended_at` the latest
 * end. A term is a value of a column that some row of the page has.
 */
const TABLES = [
  // The form of the first versions, which had no terms.
  'drop table if exists pages',
  `create table if not exists request_pages (number integer primary key, oldest_at integer not null,
    ended_at integer not null, rows text not null)`,
  'create index if not exists request_pages_by_begin on request_pages (oldest_at)',
  'create index if not exists request_pages_by_end on request_pages (ended_at)',
  `create table if not exists request_terms (term text not null, page integer not null,
    primary key (term, page)) without rowid`,
  'create index if not exists request_terms_of_page on request_terms (page)',
]
const INSERT_PAGE = `insert into request_pages (number, oldest_at, ended_at, rows)
  values (coalesce((select max(number) from request_pages), 0) + $1, $2, $3, $4)`
const INSERT_TERMS = `insert into request_terms (term, page)
  select value, (select max(number) from request_pages) from json_each($1)`

export async function openPages(db: Db, keepMs: number): Promise<RequestStore> {
  await db.batch(TABLES.map((sql) => ({ sql })))
  return {
    async insert(rows) {
      const oldestAt = rows.reduce((oldest, { at }) => Math.min(oldest, at), Number.MAX_SAFE_INTEGER)
      const endedAt = rows.reduce((latest, row) => Math.max(latest, endOf(row)), 0)
      const text = JSON.stringify(rows.map(valuesOf))
      await db.batch([
        { sql: INSERT_PAGE, parameters: [rows.length, oldestAt, endedAt, text] },
        { sql: INSERT_TERMS, parameters: [JSON.stringify(termsIn(rows))] },
      ])
    },
    list: (filter, wish) => listRows(db, filter, wish),
    find: (id) => findRow(db, id),
    async trim(now) {
      const old = `select number from request_pages where ended_at < $1
        or number <= (select max(number) from request_pages) - $2 order by number limit $3`
      const parameters = [now - keepMs, KEEP_ROWS, TRIM_PAGES]
      await db.batch([
        { sql: `delete from request_terms where page in (${old})`, parameters },
        { sql: `delete from request_pages where number in (${old})`, parameters },
      ])
    },
    close: () => db.close(),
  }
}

function endOf({ at, durationMs }: RequestLogRow): number {
  return at + Math.round(durationMs)
}

function termsIn(rows: readonly RequestLogRow[]): string[] {
  const terms = new Set<string>()
  for (const row of rows) {
    for (const [name, column] of EQUAL_COLUMNS) {
      if (row[name] !== null) terms.add(`${column}=${row[name]}`)
    }
    for (const word of statusWords(row.status)) terms.add(`status=${word}`)
  }
  return [...terms]
}

async function listRows(db: Db, filter: RequestFilter, { limit, after }: PageWish): Promise<RequestPage> {
  const end = after === undefined ? Number.MAX_SAFE_INTEGER : Number(after)
  if (!Number.isSafeInteger(end)) throw new UnknownCursor()
  const found: LoggedRequest[] = []
  for (let unseen = end; ; ) {
    const pages = await db.query(pagesBefore(filter, unseen))
    for (const row of pages.flatMap(rowsOf)) {
      if (Number(row.number) >= end || !matches(filter, row)) continue
      if (found.length === limit) return { rows: found, next: String(found.at(-1)?.number) }
      found.push(row)
    }
    const [last] = pages.slice(-1)
    if (!last || pages.length < PAGES_AT_ONCE) return { rows: found, next: null }
    unseen = Number(rowsOf(last).at(-1)?.number)
  }
}

/** The newest pages that can have rows of the list below a number. The rarest term leads, and the others are looked up. */
function pagesBefore(filter: RequestFilter, number: number): Statement {
  const parameters: Value[] = []
  const place = (value: Value) => `$${parameters.push(value)}`
  const [first, ...others] = termsOf(filter)
  // Cross, because the order of this join must not be turned around.
  const from =
    first === undefined ? 'request_pages' : 'request_terms cross join request_pages on number = page'
  const column = first === undefined ? 'number' : 'page'
  // The page with the last row that was shown may have further ones before it.
  const conditions = [
    `${column} <= coalesce((select min(number) from request_pages where number >= ${place(number - 1)}), 9e15)`,
  ]
  if (first !== undefined) conditions.push(`term = ${place(first)}`)
  for (const term of others) {
    conditions.push(
      `exists (select 1 from request_terms as other where other.term = ${place(term)} and other.page = number)`,
    )
  }
  if (filter.since !== undefined) {
    conditions.push(
      `${column} >= coalesce((select min(number) from request_pages where ended_at >= ${place(filter.since)}), 9e15)`,
    )
  }
  if (filter.until !== undefined) conditions.push(`oldest_at < ${place(filter.until)}`)
  return {
    sql: `select number, rows from ${from} where ${conditions.join(' and ')}
      order by ${column} desc limit ${PAGES_AT_ONCE}`,
    parameters,
  }
}

/** The terms of a filter, those of the fewest rows first. */
function termsOf(filter: RequestFilter): string[] {
  const terms = EQUAL_COLUMNS.flatMap(([name, column]) =>
    filter[name] === undefined ? [] : [`${column}=${filter[name]}`],
  )
  return filter.status === undefined ? terms : [...terms, `status=${filter.status}`]
}

async function findRow(db: Db, id: string): Promise<LoggedRequest | undefined> {
  const at = timeOfId(id)
  const near =
    at === undefined
      ? []
      : await db.query({
          sql: `select number, rows from request_pages where ended_at >= $2 and oldest_at <= $3 and instr(rows, $1) > 0
            order by number limit 1`,
          parameters: [id, at - CLOCKS_MS, at + CLOCKS_MS],
        })
  const pages =
    near.length > 0
      ? near
      : await db.query({
          sql: 'select number, rows from request_pages where instr(rows, $1) > 0 order by number desc limit 1',
          parameters: [id],
        })
  return pages.flatMap(rowsOf).find((row) => row.id === id)
}

/** The rows of a page, newest first, with their numbers. */
function rowsOf(page: Row): LoggedRequest[] {
  const rows: Value[][] = JSON.parse(page.rows as string)
  const first = Number(page.number) - rows.length + 1
  return rows.map((values, index) => ({ number: first + index, ...loggedRequestOf(values) })).reverse()
}
