// Failed requests of a period by cause: in total, and by day, hour, model, key or account. They come from the figures of requests,
// which are not accounting records: a crash can lose a minute of them. It must never write.

import type { UsageDimension, UsagePeriod } from '../billing/reports/usage-report'
import type { Db } from '../db/db'
import { PARTIES, type Party } from '../request-log/failure'
import { figuresBetween } from '../request-log/figures'
import { keyFailuresBetween } from '../request-log/key-failures'

export type FailedBy = Record<Party, number>

interface Failures {
  hour: number
  failedBy: FailedBy
  model?: string
  key?: string | null
  account?: string | null
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The name for requests that failed before a model was called or a key was known. */
const NONE = '(none)'

/** How failures are named in usage by these dimensions; other dimensions do not have them. */
const NAMES: Partial<Record<UsageDimension, (failures: Failures) => string>> = {
  day: ({ hour }) => String(hour - (hour % DAY_MS)),
  hour: ({ hour }) => String(hour),
  model: ({ model }) => model || NONE,
  key: ({ key }) => key ?? NONE,
  account: ({ account }) => account ?? NONE,
}

/** Failures of whole hours by a dimension, for all requests, or for those of a key or an account. */
export async function failuresBetween(
  db: Db,
  { since, until, keyId, account }: UsagePeriod & { until: number },
  by: UsageDimension,
) {
  const isOfKeys = by === 'key' || by === 'account' || keyId !== undefined || account !== undefined
  const failures: readonly Failures[] = isOfKeys
    ? await keyFailuresBetween(db, { since, until, keyId, account })
    : await figuresBetween(db, since, until)
  const nameOf = isOfKeys && by === 'model' ? undefined : NAMES[by]
  return {
    total: sumOf(failures),
    /** Failures by the names of the dimension as in usage; undefined for a dimension without them. */
    byName: nameOf && new Map([...Map.groupBy(failures, nameOf)].map(([name, some]) => [name, sumOf(some)])),
  }
}

function sumOf(failures: readonly Failures[]): FailedBy {
  const sums: FailedBy = { vendor: 0, gateway: 0, caller: 0 }
  for (const { failedBy } of failures) for (const party of PARTIES) sums[party] += failedBy[party]
  return sums
}
