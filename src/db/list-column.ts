// Lists of texts in a column. Pure.

import type { Value } from './db'

/** A list as a column keeps it. */
export function listText(list: readonly string[] | null): string | null {
  return list && JSON.stringify(list)
}

/** The list of a column; null where the column is null, or is not there yet in an older database. */
export function listOfColumn(value: Value | undefined): string[] | null {
  return typeof value === 'string' ? JSON.parse(value) : null
}
