// The first steps of a new gateway, and which of them are done: an upstream with a key, a model, a customer, a request, a backup. It
// must never write.

import { lastBackup } from '../backup/schedule'
import { DAY_MS } from '../billing/reports/usage-totals'
import type { Db } from '../db/db'
import type { AdminWorld } from './operation'

export interface FirstSteps {
  upstream: boolean
  model: boolean
  customer: boolean
  request: boolean
  backup: boolean
}

/** How long after its first request a gateway is new, in milliseconds. */
const NEW_MS = 7 * DAY_MS

/** The steps of a new gateway; null once all are done, or the gateway is no longer new. */
export async function firstStepsOf(
  { db, catalogue, config }: Pick<AdminWorld, 'db' | 'catalogue' | 'config'>,
  now: number,
): Promise<FirstSteps | null> {
  const [row] = await db.query({
    sql: `select (select min(start) from usage_totals where span = ${DAY_MS}) as first_day,
      (select count(*) from (select 1 from keys limit 1) as one_key) as customers`,
  })
  const { first_day: firstDay = null, customers = 0 } = row ?? {}
  if (firstDay !== null && now - Number(firstDay) > NEW_MS) return null
  const steps = {
    upstream: catalogue.upstreams.size > 0,
    model: catalogue.models.size > 0,
    customer: Number(customers) > 0,
    request: firstDay !== null || (await hasCharges(db)),
    backup: config.backup !== undefined || (await lastBackup(db)).madeAt > 0,
  }
  return Object.values(steps).every(Boolean) ? null : steps
}

/** Whether anything was ever charged, or is being charged. */
export async function hasCharges(db: Db): Promise<boolean> {
  const rows = await db.query({
    sql: `select 1 as one from (select 1 from ended_charges limit 1) as ended
      union all select 1 from (select 1 from open_charges limit 1) as open_now
      union all select 1 from (select 1 from usage_totals limit 1) as totals`,
  })
  return rows.length > 0
}
