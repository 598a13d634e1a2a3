// Writes the times of rows as programs read them. Pure.

/** A time in milliseconds since 1970 as `2026-10-31T14:00:00.000Z`; null for none. */
export function isoTime(at: number): string
export function isoTime(at: number | null): string | null
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
