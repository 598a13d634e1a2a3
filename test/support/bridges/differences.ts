// Differences between two JSON values by their places, and those that are wanted, which are data. It must never know what
// the values are about.

import type { Json } from '../scenario'

/** A place at which two outcomes differ, such as `call[0].body.json.messages[1].content`. */
export interface Difference {
  where: string
  older: Json
  newer: Json
}

/** The case in which outcomes differ. */
export interface DifferenceContext {
  model: string
  /** The request; of an answer, the request and what came from its vendor. */
  body: Json
  /** All that each family makes of it. */
  older: Json
  newer: Json
}

/** A difference that is wanted, and why. */
export interface WantedDifference {
  /** Name of the older family. Absent: all of them. */
  pair?: string
  /** The places: a pattern for the whole of `where`. */
  where: RegExp
  reason: string
  /** Absent: every difference at these places is wanted. */
  matches?(difference: Difference, about: DifferenceContext): boolean
}

/** All places at which two values differ. Members that are undefined are as good as absent. */
export function differencesOf(older: Json, newer: Json, where = ''): Difference[] {
  if (Bun.deepEquals(older, newer)) return []
  if (Array.isArray(older) && Array.isArray(newer)) return inLists(older, newer, where)
  if (!isObject(older) || !isObject(newer)) return [{ where, older, newer }]
  const names = new Set([...Object.keys(older), ...Object.keys(newer)])
  return [...names].flatMap((name) =>
    differencesOf(older[name], newer[name], where === '' ? name : `${where}.${name}`),
  )
}

/** Lists of one length differ by their items; others by the part between what they begin and end with alike. */
function inLists(older: Json[], newer: Json[], where: string): Difference[] {
  if (older.length === newer.length) {
    return older.flatMap((item, index) => differencesOf(item, newer[index], `${where}[${index}]`))
  }
  const shorter = Math.min(older.length, newer.length)
  let begin = 0
  while (begin < shorter && Bun.deepEquals(older[begin], newer[begin])) begin++
  let end = 0
  while (end < shorter - begin && Bun.deepEquals(older.at(-1 - end), newer.at(-1 - end))) end++
  return [
    {
      where: `${where}[${begin}...]`,
      older: older.slice(begin, older.length - end),
      newer: newer.slice(begin, newer.length - end),
    },
  ]
}

function isObject(value: unknown): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value in at most so many characters. */
export function shown(value: unknown, most = 600): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`
}
