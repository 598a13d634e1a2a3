// Finds rows in the pages of SQLite and of PostgreSQL. A search reads a slice of pages and lets other work run before the next one,
// and a list ends when it has read enough: it must never hold the process up, however many rows there are. Pages may be merged at
// any moment of a search: it reads the page that contains a row now, and reads each row once.

import type { Db, Row, Statement, Value } from '../db/db'
import { isLists, jsonOfColumn } from '../db/json-column'
import {
  choicesOf,
  EQUAL_COLUMNS,
  type Metadata,
  type PageRequest,
  type RequestFilter,
  type RequestPage,
  rowConditionsOf,
  timeOfId,
  UnknownCursor,
} from './filter'
import {
  columnsOf,
  type PageColumns,
  readColumns,
  readSearchedTexts,
  rowsForTests,
  type SearchedTexts,
  searchedTextsOf,
} from './page-columns'
import { type LoggedRequest, loggedRequestOf } from './row'

/** Pages of a slice, whose heads alone are read, and rows that are read before other work runs. */
const SLICE_PAGES = 256
const ROWS_A_TURN = 512
/** The most pages and rows that a list reads, matching or not. */
const MAX_PAGES = 50_000
const MAX_ROWS = 200_000
/** Number of pages that may be out of order, because several nodes store them. */
const NEIGHBOURS = 64
/** How far the clock that made an id, and those of two processes, may be from each other, in milliseconds. */
const CLOCKS_MS = 60_000
/**
 * The duration that nearly all requests stay below, and the maximum, in milliseconds: rows are in the order in which requests end.
 */
const USUAL_MS = 600_000
const MAX_MS = 86_400_000
/** How far a clock that is wrong may be from the others, in milliseconds. */
const WRONG_CLOCK_MS = 3_600_000
/** Maximum number of pages that are searched for an id whose time does not determine the page: some tenths of a second. */
const SOME_PAGES = 5_000
/** Limits of the search for an id by its time: the difference of clocks, the duration of the request, and the number of pages. */
const LOOKS = [
  [CLOCKS_MS, USUAL_MS, MAX_PAGES],
  [CLOCKS_MS, MAX_MS, MAX_PAGES],
  [WRONG_CLOCK_MS, USUAL_MS, SOME_PAGES],
] as const

/** Lets other work run. */
export const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Rows that match, newest first. Ends early, with a `next`, if it has read many that do not match. */
export async function listPages(
  db: Db,
  filter: RequestFilter,
  { limit, after }: PageRequest,
): Promise<RequestPage> {
  let end = after === undefined ? Number.MAX_SAFE_INTEGER : Number(after)
  if (!Number.isSafeInteger(end)) throw new UnknownCursor()
  const conditions = rowConditionsOf(filter, db.codec)
  const found: LoggedRequest[] = []
  let first: number | undefined
  let pages = 0
  const turns = new Turns()
  for await (const { number, fits } of headsOf(db, filter, end)) {
    first ??= Math.min(number, end - 1)
    if (++pages > MAX_PAGES || turns.rows > MAX_ROWS) {
      return { rows: found, next: String(number + 1), looked: first - number }
    }
    if (!fits) continue
    const page = await pageWith(db, number)
    const rows = rowsForTests(page.values)
    const tests = conditions.map(({ on }) => on(rows))
    for (const row of rowsOf(db, page, end, (index) => tests.every((test) => test(index)))) {
      if (found.length === limit) return { rows: found, next: String(found.at(-1)?.number), looked: null }
      found.push(row)
    }
    turns.rows += page.values.length
    end = Math.min(end, page.first)
    await turns.pause()
  }
  return { rows: found, next: null, looked: null }
}

/** Reads pages of a scan. */
export interface PageVisitor {
  /** Whether the scan needs the searched texts in addition to the columns. */
  isSearch: boolean
  add(columns: PageColumns, searched?: SearchedTexts): void
}

/** Number of pages whose rows a scan reads at once. */
const SCANNED_PAGES = 8

/** Passes the columns of pages that can have matching rows, newest first, up to a number of rows. Returns whether these are all. */
export async function scanPages(
  db: Db,
  filter: RequestFilter,
  { isSearch, add }: PageVisitor,
): Promise<boolean> {
  const turns = new Turns()
  let end = Number.MAX_SAFE_INTEGER
  let numbers: number[] = []
  const read = async () => {
    const pages = await storedPages(db, numbers, isSearch)
    for (const number of numbers) {
      const stored = number < end ? pages.get(number) : undefined
      const { first, columns, searched } = stored ?? (await pageOfRows(db, number, end))
      turns.rows += columns.rows
      end = Math.min(end, first)
      if (columns.rows > 0) add(columns, searched)
    }
    numbers = []
    await turns.pause()
  }
  let pages = 0
  for await (const { number, fits } of headsOf(db, filter, Number.MAX_SAFE_INTEGER)) {
    if (++pages > MAX_PAGES || turns.rows >= MAX_ROWS) return false
    if (fits) numbers.push(number)
    if (numbers.length === SCANNED_PAGES) await read()
  }
  if (numbers.length > 0) await read()
  return true
}

interface ScannedPage {
  /** The number of its first row. */
  first: number
  columns: PageColumns
  searched: SearchedTexts | undefined
}

/** Pages by their numbers, without those of older gateways that lack what is needed. */
async function storedPages(
  db: Db,
  numbers: readonly number[],
  isSearch: boolean,
): Promise<Map<number, ScannedPage>> {
  const places = numbers.map((_, index) => `$${index + 1}`).join(', ')
  const found = await db.query({
    sql: `select number, columns${isSearch ? ', searched' : ''} from request_pages where number in (${places})`,
    parameters: numbers,
  })
  const pages = new Map<number, ScannedPage>()
  for (const page of found) {
    const number = page.number as number
    const columns = readColumns(page.columns)
    const searched = columns && readSearchedTexts(page.searched, columns.rows)
    if (columns && (searched || !isSearch))
      pages.set(number, { first: number - columns.rows + 1, columns, searched })
  }
  return pages
}

/** The page that has a row now, without the rows from `end` on, by its rows. */
async function pageOfRows(db: Db, number: number, end: number): Promise<ScannedPage> {
  const page = await pageWith(db, number)
  const rows = rowsBelow(page, end)
  return { first: page.first, columns: columnsOf(rows), searched: searchedTextsOf(rows) }
}

/**
 * A row by its id: near the time in the id, then where a node with a wrong clock would have put it. An id without a time was not
 * made by a gateway: the newest pages are searched for it.
 */
export async function findInPages(db: Db, id: string): Promise<LoggedRequest | undefined> {
  const at = timeOfId(id)
  if (at === undefined) return findInRange(db, id, ALL, { mostPages: SOME_PAGES })
  for (const [clocksMs, longestMs, mostPages] of LOOKS) {
    const range = await rangeOf(db, at - clocksMs, at + clocksMs, longestMs)
    const row = await findInRange(db, id, range, { beganBy: at + clocksMs, mostPages })
    if (row) return row
  }
  return undefined
}

async function findInRange(
  db: Db,
  id: string,
  range: Range,
  { beganBy = Number.MAX_SAFE_INTEGER, mostPages }: { beganBy?: number; mostPages: number },
): Promise<LoggedRequest | undefined> {
  const condition = `oldest_at <= $1 and ${has(db, 'rows', '$2')}`
  let pages = 0
  for await (const { number, fits } of slices(db, range, condition, [beganBy, id])) {
    if (++pages > mostPages) return undefined
    if (!fits) continue
    const row = rowsOf(db, await pageWith(db, number)).find((each) => each.id === id)
    if (row) return row
  }
  return undefined
}

/** Counts rows that were read, and lets other work run between them. */
class Turns {
  rows = 0
  private turnAt = ROWS_A_TURN

  async pause(): Promise<void> {
    if (this.rows < this.turnAt) return
    this.turnAt = this.rows + ROWS_A_TURN
    await nextTurn()
  }
}

interface Head {
  number: number
  /** Whether the page can have wanted rows. */
  fits: boolean
}

/** Pages by the numbers of their last rows, both ends included, and the page that has the row `to`. */
interface Range {
  from: number
  to: number
}

const ALL: Range = { from: 0, to: Number.MAX_SAFE_INTEGER }

/** The heads of pages below a number that can have rows of a list, newest first. */
async function* headsOf(db: Db, filter: RequestFilter, end: number): AsyncGenerator<Head> {
  const { since = 0, until } = filter
  const times = await rangeOf(db, since, until)
  const range = { from: times.from, to: Math.min(times.to, end - 1) }
  const parameters: Value[] = []
  const place = (value: Value) => `$${parameters.push(value)}`
  const conditions = termsOf(filter).map(
    (terms) => `(${terms.map((term) => has(db, 'terms', place(`\n${term}\n`))).join(' or ')})`,
  )
  if (until !== undefined) conditions.push(`oldest_at < ${place(until)}`)
  yield* slices(db, range, conditions.join(' and ') || '1 = 1', parameters)
}

/** The condition that a column contains a text. */
function has({ kind }: Db, column: string, text: string): string {
  return `${kind === 'postgres' ? 'strpos' : 'instr'}(${column}, ${text}) > 0`
}

/** The pages of requests that arrived in a time. */
async function rangeOf(db: Db, since: number, until: number | undefined, longestMs = MAX_MS): Promise<Range> {
  const first = await firstEndedAt(db, since - CLOCKS_MS)
  if (first === undefined) return { from: 1, to: 0 }
  // Merged pages cover more time: the page in which the period ends is included.
  const last = until === undefined ? undefined : await firstEndedAt(db, until + longestMs + CLOCKS_MS)
  return { from: first, to: last ?? ALL.to }
}

/** The lowest number of a page that ended at a time or later; undefined if no page did. */
export async function firstEndedAt(db: Db, at: number): Promise<number | undefined> {
  const [row] = await db.query({
    sql: `select min(number) as number from (select number from request_pages
      where ended_at >= $1 order by ended_at, number limit ${NEIGHBOURS}) as nearest`,
    parameters: [at],
  })
  return (row?.number as number | null) ?? undefined
}

async function* slices(
  db: Db,
  { from, to }: Range,
  condition: string,
  parameters: readonly Value[],
): AsyncGenerator<Head> {
  for (let last = to; ; ) {
    const heads = await db.query(sliceOf(condition, parameters, { from, to: last }))
    for (const { number, fits } of heads) yield { number: number as number, fits: fits === 1 }
    const next = heads.at(-1)?.number as number | undefined
    if (next === undefined || heads.length < SLICE_PAGES) return
    // This may be a row of the last page, which is then read again: it has more rows if pages were merged.
    last = next - 1
    await nextTurn()
  }
}

function sliceOf(condition: string, parameters: readonly Value[], { from, to }: Range): Statement {
  const count = parameters.length
  return {
    sql: `select number, case when ${condition} then 1 else 0 end as fits from request_pages
      where number >= $${count + 1}
        and number <= coalesce((select min(number) from request_pages where number >= $${count + 2}), $${count + 2})
      order by number desc limit ${SLICE_PAGES}`,
    parameters: [...parameters, from, to],
  }
}

interface Page {
  /** The number of its first row. */
  first: number
  values: readonly (readonly Value[])[]
}

/** The page that has a row now. The list is empty if the page was dropped. */
async function pageWith(db: Db, number: number): Promise<Page> {
  const sql = 'select number, rows from request_pages where number >= $1 order by number limit 1'
  const [page] = await db.query({ sql, parameters: [number] })
  return page ? pageOf(page) : { first: number, values: [] }
}

/** The rows of a page as stored; empty if the page is unreadable. */
function pageOf(page: Row): Page {
  const values = jsonOfColumn<Value[][]>(page.rows, [], isLists) ?? []
  return { first: Number(page.number) - values.length + 1, values }
}

/** The terms of a filter: one of each group must be in a page. */
function termsOf(filter: RequestFilter): string[][] {
  const { metadata, status, error } = filter
  const groups = EQUAL_COLUMNS.flatMap(([name, [column]]) => {
    const choice = filter[name]
    return choice === undefined ? [] : [choicesOf(choice).map((value) => `${column}=${value}`)]
  })
  if (metadata !== undefined) groups.push([metadataTerm(metadata)])
  if (status !== undefined) groups.push(choicesOf(status).map((word) => `status=${word}`))
  if (error !== undefined) groups.push(['status=failed'])
  return groups
}

export function metadataTerm({ name, value }: Metadata): string {
  return `metadata.${name}=${value}`
}

function rowsBelow({ first, values }: Page, end: number): Page['values'] {
  return values.slice(0, Math.max(0, end - first))
}

/** The rows of a page below a number, newest first, with their numbers: only those whose index is wanted. */
function rowsOf(
  { codec }: Db,
  page: Page,
  end = Number.MAX_SAFE_INTEGER,
  isWanted: (index: number) => boolean = () => true,
): LoggedRequest[] {
  return rowsBelow(page, end)
    .flatMap((values, index) =>
      isWanted(index) ? [{ number: page.first + index, ...loggedRequestOf(values, codec) }] : [],
    )
    .reverse()
}
