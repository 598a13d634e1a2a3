// The request log in a file of SQLite. A batch of rows is one page of JSON, because a statement for each row takes twice
// the time, and an index of rows or terms many times of it. A page says which keys, models and so on stand in it: a list
// takes the rows of those pages only that can have some of its own.

import { type Db, type Statement, tryApply } from '../db/db'
import { EQUAL_COLUMNS, statusWords } from './filter'
import { findInPages, listPages, nextTurn } from './page-search'
import type { RequestStore } from './request-log'
import { type RequestLogRow, valuesOf } from './row'

/** Rows that are kept at most: the file would otherwise grow to many gigabytes in a month. */
const KEEP_ROWS = 2_000_000
const TRIM_PAGES = 500
/** Rows of a page that small ones are joined to, pages that are looked at for it at a time, and how often in one run. */
const JOINED_ROWS = 256
const JOIN_PAGES = 512
const JOIN_TURNS = 40

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
  /** The number up to which pages need not be joined. */
  let joined = 0
  return {
    async insert(rows) {
      const oldestAt = rows.reduce((oldest, { at }) => Math.min(oldest, at), Number.MAX_SAFE_INTEGER)
      const endedAt = rows.reduce((latest, row) => Math.max(latest, endOf(row)), 0)
      const text = JSON.stringify(rows.map(valuesOf))
      await db.batch([{ sql: INSERT, parameters: [rows.length, oldestAt, endedAt, termsIn(rows), text] }])
    },
    list: (filter, wish) => listPages(db, filter, wish),
    find: (id) => findInPages(db, id),
    async trim(now) {
      await db.batch([dropEndedBefore(now - keepMs), DROP_BEYOND])
      joined = await joinPages(db, joined)
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
  return termLines(terms)
}

function termLines(terms: ReadonlySet<string>): string {
  return `\n${[...terms].join('\n')}\n`
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

interface PageHead {
  number: number
  /** The number of the page before. */
  previous: number
  oldestAt: number
  endedAt: number
  terms: string
}

/**
 * Joins small pages behind a number, as a gateway with little traffic writes them: otherwise a look at many rows is one
 * at as many pages. Returns the number behind which to go on the next time.
 */
async function joinPages(db: Db, from: number): Promise<number> {
  let after = from
  for (let turn = 0; turn < JOIN_TURNS; turn++) {
    const heads = await headsAfter(db, after)
    // The newest page stays as it is: the next number is counted from it.
    const groups = groupsOf(heads.slice(0, -1))
    const open = heads.length > JOIN_PAGES ? undefined : groups.pop()
    for (const group of groups) await join(db, group)
    if (open) {
      await join(db, open)
      return open[0]?.previous ?? after
    }
    after = groups.at(-1)?.at(-1)?.number ?? after
    if (heads.length <= JOIN_PAGES) return after
    await nextTurn()
  }
  return after
}

async function headsAfter(db: Db, number: number): Promise<PageHead[]> {
  // The oldest page has none before it: how many rows it has is not known, and it counts as a whole one.
  const rows = await db.query({
    sql: `select number, oldest_at, ended_at, terms, coalesce((select max(number) from request_pages as before
        where before.number < request_pages.number), number - ${JOINED_ROWS}) as previous
      from request_pages where number > $1 order by number limit ${JOIN_PAGES + 1}`,
    parameters: [number],
  })
  return rows.map((row) => ({
    number: row.number as number,
    previous: row.previous as number,
    oldestAt: row.oldest_at as number,
    endedAt: row.ended_at as number,
    terms: row.terms as string,
  }))
}

/** Pages in groups that follow each other and have no more rows than a page may. */
function groupsOf(heads: readonly PageHead[]): PageHead[][] {
  const groups: PageHead[][] = []
  for (const head of heads) {
    const group = groups.at(-1)
    if (group?.[0] && head.number - group[0].previous <= JOINED_ROWS) group.push(head)
    else groups.push([head])
  }
  return groups
}

/** Makes one page of several. Nothing is changed if another process has joined one of them meanwhile. */
async function join(db: Db, group: readonly PageHead[]): Promise<void> {
  const first = group[0]
  const last = group.at(-1)
  if (!first || !last || first === last) return
  const pages = await db.query({
    sql: 'select rows from request_pages where number >= $1 and number <= $2 order by number',
    parameters: [first.number, last.number],
  })
  const rows = `[${pages.map((page) => (page.rows as string).slice(1, -1)).join(',')}]`
  const terms = new Set(group.flatMap((each) => each.terms.split('\n')).filter((term) => term !== ''))
  await tryApply(db, [
    {
      sql: `update request_pages set oldest_at = $1, ended_at = $2, terms = $3, rows = $4 where number = $5
        and (select count(*) from request_pages where number >= $6 and number <= $5) = $7
        and exists (select 1 from request_pages where number = $8)`,
      parameters: [
        Math.min(...group.map(({ oldestAt }) => oldestAt)),
        Math.max(...group.map(({ endedAt }) => endedAt)),
        termLines(terms),
        rows,
        last.number,
        first.number,
        group.length,
        first.previous,
      ],
      guard: true,
    },
    {
      sql: 'delete from request_pages where number >= $1 and number < $2',
      parameters: [first.number, last.number],
    },
  ])
}
