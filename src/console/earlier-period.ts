// The earlier period that figures are compared with: the one right before, or the same period a year earlier. Pure.

export const COMPARISONS = ['before', 'year', 'none'] as const
export type Comparison = (typeof COMPARISONS)[number]

export interface Period {
  since: number
  until: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longer periods are shown by day. */
const MAX_HOURS = 96

/** The unit in which a period is shown. */
export function spanOf({ since, until }: Period): 'hour' | 'day' {
  return until - since > MAX_HOURS * HOUR_MS ? 'day' : 'hour'
}

/**
 * The earlier period. A calendar month in UTC, whole or up to now, is compared with the previous month; any other period is
 * compared with one that is earlier by whole hours or days, so that spans of the same length are compared. The earlier period ends
 * before the later one begins.
 */
export function earlierPeriod(later: Period, word: Exclude<Comparison, 'none'>): Period {
  const { since, until } = later
  const months = word === 'year' ? 12 : isMonth(later) ? 1 : 0
  const spanMs = spanOf(later) === 'day' ? DAY_MS : HOUR_MS
  const shiftMs =
    months > 0 ? since - monthsBefore(since, months) : Math.ceil((until - since) / spanMs) * spanMs
  const length = word === 'before' && isWholeMonth(later) ? shiftMs : until - since
  return { since: since - shiftMs, until: Math.min(since - shiftMs + length, since) }
}

/** Whether a period begins with a calendar month and ends no later than it. */
function isMonth({ since, until }: Period): boolean {
  return since === beginOfMonth(since) && until <= monthsBefore(since, -1)
}

function isWholeMonth(period: Period): boolean {
  return isMonth(period) && period.until === monthsBefore(period.since, -1)
}

function beginOfMonth(at: number): number {
  const time = new Date(at)
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth(), 1)
}

/** A time of the calendar a number of months earlier; the last day if that month is shorter. */
function monthsBefore(at: number, months: number): number {
  const time = new Date(at)
  const first = Date.UTC(time.getUTCFullYear(), time.getUTCMonth() - months, 1)
  const month = new Date(first)
  const days = new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 0)).getUTCDate()
  return first + (Math.min(time.getUTCDate(), days) - 1) * DAY_MS + (at % DAY_MS)
}
