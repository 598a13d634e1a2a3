// Reads durations as people type them, and writes times as people read them. Times must be in UTC.

import { parseDurationMs as durationMsOf } from '../../src/lib/durations'
import { WrongUsage } from '../lib/errors'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Milliseconds of a duration such as `45m`, `12h`, `30d` or `2w`. Other text is wrong usage. */
export function parseDurationMs(flag: string, text: string): number {
  const durationMs = durationMsOf(text)
  if (durationMs === undefined) {
    throw new WrongUsage(`--${flag} takes a duration such as 45m, 12h, 30d or 2w, not "${text}".`)
  }
  return durationMs
}

/** A time for JSON: `2026-08-21T14:03:22.000Z`, or null. */
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/** A UTC time for tables: `2026-08-21 14:03:22`. */
export function shortTime(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}

/** A UTC time for sentences: `2026-08-21 14:03:22 UTC`. */
export function utcTime(at: number): string {
  return `${shortTime(at)} UTC`
}

/** The age of a time: `45s`, `5m`, `3h`, `2d`. */
export function shortAge(at: number, now: number): string {
  const ageMs = Math.max(0, now - at)
  const [unit, unitMs] = (
    [
      ['d', DAY_MS],
      ['h', HOUR_MS],
      ['m', MINUTE_MS],
    ] as const
  ).find(([, each]) => ageMs >= each) ?? ['s', SECOND_MS]
  return `${Math.floor(ageMs / unitMs)}${unit}`
}

/** The distance of a time from now: `in 30 days`, `2 hours ago`. */
export function distance(at: number, now: number): string {
  const awayMs = Math.abs(at - now)
  const [name, unitMs] = (
    [
      ['day', DAY_MS],
      ['hour', HOUR_MS],
      ['minute', MINUTE_MS],
    ] as const
  ).find(([, unit]) => awayMs >= unit) ?? ['second', SECOND_MS]
  const count = Math.round(awayMs / unitMs)
  const amount = `${count} ${name}${count === 1 ? '' : 's'}`
  return at > now ? `in ${amount}` : `${amount} ago`
}
