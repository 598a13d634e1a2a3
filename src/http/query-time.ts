// Reads times that callers give in a query or a body. It must never guess a zone: times are in UTC.

import { invalidRequest } from '../lib/errors'

/** A time in UTC in milliseconds since 1970. Throws 400 for what is none. */
export function timeOfQuery(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const isDate = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/.test(text)
  const at = isDate ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at) || at < 0)
    throw invalidRequest(
      name,
      `Invalid '${name}': expected a time in UTC such as 2026-10-31 or 2026-10-31T14:00Z.`,
    )
  return at
}
