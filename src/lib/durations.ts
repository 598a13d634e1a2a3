// Reads durations and sizes as people write them: `45m`, `30d`, `10GB`. It must never guess: a number without a known
// unit is rejected.

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const durationUnits = new Map([
  ['s', SECOND_MS],
  ['m', MINUTE_MS],
  ['h', HOUR_MS],
  ['d', DAY_MS],
  ['w', 7 * DAY_MS],
])
const MAX_DURATION_MS = 100 * 365 * DAY_MS

/** Decimal units, as for disks, not powers of two. */
const byteUnits = new Map([
  ['KB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
])

/** Milliseconds of a duration such as `45m`. Undefined for other text, for zero, and for more than a hundred years. */
export function parseDurationMs(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  const durationMs = Number(count) * (durationUnits.get(unit) ?? Number.NaN)
  return durationMs > 0 && durationMs <= MAX_DURATION_MS ? durationMs : undefined
}

/** Bytes of a size such as `10GB`. Undefined for other text, for zero, and for more than 999 TB. */
export function parseBytes(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,3}(?:\.\d{1,3})?) ?([KMGT]B)$/.exec(text) ?? []
  const bytes = Math.round(Number(count) * (byteUnits.get(unit) ?? Number.NaN))
  return bytes > 0 ? bytes : undefined
}
