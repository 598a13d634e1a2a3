// Columns of tables as data: how a column sorts, and which columns are hidden if a table has too little room. Pure.

import { type ComponentChildren, isValidElement } from 'preact'
import { language, numberOfText } from './language'
import { Money, nanoOf } from './parts/money'
import { Duration, LogTime, Time } from './parts/time'

export interface Column<Row> {
  title: string
  /** Numbers are right-aligned. */
  isNumber?: boolean
  /** On a narrow screen, the first line shows the name of a row and its main figure. Default: the second, with its title. */
  isFirstLine?: boolean
  /** The higher, the sooner the column is hidden if there is too little room. Default: 2. Columns of the first line are never hidden. */
  priority?: number
  /** The value to sort by. Default: the one that its cells show, if they are amounts, times, numbers or texts. */
  sort?(row: Row): SortValue
  cell(row: Row): ComponentChildren
  /** The cell of the footer. */
  footer?: ComponentChildren
}

/** A value to sort by; null comes last in any order. */
export type SortValue = string | number | bigint | null

/** The order of a table: a column by its title, and whether its highest value comes first. */
export interface Order {
  title: string
  isDescending: boolean
}

/** The order in the address: the title of a column, after a minus for the highest value first. */
export function orderOf(word: string | undefined): Order | undefined {
  if (!word) return undefined
  return word.startsWith('-')
    ? { title: word.slice(1), isDescending: true }
    : { title: word, isDescending: false }
}

/** The order after a click on a column title: numbers and times begin with the highest, and the third click removes it. */
export function nextOrder(before: Order | undefined, title: string, values: readonly SortValue[]): string {
  const beginsDescending = values.some((value) => value !== null && typeof value !== 'string')
  const word = (isDescending: boolean) => `${isDescending ? '-' : ''}${title}`
  if (before?.title !== title) return word(beginsDescending)
  return before.isDescending === beginsDescending ? word(!beginsDescending) : ''
}

/** The value of a cell to sort by; undefined for a cell of no known kind. */
export function sortValueOf(cell: ComponentChildren, isNumber = false): SortValue | undefined {
  if (cell === null || cell === undefined || cell === false || cell === '') return null
  if (typeof cell === 'number') return cell
  if (typeof cell === 'string') return isNumber ? numberOf(cell) : cell
  if (!isValidElement(cell)) return undefined
  const { usd, ms, at } = cell.props as { usd?: string | null; ms?: number | null; at?: string | null }
  if (cell.type === Money) return usd ? nanoOf(usd) : null
  if (cell.type === Duration) return ms ?? null
  if (cell.type === Time || cell.type === LogTime) return at ? Date.parse(at) : null
  return undefined
}

/** A formatted number, such as `1,234` or `0.4 %`; null for other text. */
function numberOf(text: string): number | null {
  const number = numberOfText(text)
  return Number.isNaN(number) ? null : number
}

/** The rows in the order of their values, one for each. */
export function sorted<Row>(
  rows: readonly Row[],
  values: readonly SortValue[],
  isDescending: boolean,
): Row[] {
  const places = rows.map((_, place) => place)
  places.sort((one, two) => compare(values[one] ?? null, values[two] ?? null, isDescending))
  return places.map((place) => rows[place] as Row)
}

function compare(one: SortValue, two: SortValue, isDescending: boolean): number {
  if (one === null || two === null) return Number(one === null) - Number(two === null)
  const difference =
    typeof one === 'string' && typeof two === 'string'
      ? one.localeCompare(two, language, { numeric: true })
      : one < two
        ? -1
        : Number(one > two)
  return isDescending ? -difference : difference
}

/** The columns to hide, by index, so that at least a number of pixels become free. */
export function givingWay<Row>(
  columns: readonly Column<Row>[],
  widths: readonly number[],
  missing: number,
): number[] {
  const order = columns
    .map(({ isFirstLine, priority = 2 }, place) => ({ place, priority: isFirstLine ? 0 : priority }))
    .filter(({ place, priority }) => priority > 0 && (widths[place] ?? 0) > 0)
    .sort((one, two) => two.priority - one.priority || two.place - one.place)
  const gone: number[] = []
  let free = 0
  for (const { place } of order) {
    if (free >= missing) break
    free += widths[place] ?? 0
    gone.push(place)
  }
  return gone
}
