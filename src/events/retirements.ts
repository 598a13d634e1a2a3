// Models that requests still use and that their vendors retire soon: an event 30 days, 7 days and one day before. It reads totals;
// requests must never wait for it.

import { DAY_MS } from '../billing/reports/usage-totals'
import type { Model } from '../contract/family'
import { apply, type Db, type Statement } from '../db/db'
import { isoTime } from '../db/iso-time'
import { noteCondition } from './conditions'

/** Days before the retirement of a model at which an event is sent, fewest first. */
const STEPS = [1, 7, 30]
/** Models that nobody has used for this time are omitted. */
const USED_WITHIN_MS = 30 * DAY_MS

type Ending = Pick<Model, 'id' | 'retirement'>

/** Notes the models that end soon and that requests have named in the last 30 days. */
export async function watchRetirements(
  db: Db,
  models: Iterable<readonly Ending[]>,
  now: number,
): Promise<void> {
  const ending = [...models].flatMap(([model]) => (model && stepOf(model, now) !== undefined ? [model] : []))
  if (ending.length === 0) return
  const requests = await requestsOf(
    db,
    ending.map(({ id }) => id),
    now,
  )
  const seen = ending.flatMap((model) => noteOf(model, requests.get(model.id) ?? 0, now))
  if (seen.length > 0) await apply(db, seen)
}

/** The step that a model has reached; undefined if it does not end soon, or has ended. */
function stepOf({ retirement }: Ending, now: number): number | undefined {
  if (!retirement || retirement.at <= now) return undefined
  return STEPS.find((days) => retirement.at - now <= days * DAY_MS)
}

function noteOf(model: Ending, requests: number, now: number): Statement[] {
  const step = stepOf(model, now)
  if (step === undefined || !model.retirement || requests === 0) return []
  const { at, successor = null } = model.retirement
  const details = { model: model.id, retires_at: isoTime(at), successor, requests_30d: requests }
  // Each step is a separate condition, which lasts until the model has ended: it is reported once.
  const subject = `${model.id}, ${step} ${step === 1 ? 'day' : 'days'}`
  return [noteCondition({ type: 'model.retiring', subject, account: null, details }, now, at - now)]
}

/** The number of requests of each model in the last 30 days. */
export async function requestsOf(
  db: Db,
  models: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const places = models.map((_, index) => `$${index + 3}`)
  const rows = await db.query({
    sql: `select s.model, cast(sum(t.requests) as bigint) as requests
      from usage_totals t join charge_series s on s.id = t.series
      where t.span = $1 and t.start >= $2 and s.model in (${places.join(', ')}) group by s.model`,
    parameters: [DAY_MS, now - (now % DAY_MS) - USED_WITHIN_MS, ...models],
  })
  return new Map(rows.map(({ model, requests }) => [model as string, Number(requests)]))
}
