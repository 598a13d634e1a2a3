// JSON in a column. Pure. An unreadable text must never prevent other rows from being read, or allow more than the text did.

import { isObject } from '../lib/objects'
import type { Value } from './db'

/**
 * The JSON of a column; null if the column is null, or does not exist yet in an older database. `unreadable` replaces a text that
 * is not JSON, or whose content `isRight` rejects.
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

/** Whether a value is a list of lists, the form in which rows are stored. */
export function isLists(value: unknown): boolean {
  return isListOf(value, Array.isArray)
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem)
}

/** A list in the form of a column. */
export function listText(list: readonly string[] | null): string | null {
  return list && JSON.stringify(list)
}

/** The list of a column, like `jsonOfColumn`; empty if it is unreadable, so that it allows nothing. */
export function listOfColumn(value: Value | undefined): string[] | null {
  return jsonOfColumn<string[]>(value, [], (content) => isListOf(content, (item) => typeof item === 'string'))
}
