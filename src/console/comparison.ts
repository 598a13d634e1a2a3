// What the figures of the page are compared with, according to the address.

import { address, clock, period } from './address'
import { COMPARISONS, type Comparison, earlierPeriod } from './earlier-period'

/** The comparison in the address. Default: the previous period. */
export function comparison(): Comparison {
  return COMPARISONS.find((word) => word === address.value.query.compare) ?? 'before'
}

/** The period that the figures of the page are compared with; null if they are compared with nothing. */
export function comparedPeriod(): { since: string; until: string } | null {
  const { since, until } = period.value
  const now = Math.floor(clock.value / 60_000) * 60_000
  const word = comparison()
  if (word === 'none') return null
  const earlier = earlierPeriod(
    { since: Date.parse(since), until: until === null ? now : Date.parse(until) },
    word,
  )
  return { since: new Date(earlier.since).toISOString(), until: new Date(earlier.until).toISOString() }
}
