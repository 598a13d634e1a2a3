// Parses durations typed by people, and formats times for them. Times must be in UTC.

import { isoTime } from '../../src/db/iso-time'
import { parseDurationMs as durationMsOf } from '../../src/lib/durations'
import { WrongUsage } from '../lib/errors'
import { counted } from './counted'

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

/** The time of a flag with a duration before now, in the form of operations; undefined if the flag is absent. */
export function timeAgo(flag: string, text: string | undefined, now: number): string | undefined {
  return text === undefined ? undefined : new Date(now - parseDurationMs(flag, text)).toISOString()
}

/** The beginning and the end of a month such as `2026-10`, in UTC. Other text is wrong usage. */
function parseMonth(text: string): { since: number; until: number } {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year === undefined) throw new WrongUsage(`--month takes a month such as 2026-10, not "${text}".`)
  return { since: Date.UTC(Number(year), Number(month) - 1), until: Date.UTC(Number(year), Number(month)) }
}

/** A time as `2026-10-31`, as `2026-10-31T14:00Z`, or as a duration before now such as `30d`. Other text is wrong usage. */
function parseTime(flag: string, text: string, now: number): number {
  const isDate = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/.test(text)
  const at = isDate ? Date.parse(text) : now - (durationMsOf(text) ?? Number.NaN)
  if (Number.isNaN(at)) {
    throw new WrongUsage(
      `--${flag} takes a date such as 2026-10-31 or a time ago such as 30d, not "${text}".`,
    )
  }
  return at
}

/** The flags `--since`, `--until` and `--month` of commands that read history. */
export const periodArgs = {
  since: {
    type: 'string',
    valueHint: '30d',
    description: 'From a date such as 2026-10-01, or a time ago such as 30d',
  },
  until: { type: 'string', valueHint: 'DATE', description: 'Before a date, or a time ago' },
  month: { type: 'string', valueHint: '2026-10', description: 'One month, in UTC' },
} as const

interface PeriodFlags {
  since?: string | undefined
  until?: string | undefined
  month?: string | undefined
}

/** The period of these flags; `all` has no start. Undefined if a flag is absent. */
export function parsePeriod(
  { since, until, month }: PeriodFlags,
  now: number,
): { since?: number; until?: number } {
  if (month !== undefined) {
    if (since !== undefined || until !== undefined)
      throw new WrongUsage('--month cannot be combined with --since and --until.')
    return parseMonth(month)
  }
  return {
    ...(since !== undefined && { since: since === 'all' ? 0 : parseTime('since', since, now) }),
    ...(until !== undefined && { until: parseTime('until', until, now) }),
  }
}

/** A period in the form of the admin API's operations. */
export function periodQueryOf({ since, until }: { since?: number; until?: number }) {
  const text = (at: number | undefined) => (at === undefined ? undefined : new Date(at).toISOString())
  return { since: text(since), until: text(until) }
}

/** A UTC time for tables: `2026-08-21 14:03:22`. */
export function shortTime(at: number): string {
  return isoTime(at).slice(0, 19).replace('T', ' ')
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
  const amount = counted(count, name)
  return at > now ? `in ${amount}` : `${amount} ago`
}
