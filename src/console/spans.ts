// Hours and days of figures: their lengths, their names in usage reports, and all spans in a time range.

const HOUR_MS = 3_600_000

/** Lengths of spans in milliseconds. */
export const SPANS_MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const

/** The beginning of an hour or a day by its name, `2026-10-31 14:00` or `2026-10-31`, in milliseconds since 1970. */
export function timeOfSpan(name: string): number {
  return Date.parse(`${name.replace(' ', 'T')}${name.length > 10 ? 'Z' : 'T00:00Z'}`)
}

/** The calendar month before the current one, in UTC: `2026-10`. */
export function lastMonth(now: number): string {
  const at = new Date(now)
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - 1)).toISOString().slice(0, 7)
}

/** The beginnings of all spans from the one at `first` up to a time. */
export function spanStarts(first: number, until: number, spanMs: number): number[] {
  return Array.from({ length: Math.ceil((until - first) / spanMs) }, (_, index) => first + index * spanMs)
}
