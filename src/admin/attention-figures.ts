// Keys and models that need attention: keys that suddenly spend much more than usual, keys that expire soon, and models that cost
// more than they earn. It must never write.

import { totalUsage, type Usage, usageBy } from '../billing/reports/usage-report'
import type { Db, Value } from '../db/db'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Maximum number of rows per list. */
const MAX_LISTED = 20

/** A key whose last hour costs far more than its usual hours. */
export interface SpendSpike {
  key: string
  lastHourNano: number
  /** The median of the hours in the previous week in which it spent something. */
  medianNano: number
}

/** How many times the median an hour must cost. */
const SPIKE_TIMES = 5
/** A median of fewer hours is meaningless. */
const MIN_HOURS = 5
/** A sum below 10 cents is not worth a warning. */
const MIN_SPIKE_NANO = 100_000_000

/** Keys whose last hour cost at least five times the median of their hours in the previous week, the most expensive first. */
export async function spendSpikes(db: Db, now: number): Promise<SpendSpike[]> {
  const since = now - HOUR_MS
  const most = (await usageBy(db, 'key', { since, until: now }))
    .filter(({ amountNano }) => amountNano >= MIN_SPIKE_NANO)
    .slice(0, MAX_LISTED)
  if (most.length === 0) return []
  const parameters: Value[] = most.map(({ name }) => name)
  const places = parameters.map((_, index) => `$${index + 1}`).join(', ')
  const keys = await db.query({ sql: `select id, name from keys where name in (${places})`, parameters })
  const spikes = await Promise.all(
    keys.map(async ({ id, name }) => {
      const before = { since: since - 7 * DAY_MS, until: since, keyId: String(id) }
      const hours = (await usageBy(db, 'hour', before)).map(({ amountNano }) => amountNano)
      const lastHourNano = most.find((each) => each.name === name)?.amountNano ?? 0
      return { key: String(name), lastHourNano, medianNano: medianOf(hours.filter((spent) => spent > 0)) }
    }),
  )
  return spikes
    .filter(({ lastHourNano, medianNano }) => medianNano > 0 && lastHourNano >= medianNano * SPIKE_TIMES)
    .toSorted((one, other) => other.lastHourNano - one.lastHourNano)
}

/** The lower median; 0 if there are too few numbers. */
function medianOf(numbers: readonly number[]): number {
  if (numbers.length < MIN_HOURS) return 0
  return numbers.toSorted((one, other) => one - other)[Math.floor((numbers.length - 1) / 2)] ?? 0
}

export interface ExpiringKey {
  key: string
  account: string
  expiresAt: number
}

/** How long before its expiry a key is listed, in milliseconds. */
const EXPIRES_SOON_MS = 7 * DAY_MS

/** Keys that expire within a week, soonest first. */
export async function expiringKeys(db: Db, now: number): Promise<ExpiringKey[]> {
  const rows = await db.query({
    sql: `select name, account, expires_at from keys where revoked_at is null and paused_at is null
      and expires_at > $1 and expires_at <= $2 order by expires_at, name limit ${MAX_LISTED}`,
    parameters: [now, now + EXPIRES_SOON_MS],
  })
  return rows.map(({ name, account, expires_at: expiresAt }) => ({
    key: String(name),
    account: String(account),
    expiresAt: Number(expiresAt),
  }))
}

export interface LossMaker {
  model: string
  paidNano: number
  costNano: number
}

/** Models whose requests with a known cost earned less than they cost, the greatest loss first. */
export function lossMakers(usedByModel: ReadonlyMap<string, readonly Usage[]>): LossMaker[] {
  return [...usedByModel]
    .map(([model, usages]) => {
      const { costNano, costedNano } = totalUsage(usages)
      return { model, paidNano: costedNano, costNano }
    })
    .filter(({ paidNano, costNano }) => costNano > paidNano)
    .toSorted((one, other) => other.costNano - other.paidNano - (one.costNano - one.paidNano))
    .slice(0, MAX_LISTED)
}
