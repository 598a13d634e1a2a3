// Reads the times of a query or a body. It must never guess a zone: times are in UTC.

import { isoTime } from '../db/iso-time'
import { invalidRequest } from '../lib/errors'

/** A time in UTC in milliseconds since 1970. Throws 400 if it is invalid. */
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

/** A period: its start (inclusive) and its end (exclusive), in milliseconds since 1970. */
interface QueryPeriod {
  since?: number
  until?: number
}

interface PeriodFields {
  since?: string | null | undefined
  until?: string | null | undefined
}

/** The period in a query. Throws 400 for invalid times, and for a period that ends before it begins. */
export function periodOfQuery(fields: PeriodFields): QueryPeriod
export function periodOfQuery(fields: PeriodFields, defaultSince: number): QueryPeriod & { since: number }
export function periodOfQuery(fields: PeriodFields, defaultSince?: number): QueryPeriod {
  const given = timeOfQuery('since', fields.since ?? undefined)
  const since = given ?? defaultSince
  const until = timeOfQuery('until', fields.until ?? undefined)
  if (since !== undefined && until !== undefined && until <= since) {
    const byDefault = given === undefined ? `, which is ${isoTime(since)} by default` : ''
    throw invalidRequest('until', `Invalid 'until': expected a time after 'since'${byDefault}.`)
  }
  return { ...(since !== undefined && { since }), ...(until !== undefined && { until }) }
}
