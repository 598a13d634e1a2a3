// Pages of the request log. A batch of rows is one page of JSON, because a database row for each would take many times as long, and
// so would an index of rows or terms. A page lists its keys, models and so on: a list reads only the rows of pages that can match.

import { type Db, type Statement, tryApply, type Value } from '../db/db'
import type { RowCodec } from '../db/encryption/codec'
import { isLists, jsonOfColumn } from '../db/json-column'
import { EQUAL_COLUMNS, statusWords } from './filter'
import {
  columnsOf,
  type PageColumns,
  searchedTextsOf,
  storedColumns,
  storedSearchedTexts,
} from './page-columns'
import { metadataTerm, nextTurn } from './page-search'
import { type RequestLogRow, valuesOf } from './row'

/** Rows of a page up to which small ones are merged, pages per check, and checks per run. */
const JOINED_ROWS = 256
const JOIN_PAGES = 512
const JOIN_TURNS = 40

/** A batch of rows as a page. Its number is that of its last row. */
interface LogPage {
  /** The earliest arrival of its rows. */
  oldestAt: number
  /** The latest end of its rows. */
  endedAt: number
  /** The values that its rows have in some columns, one per line. */
  terms: string
  /** The columns for sums. */
  columns: string
  /** The texts for searches. */
  searched: string
  rows: string
}

export function logPageOf(rows: readonly RequestLogRow[], codec: RowCodec): LogPage {
  const values = rows.map((row) => valuesOf(row, codec))
  const columns = columnsOf(values)
  return {
    oldestAt: columns.oldestAt,
    endedAt: rows.reduce((latest, row) => Math.max(latest, endOf(row)), 0),
    terms: termsIn(rows, columns),
    columns: storedColumns(columns),
    searched: storedSearchedTexts(searchedTextsOf(values)),
    rows: JSON.stringify(values),
  }
}

function endOf({ at, durationMs }: RequestLogRow): number {
  return at + Math.round(durationMs)
}

/** The terms of a page. Each value is in its columns once, so most rows cost nothing here. */
function termsIn(rows: readonly RequestLogRow[], { texts }: PageColumns): string {
  const terms = new Set<string>()
  for (const [, columns] of EQUAL_COLUMNS)
    for (const column of columns)
      for (const value of texts[column].values) terms.add(`${columns[0]}=${value}`)
  const endings = new Map(rows.map((row) => [`${row.status} ${row.errorCode === null}`, row]))
  for (const { status, errorCode } of endings.values())
    for (const word of statusWords(status, errorCode)) terms.add(`status=${word}`)
  for (const metadata of new Set(rows.map((row) => row.metadata))) {
    if (metadata === null) continue
    for (const [name, value] of Object.entries(JSON.parse(metadata)))
      terms.add(metadataTerm({ name, value: String(value) }))
  }
  return termLines(terms)
}

function termLines(terms: ReadonlySet<string>): string {
  return `\n${[...terms].join('\n')}\n`
}

interface PageHead {
  number: number
  /** The number of the previous page. */
  previous: number
  oldestAt: number
  endedAt: number
  terms: string
}

/**
 * Merges small pages after a number, which a gateway with little traffic writes: otherwise reading many rows would mean reading as
 * many pages. Returns the number after which to continue the next time. `lock` keeps other processes from doing the same.
 */
export async function joinPages(db: Db, from: number, lock: readonly Statement[] = []): Promise<number> {
  let after = from
  for (let turn = 0; turn < JOIN_TURNS; turn++) {
    const heads = await headsAfter(db, after)
    // The newest page stays unchanged: the next number is derived from it.
    const groups = groupsOf(heads.slice(0, -1))
    const open = heads.length > JOIN_PAGES ? undefined : groups.pop()
    for (const group of groups) await join(db, group, lock)
    if (open) {
      await join(db, open, lock)
      return open[0]?.previous ?? after
    }
    after = groups.at(-1)?.at(-1)?.number ?? after
    if (heads.length <= JOIN_PAGES) return after
    await nextTurn()
  }
  return after
}

async function headsAfter(db: Db, after: number): Promise<PageHead[]> {
  const rows = await db.query({
    sql: `select number, oldest_at, ended_at, terms from request_pages where number > $1
      order by number limit ${JOIN_PAGES + 1}`,
    parameters: [after],
  })
  const first = rows[0]?.number as number | undefined
  if (first === undefined) return []
  const [before] = await db.query({
    sql: 'select max(number) as number from request_pages where number < $1',
    parameters: [first],
  })
  // The oldest page has no predecessor: its number of rows is unknown, and it counts as a full one.
  let previous = (before?.number as number | null) ?? first - JOINED_ROWS
  return rows.map((row) => {
    const head: PageHead = {
      number: row.number as number,
      previous,
      oldestAt: row.oldest_at as number,
      endedAt: row.ended_at as number,
      terms: row.terms as string,
    }
    previous = head.number
    return head
  })
}

/** Groups of consecutive pages that together have no more rows than a page may. */
function groupsOf(heads: readonly PageHead[]): PageHead[][] {
  const groups: PageHead[][] = []
  for (const head of heads) {
    const group = groups.at(-1)
    if (group?.[0] && head.number - group[0].previous <= JOINED_ROWS) group.push(head)
    else groups.push([head])
  }
  return groups
}

/** Merges several pages into one. Nothing is changed if another process has merged one of them meanwhile. */
async function join(db: Db, group: readonly PageHead[], lock: readonly Statement[]): Promise<void> {
  const first = group[0]
  const last = group.at(-1)
  if (!first || !last || first === last) return
  const pages = await db.query({
    sql: 'select rows from request_pages where number >= $1 and number <= $2 order by number',
    parameters: [first.number, last.number],
  })
  const rows = `[${pages.map((page) => (page.rows as string).slice(1, -1)).join(',')}]`
  const values = jsonOfColumn<Value[][]>(rows, [], isLists) ?? []
  // An unreadable page stays by itself.
  if (values.length === 0) return
  const terms = new Set(group.flatMap((each) => each.terms.split('\n')).filter((term) => term !== ''))
  await tryApply(db, [
    ...lock,
    {
      sql: `update request_pages set oldest_at = $1, ended_at = $2, terms = $3, rows = $4, columns = $9, searched = $10
        where number = $5
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
        storedColumns(columnsOf(values)),
        storedSearchedTexts(searchedTextsOf(values)),
      ],
      guard: true,
    },
    {
      sql: 'delete from request_pages where number >= $1 and number < $2',
      parameters: [first.number, last.number],
    },
  ])
}
