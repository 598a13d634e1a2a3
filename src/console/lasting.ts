// How long a balance lasts. Pure.

import { dollarsOf } from './parts/money'

/** Number of days whose spending is the rate. */
const RATE_DAYS = 7

/** Whole days for which an amount lasts at the rate of the last seven days, including today; null if nothing was spent in them. */
export function daysLeft(availableUsd: string, spendByDayUsd: readonly string[]): number | null {
  const spent = spendByDayUsd.slice(-RATE_DAYS).reduce((sum, usd) => sum + dollarsOf(usd), 0)
  if (!(spent > 0)) return null
  return Math.max(0, Math.floor((dollarsOf(availableUsd) / spent) * RATE_DAYS))
}
