// Failed requests of a period by cause: in total, and by day, hour or model. They come from the figures of requests, which
// are not the truth about money: a minute of them can be lost with a crash. It must never write.

import type { UsageDimension } from '../billing/reports/usage-report'
import type { Db } from '../db/db'
import { REFUSERS, type Refuser } from '../request-log/failure'
import { figuresBetween, type RequestFigures } from '../request-log/figures'

export type FailedBy = Record<Refuser, number>

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The name of requests that failed before a model was called. */
const NO_MODEL = '(none)'

/** How the figures are named in usage by these dimensions; those of others are not known by them. */
const NAMES: Partial<Record<UsageDimension, (figures: RequestFigures) => string>> = {
  day: ({ hour }) => String(hour - (hour % DAY_MS)),
  hour: ({ hour }) => String(hour),
  model: ({ model }) => model || NO_MODEL,
}

/** Failures of whole hours. */
export async function failuresBetween(db: Db, since: number, until: number) {
  const figures = await figuresBetween(db, since, until)
  return {
    total: sumOf(figures),
    /** Failures by the names of a dimension as usage has them; undefined if they are not known by it. */
    by(dimension: UsageDimension): ReadonlyMap<string, FailedBy> | undefined {
      const nameOf = NAMES[dimension]
      if (!nameOf) return undefined
      return new Map([...Map.groupBy(figures, nameOf)].map(([name, some]) => [name, sumOf(some)]))
    },
  }
}

function sumOf(figures: readonly RequestFigures[]): FailedBy {
  const sums: FailedBy = { vendor: 0, gateway: 0, caller: 0 }
  for (const { failedBy } of figures) for (const refuser of REFUSERS) sums[refuser] += failedBy[refuser]
  return sums
}
