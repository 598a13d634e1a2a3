// The request log in a file of SQLite. A batch of rows is one page of JSON, because a statement for each row takes twice
// the time, and an index of rows or terms many times of it. A page says which keys, models and so on stand in it: a list
// takes the rows of those pages only that can have some of its own.

import type { Db, Row, Statement, Value } from '../db/db'
import {
  EQUAL_COLUMNS,
  matches,
  type PageWish,
  type RequestFilter,
  type RequestPage,
  statusRange,
  statusWords,
  timeOfId,
  UnknownCursor,
} from './filter'
import type { RequestStore } from './request-log'
import { COLUMNS, type LoggedRequest, loggedRequestOf, type RequestLogRow, valuesOf } from './row'

/** Rows that are kept at most: the file would otherwise grow to many gigabytes in a month. */
const KEEP_ROWS = 2_000_000
const TRIM_PAGES = 500
/** Pages that a list reads at a time. */
const PAGES_AT_ONCE = 16
/** How far the clock that made an id may be from the gateway's, in milliseconds. */
const CLOCKS_MS = 60_000

/**
 * The table. `number` is that of a page's last row, `oldest_at` the earliest arrival of a row in it, `ended_at` the latest
 * end. `terms` are the values that its rows have in some columns; they stand before the rows, which need not be read then.
 */
const TABLES = [
  // The form of the first versions, which had no terms.
  'drop table if exists pages',
  `create table if not exists request_pages (number integer primary key, oldest_at integer not null,
    ended_at integer not null, terms text not null, rows text not null)`,
  'create index if not exists request_pages_by_begin on request_pages (oldest_at)',
  'create index if not exists request_pages_by_end on request_pages (ended_at)',
]
const INSERT = `insert into request_pages (number, oldest_at, ended_at, terms, rows)
  values (coalesce((select max(number) from request_pages), 0) + $1, $2, $3, $4, $5)`

export async function openPages(db: Db, keepMs: number): Promise<RequestStore> {
  await db.batch(TABLES.map((sql) => ({ sql })))
  return {
    async insert(rows) {
      const oldestAt = rows.reduce((oldest, { at }) => Math.min(oldest, at), Number.MAX_SAFE_INTEGER)
      const endedAt = rows.reduce((latest, row) => Math.max(latest, endOf(row)), 0)
      const text = JSON.stringify(rows.map(valuesOf))
      await db.batch([{ sql: INSERT, parameters: [rows.length, oldestAt, endedAt, termsIn(rows), text] }])
    },
    list: (filter, wish) => listRows(db, filter, wish),
    find: (id) => findRow(db, id),
    async trim(now) {
      const sql = `delete from request_pages where number in (select number from request_pages where ended_at < $1
        or number <= (select max(number) from request_pages) - $2 order by number limit $3)`
      await db.batch([{ sql, parameters: [now - keepMs, KEEP_ROWS, TRIM_PAGES] }])
    },
    close: () => db.close(),
  }
}

function endOf({ at, durationMs }: RequestLogRow): number {
  return at + Math.round(durationMs)
}

/** The terms of rows, each on a line. */
function termsIn(rows: readonly RequestLogRow[]): string {
  const terms = new Set<string>()
  for (const row of rows) {
    for (const [name, column] of EQUAL_COLUMNS) {
      if (row[name] !== null) terms.add(`${column}=${row[name]}`)
    }
    for (const word of statusWords(row.status)) terms.add(`status=${word}`)
  }
  return `\n${[...terms].join('\n')}\n`
}

async function listRows(db: Db, filter: RequestFilter, { limit, after }: PageWish): Promise<RequestPage> {
  const end = after === undefined ? Number.MAX_SAFE_INTEGER : Number(after)
  if (!Number.isSafeInteger(end)) throw new UnknownCursor()
  const found: LoggedRequest[] = []
  for (let unseen = end; ; ) {
    const pages = await db.query(pagesBefore(filter, unseen))
    for (const row of pages.flatMap((page) => rowsOf(page, mayMatch(filter)))) {
      if (Number(row.number) >= end || !matches(filter, row)) continue
      if (found.length === limit) return { rows: found, next: String(found.at(-1)?.number) }
      found.push(row)
    }
    const [last] = pages.slice(-1)
    if (!last || pages.length < PAGES_AT_ONCE) return { rows: found, next: null }
    unseen = firstNumberOf(last)
  }
}

/** The newest pages that can have rows of the list below a number. */
function pagesBefore(filter: RequestFilter, number: number): Statement {
  const parameters: Value[] = []
  const place = (value: Value) => `$${parameters.push(value)}`
  // The page with the last row that was shown may have further ones before it.
  const conditions = [
    `number <= coalesce((select min(number) from request_pages where number >= ${place(number - 1)}), 9e15)`,
  ]
  if (filter.since !== undefined) {
    conditions.push(
      `number >= coalesce((select min(number) from request_pages where ended_at >= ${place(filter.since)}), 9e15)`,
    )
  }
  if (filter.until !== undefined) conditions.push(`oldest_at < ${place(filter.until)}`)
  for (const term of termsOf(filter)) conditions.push(`instr(terms, ${place(`\n${term}\n`)}) > 0`)
  return {
    sql: `select number, rows from request_pages where ${conditions.join(' and ')}
      order by number desc limit ${PAGES_AT_ONCE}`,
    parameters,
  }
}

/** The terms of a filter. */
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
  return pages.flatMap((page) => rowsOf(page)).find((row) => row.id === id)
}

/** The rows of a page, newest first, with their numbers: those that may be wanted by their values. */
function rowsOf(page: Row, isWanted: (values: readonly Value[]) => boolean = () => true): LoggedRequest[] {
  const rows: Value[][] = JSON.parse(page.rows as string)
  const first = Number(page.number) - rows.length + 1
  return rows
    .flatMap((values, index) =>
      isWanted(values) ? [{ number: first + index, ...loggedRequestOf(values) }] : [],
    )
    .reverse()
}

/** A quick look at the values of a row, before it is made an object. */
function mayMatch(filter: RequestFilter): (values: readonly Value[]) => boolean {
  const range = filter.status === undefined ? undefined : statusRange(filter.status)
  const [from = 0, to = Number.MAX_SAFE_INTEGER] = range ?? []
  const status = COLUMNS.findIndex(([name]) => name === 'status')
  const wanted = EQUAL_COLUMNS.flatMap(([name, column]) => {
    const value = filter[name]
    return value === undefined ? [] : [{ value, place: COLUMNS.findIndex(([each]) => each === column) }]
  })
  return (values) =>
    wanted.every(({ value, place }) => values[place] === value) &&
    Number(values[status]) >= from &&
    Number(values[status]) <= to
}

function firstNumberOf(page: Row): number {
  return Number(page.number) - (JSON.parse(page.rows as string) as Value[][]).length + 1
}
