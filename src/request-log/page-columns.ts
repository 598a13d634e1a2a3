// The columns of a page that sums need, stored next to its rows. Reading all columns of 200,000 rows as rows takes half a second;
// reading these, with each text once per page, takes a tenth. Rows of older pages and of queries for other columns are converted to
// the same form. Pure.

import type { Value } from '../db/db'
import { jsonOfColumn } from '../db/json-column'
import { columnPlace } from './filter'
import { COLUMNS, endedInError } from './row'

const NUMBERS = [
  'at',
  'status',
  'first_byte_ms',
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'amount',
] as const
const TEXTS = [
  'operation',
  'account',
  'key_id',
  'model',
  'upstream',
  'error_code',
  'asked_model',
  'failed_by',
  'spender_id',
] as const
export type NumberColumn = (typeof NUMBERS)[number]
export type TextColumn = (typeof TEXTS)[number]

const [ID, AT] = [columnPlace('id'), columnPlace('at')]
const [STATUS, ERROR, AMOUNT] = [columnPlace('status'), columnPlace('error_code'), columnPlace('amount')]
const NUMBER_PLACES = NUMBERS.map(columnPlace)
const TEXT_PLACES = TEXTS.map(columnPlace)

/** A column of texts: each of them once, and for each row the index of its text; -1 for none. */
export interface TextValues {
  values: readonly string[]
  places: readonly number[]
}

export interface PageColumns {
  rows: number
  /** The earliest and the latest arrival of a row. */
  oldestAt: number
  newestAt: number
  numbers: Readonly<Record<NumberColumn, readonly (number | null)[]>>
  texts: Readonly<Record<TextColumn, TextValues>>
  /** The ids of rows that were answered and do not contain their price, by index. */
  unpaid: ReadonlyMap<number, string>
}

/** The stored form: the earliest time, the numbers with times relative to it, the texts, and the unpaid rows. */
type Stored = [
  base: number,
  numbers: (number | null)[][],
  texts: [values: string[], places: number[]][],
  unpaid: [row: number, id: string][],
]

/** The columns as text. */
export function storedColumns({ oldestAt, numbers, texts, unpaid }: PageColumns): string {
  const stored: Stored = [
    oldestAt,
    NUMBERS.map((name) =>
      name === 'at' ? numbers.at.map((at) => Number(at) - oldestAt) : (numbers[name] as number[]),
    ),
    TEXTS.map((name) => [texts[name].values as string[], texts[name].places as number[]]),
    [...unpaid],
  ]
  return JSON.stringify(stored)
}

/** Reads what `storedColumns` has written; undefined if unreadable. */
export function readColumns(text: Value | undefined): PageColumns | undefined {
  const stored = jsonOfColumn<Stored | null>(text, null, Array.isArray)
  if (!stored) return undefined
  const [base, numbers, texts, unpaid] = stored
  const times = numbers[0] as number[]
  let last = 0
  for (let row = 0; row < times.length; row++) {
    const after = times[row] as number
    if (after > last) last = after
    times[row] = after + base
  }
  return {
    rows: times.length,
    oldestAt: base,
    newestAt: base + last,
    numbers: named(NUMBERS, (place) => numbers[place] ?? []),
    texts: named(TEXTS, (place) => {
      const [values = [], places = []] = texts[place] ?? []
      return { values, places }
    }),
    unpaid: new Map(unpaid),
  }
}

/** The columns of rows, which are values in the order of the log's columns. */
export function columnsOf(rows: readonly (readonly Value[])[]): PageColumns {
  const numberOf = (value: Value | undefined) =>
    value === null || value === undefined ? null : Number(value)
  let [oldestAt, newestAt] = [Number.MAX_SAFE_INTEGER, 0]
  for (const values of rows) {
    const at = Number(values[AT])
    if (at < oldestAt) oldestAt = at
    if (at > newestAt) newestAt = at
  }
  return {
    rows: rows.length,
    oldestAt,
    newestAt,
    numbers: named(NUMBERS, (place) => {
      const column = NUMBER_PLACES[place] as number
      return rows.map((values) => numberOf(values[column]))
    }),
    texts: named(TEXTS, (place) => textsIn(rows, TEXT_PLACES[place] as number)),
    unpaid: new Map(rows.flatMap((values, row) => (isUnpaid(values) ? [[row, String(values[ID])]] : []))),
  }
}

function textsIn(rows: readonly (readonly Value[])[], column: number): TextValues {
  const known = new Map<string, number>()
  const places = rows.map((row) => {
    const value = row[column]
    if (typeof value !== 'string') return -1
    const place = known.get(value) ?? known.size
    known.set(value, place)
    return place
  })
  return { values: [...known.keys()], places }
}

function isUnpaid(values: readonly Value[]): boolean {
  return (values[AMOUNT] ?? null) === null && !endedInError(Number(values[STATUS]), values[ERROR] ?? null)
}

function named<Name extends string, Column>(
  names: readonly Name[],
  columnAt: (place: number) => Column,
): Record<Name, Column> {
  return Object.fromEntries(names.map((name, place) => [name, columnAt(place)])) as Record<Name, Column>
}

/** Values of one row after another in the order of the log's columns; columns other than those of the page are null. */
export function rowReader(page: PageColumns): (row: number) => readonly Value[] {
  const values: Value[] = Array.from({ length: COLUMNS.length }, () => null)
  const numbers = NUMBERS.map((name) => page.numbers[name])
  const texts = TEXTS.map((name) => page.texts[name])
  return (row) => {
    for (let each = 0; each < numbers.length; each++)
      values[NUMBER_PLACES[each] as number] = numbers[each]?.[row] ?? null
    for (let each = 0; each < texts.length; each++) {
      const { values: known, places } = texts[each] as TextValues
      values[TEXT_PLACES[each] as number] = known[places[row] as number] ?? null
    }
    return values
  }
}
