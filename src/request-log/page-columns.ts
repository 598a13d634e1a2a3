// The columns of a page that sums need, stored next to its rows. Reading all columns of 200,000 rows as rows takes half a second;
// reading these, with each text once per page, takes a tenth. Rows of older pages are converted to the same form. Texts that only
// searches need are stored separately. Pure.

import type { Value } from '../db/db'
import { isLists, jsonOfColumn } from '../db/json-column'
import { columnPlace, endedInError } from './row'

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
/** Columns that only searches need. */
const SEARCHED = ['error_message', 'metadata'] as const
export type NumberColumn = (typeof NUMBERS)[number]
export type TextColumn = (typeof TEXTS)[number]
export type SearchedColumn = (typeof SEARCHED)[number]

const [ID, AT] = [columnPlace('id'), columnPlace('at')]
const [STATUS, ERROR, AMOUNT] = [columnPlace('status'), columnPlace('error_code'), columnPlace('amount')]
const NUMBER_PLACES = NUMBERS.map(columnPlace)
const TEXT_PLACES = TEXTS.map(columnPlace)

/** A column of texts: each of them once, and for each row the index of its text; -1 for none. */
export interface TextValues {
  values: readonly string[]
  places: readonly number[]
}

const NO_TEXTS: TextValues = { values: [], places: [] }

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

/** The texts of a page that only searches need. */
export interface SearchedTexts {
  /** The id of each row. None contains a space. */
  ids: readonly string[]
  /** All of them, with spaces between them. */
  idLine: string
  error_message: TextValues
  metadata: TextValues
}

type StoredTexts = [values: string[], places: number[]]

/** The stored form: the earliest time, the numbers with times relative to it, the texts, and the unpaid rows. */
type Stored = [
  base: number,
  numbers: (number | null)[][],
  texts: StoredTexts[],
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
    texts: named(TEXTS, (place) => readTexts(texts[place])),
    unpaid: new Map(unpaid),
  }
}

/** The columns of rows, which are values in the order of the log's columns. */
export function columnsOf(rows: readonly (readonly Value[])[]): PageColumns {
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

/** The searched texts of rows. */
export function searchedTextsOf(rows: readonly (readonly Value[])[]): SearchedTexts {
  const ids = rows.map((values) => String(values[ID]))
  return {
    ids,
    idLine: ids.join(' '),
    error_message: textsIn(rows, columnPlace('error_message')),
    metadata: textsIn(rows, columnPlace('metadata')),
  }
}

/** The searched texts as three lines: the ids, and JSON of the others. */
export function storedSearchedTexts({ idLine, error_message, metadata }: SearchedTexts): string {
  return [
    idLine,
    ...[error_message, metadata].map(({ values, places }) => JSON.stringify([values, places])),
  ].join('\n')
}

/** Reads what `storedSearchedTexts` has written for so many rows; undefined if it was written for others. */
export function readSearchedTexts(text: Value | undefined, rows: number): SearchedTexts | undefined {
  if (typeof text !== 'string') return undefined
  const [idLine = '', messages, metadata] = text.split('\n')
  const error_message = storedTexts(messages)
  // An older gateway joins pages without changing these.
  if (error_message.places.length !== rows) return undefined
  let ids: readonly string[] | undefined
  return {
    // Most searches read neither of these two.
    get ids() {
      ids ??= idLine.split(' ')
      return ids
    },
    get metadata() {
      return storedTexts(metadata)
    },
    idLine,
    error_message,
  }
}

function storedTexts(text: string | undefined): TextValues {
  return readTexts(jsonOfColumn<StoredTexts | []>(text, [], isLists) ?? [])
}

function readTexts([values = [], places = []]: StoredTexts | [] = []): TextValues {
  return { values, places }
}

/** Rows of a page, by column. A row is named by its index. */
export interface RowColumns {
  number(column: NumberColumn): (row: number) => number | null
  /** Whether the id of a row contains what is wanted. `isContained` may be called for several ids at once. */
  hasInId(isContained: (text: string) => boolean): RowTest
  /** Whether a row has a text that is wanted. `isWanted` may be called once for all rows that have the same text. */
  text(column: TextColumn | SearchedColumn, isWanted: (text: string, id: string) => boolean): RowTest
}

export type RowTest = (row: number) => boolean

/** Results of a test of a text. */
const [UNTESTED, OTHER, WANTED] = [0, 1, 2]

/** A page for the conditions of a filter. Each text of a column is tested once. */
export function columnsForTests(page: PageColumns, searched: SearchedTexts | undefined): RowColumns {
  return {
    number: (column) => (row) => page.numbers[column][row] ?? null,
    hasInId(isContained) {
      if (!searched || !isContained(searched.idLine)) return () => false
      return (row) => isContained(searched.ids[row] ?? '')
    },
    text(column, isWanted) {
      const { values, places } = (isSearched(column) ? searched?.[column] : page.texts[column]) ?? NO_TEXTS
      const results = new Uint8Array(values.length)
      return (row) => {
        const place = places[row] ?? -1
        if (place === -1) return false
        if (results[place] === UNTESTED)
          results[place] = isWanted(values[place] as string, searched?.ids[row] ?? '') ? WANTED : OTHER
        return results[place] === WANTED
      }
    },
  }
}

/** Rows, which are values in the order of the log's columns, for the conditions of a filter. */
export function rowsForTests(rows: readonly (readonly Value[])[]): RowColumns {
  return {
    number(column) {
      const place = columnPlace(column)
      return (row) => numberOf(rows[row]?.[place])
    },
    hasInId: (isContained) => (row) => isContained(String(rows[row]?.[ID])),
    text(column, isWanted) {
      const place = columnPlace(column)
      return (row) => {
        const value = rows[row]?.[place]
        return typeof value === 'string' && isWanted(value, String(rows[row]?.[ID]))
      }
    },
  }
}

function isSearched(column: TextColumn | SearchedColumn): column is SearchedColumn {
  return SEARCHED.some((each) => each === column)
}

function numberOf(value: Value | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}
