// Formats times of rows for programs. Pure. It must never throw: an invalid time must not hide the rows next to it.

/** The first and the last time that programs in every language can read: of the years 1 and 9999. */
const FIRST_TIME = -62_135_596_800_000
export const LAST_TIME = 253_402_300_799_999

/** A time in milliseconds since 1970 as `2026-10-31T14:00:00.000Z`; null stays null. A time out of range becomes the limit. */
export function isoTime(at: number): string
export function isoTime(at: number | null): string | null
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(Math.min(Math.max(at, FIRST_TIME), LAST_TIME)).toISOString()
}

/** The day of a time in UTC: `2026-12-11`. */
export function isoDay(at: number): string {
  return isoTime(at).slice(0, '2026-12-11'.length)
}
