// JSON in a column. Pure. A text that cannot be read must never keep other rows from being read, nor allow more than the text did.

import { isObject } from '../lib/objects'
import type { Value } from './db'

/**
 * The JSON of a column; null if the column is null, or is not there yet in an older database. `unreadable` replaces a text that
 * is not JSON, or whose content is not of the kind that `isRight` wants.
 */
export function jsonOfColumn<Content>(
  value: Value | undefined,
  unreadable: Content,
  isRight: (content: unknown) => boolean = isObject,
): Content | null {
  if (typeof value !== 'string') return null
  try {
    const content: unknown = JSON.parse(value)
    return isRight(content) ? (content as Content) : unreadable
  } catch {
    return unreadable
  }
}

/** Whether a value is a list of objects. */
export function isObjects(value: unknown): boolean {
  return isListOf(value, isObject)
}

/** Whether a value is a list of lists, as rows are kept. */
export function isLists(value: unknown): boolean {
  return isListOf(value, Array.isArray)
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem)
}

/** A list as a column keeps it. */
export function listText(list: readonly string[] | null): string | null {
  return list && JSON.stringify(list)
}

/** The list of a column, as in `jsonOfColumn`; empty if it cannot be read, so that nothing is allowed by it. */
export function listOfColumn(value: Value | undefined): string[] | null {
  return jsonOfColumn<string[]>(value, [], (content) => isListOf(content, (item) => typeof item === 'string'))
}
