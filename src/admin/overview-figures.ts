// The state of a gateway at a glance: figures of a period by hour or day, open holds and tasks, and everything that needs
// attention. Money comes from the charges, times from the figures of requests. It must never write.

import { fullAccounts, fullKeys } from '../billing/ledger/full-budgets'
import { totalUsage, type Usage, usageBy } from '../billing/reports/usage-report'
import type { Catalogue } from '../catalogue/models'
import { type EndingModel, endingBefore, remindBefore } from '../catalogue/retirement'
import type { Budget } from '../contract/budgets'
import type { Db, Row, Statement } from '../db/db'
import { requestsOf } from '../events/retirements'
import { PARTIES, type Party } from '../request-log/failure'
import { DurationCounts, figuresBetween, type RequestFigures } from '../request-log/figures'
import { lossMakers } from './attention-figures'

export interface Period {
  since: number
  until: number
}

/** Figures of the requests that ended in a time span, at an upstream, or for a model. */
export interface Speed {
  requests: number
  failed: number
  /** Milliseconds to the first byte of successful answers, and to the last; null without successful answers. */
  firstByteP50Ms: number | null
  firstByteP99Ms: number | null
  durationP50Ms: number | null
  durationP99Ms: number | null
  /** Failed requests by cause. */
  failedBy: Record<Party, number>
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longer periods are shown by day. */
const MAX_HOURS = 96
/** Models that a chart shows separately; the others are merged. */
const MAX_MODELS = 6
export const OTHERS = 'others'

export function spanOf({ since, until }: Period): number {
  return until - since > MAX_HOURS * HOUR_MS ? DAY_MS : HOUR_MS
}

/** The beginnings of all spans of a period. */
export function spanStarts(period: Period): number[] {
  const spanMs = spanOf(period)
  const first = period.since - (period.since % spanMs)
  return Array.from(
    { length: Math.ceil((period.until - first) / spanMs) },
    (_, index) => first + index * spanMs,
  )
}

/** The previous period: equally long, and earlier by whole spans, so that each of its spans can be compared with one of the period. */
export function periodBefore(period: Period): Period {
  const spanMs = spanOf(period)
  const shiftMs = Math.ceil((period.until - period.since) / spanMs) * spanMs
  return { since: period.since - shiftMs, until: period.until - shiftMs }
}

/** Money by span and model: the most expensive models, and the others together. */
export async function spendOf(db: Db, { since, until }: Period) {
  const by = spanOf({ since, until }) === DAY_MS ? 'day' : 'hour'
  const used = await usageBy(db, by, { since, until }, 'model')
  const byModel = Map.groupBy(used, ({ second }) => second ?? '')
  const paid = (usages: readonly Usage[]) => totalUsage(usages).amountNano
  const models = [...byModel]
    .toSorted(([, one], [, other]) => paid(other) - paid(one))
    .map(([model]) => model)
  const shown = models.slice(0, MAX_MODELS)
  const sums = new Map<string, number>()
  for (const { name, second = '', amountNano } of used) {
    const key = `${name}\n${shown.includes(second) ? second : OTHERS}`
    sums.set(key, (sums.get(key) ?? 0) + amountNano)
  }
  return {
    total: totalUsage(used),
    lossMakers: lossMakers(byModel),
    models: models.length > shown.length ? [...shown, OTHERS] : shown,
    amountNano: (span: number, model: string) => sums.get(`${span}\n${model}`) ?? 0,
    totalNano: (span: number) =>
      used.reduce((sum, { name, amountNano }) => sum + (Number(name) === span ? amountNano : 0), 0),
  }
}

/** Speed and failures of a period, in total and by span, upstream and model. */
export async function speedsOf(db: Db, period: Period) {
  const spanMs = spanOf(period)
  const figures = await figuresBetween(db, period.since, period.until)
  const groups = (nameOf: (each: RequestFigures) => string | number) => {
    const speeds = [...Map.groupBy(figures, nameOf)].map(
      ([name, some]) => [String(name), speedOf(some)] as const,
    )
    return new Map(speeds)
  }
  return {
    total: speedOf(figures),
    bySpan: groups(({ hour }) => hour - (hour % spanMs)),
    byUpstream: groups(({ upstream }) => upstream),
    byModel: groups(({ model }) => model),
  }
}

export function speedOf(figures: readonly RequestFigures[]): Speed {
  const firstBytes = DurationCounts.none()
  const durations = DurationCounts.none()
  let requests = 0
  let failed = 0
  const failedBy = { vendor: 0, gateway: 0, caller: 0 }
  for (const each of figures) {
    requests += each.requests
    failed += each.failed
    for (const party of PARTIES) failedBy[party] += each.failedBy[party]
    firstBytes.addAll(each.firstBytes)
    durations.addAll(each.durations)
  }
  return {
    requests,
    failed,
    firstByteP50Ms: firstBytes.percentile(0.5),
    firstByteP99Ms: firstBytes.percentile(0.99),
    durationP50Ms: durations.percentile(0.5),
    durationP99Ms: durations.percentile(0.99),
    failedBy,
  }
}

/** Holds and tasks that are open at this moment. */
export async function openNow(
  db: Db,
): Promise<{ heldNano: number; holds: number; tasks: number; unknownTasks: number }> {
  const [row = {}] = await db.query({
    sql: `select (select count(*) from open_charges) as holds,
      (select cast(coalesce(sum(held), 0) as bigint) from open_charges) as held,
      (select count(*) from tasks where state = 'submitted') as tasks,
      (select count(*) from tasks where state = 'submitted' and upstream_id is null and error_code = 'unknown') as unknown_tasks`,
  })
  const count = (name: string) => Number((row as Row)[name] ?? 0)
  return {
    heldNano: count('held'),
    holds: count('holds'),
    tasks: count('tasks'),
    unknownTasks: count('unknown_tasks'),
  }
}

interface LowBalance {
  account: string
  availableNano: number
  /** How long it lasts at the rate of the last hour, in hours; null if nothing was spent in it. */
  hoursLeft: number | null
}

/** A balance is low if it lasts no longer than this at the rate of the last day, in hours. */
const LOW_HOURS = 48
const MAX_LISTED = 20

/** Accounts whose balance ends soon at the rate of the last day, the first to end first. */
export async function lowBalances(db: Db, now: number): Promise<LowBalance[]> {
  const spent = await spentSince(db, now - DAY_MS, now)
  const most = Math.max(0, ...spent.values()) * (LOW_HOURS / 24)
  if (most === 0) return []
  const rows = await db.query({
    sql: `select name, balance - held as available from accounts
      where balance - held < $1 order by balance - held`,
    parameters: [Math.ceil(most)],
  })
  const low = rows
    .map((row) => ({ account: row.name as string, availableNano: row.available as number }))
    .map((each) => ({ ...each, days: each.availableNano / (spent.get(each.account) ?? 0) }))
    .filter(({ account, days }) => spent.has(account) && days < LOW_HOURS / 24)
    .toSorted((one, other) => one.days - other.days)
    .slice(0, MAX_LISTED)
  if (low.length === 0) return []
  const spentLately = await spentSince(db, now - HOUR_MS, now)
  return low.map(({ account, availableNano }) => {
    const hourlyNano = spentLately.get(account)
    return { account, availableNano, hoursLeft: hourlyNano === undefined ? null : availableNano / hourlyNano }
  })
}

/** Spend of each account since a time, in nano-dollars, without those that spent nothing. */
async function spentSince(db: Db, since: number, until: number): Promise<ReadonlyMap<string, number>> {
  const used = await usageBy(db, 'account', { since, until })
  return new Map(
    used.flatMap(({ name, amountNano }) => (amountNano > 0 ? [[name, amountNano] as const] : [])),
  )
}

/** A budget that is full, of a key or of an account, with the key's or the account's name. */
export type FullBudget = ReturnType<typeof fullBudgetOfRow>

function fullBudgetOfRow(row: Row) {
  return {
    name: row.name as string,
    /** The plan of the budget; null if it is the account's or the key's own. */
    plan: (row.plan ?? null) as string | null,
    period: row.budget_period as string,
    committedNano: row.committed as number,
    budgetNano: row.budget as number,
  }
}

/** The share of a budget from which it needs attention, in percent. */
const FULL_PERCENT = 90

/** A model that its vendor has retired or retires soon, and that requests still use. */
export interface EndingUse extends EndingModel {
  /** Requests of the last 30 days. */
  requests: number
}

/** The models in use that were retired or retire within 30 days, soonest first. */
export async function endingInUse(db: Db, catalogue: Catalogue, now: number): Promise<EndingUse[]> {
  const ending = endingBefore(catalogue.models.values(), remindBefore(now))
  if (ending.length === 0) return []
  const used = await requestsOf(
    db,
    ending.map(({ id }) => id),
    now,
  )
  return ending
    .flatMap((model) => (used.has(model.id) ? [{ ...model, requests: used.get(model.id) ?? 0 }] : []))
    .slice(0, MAX_LISTED)
}

/** Keys that have spent or hold at least nine tenths of their budget, the fullest first. */
export function keysAtLimit(db: Db, now: number): Promise<FullBudget[]> {
  return fullestOf(db, fullKeys({ percent: FULL_PERCENT, now }))
}

/** Accounts that have spent or hold at least nine tenths of their budget, their own or otherwise that of their plan. */
export function accountsAtLimit(
  db: Db,
  ofPlans: ReadonlyMap<string, Budget>,
  now: number,
): Promise<FullBudget[]> {
  return fullestOf(db, fullAccounts(ofPlans, { percent: FULL_PERCENT, now }))
}

async function fullestOf(db: Db, { sql, parameters = [] }: Statement): Promise<FullBudget[]> {
  const rows = await db.query({
    sql: `select * from (${sql}) full_ones order by committed * 1.0 / budget desc, name limit ${MAX_LISTED}`,
    parameters,
  })
  return rows.map(fullBudgetOfRow)
}

/** Webhooks of tasks that were given up in a period. */
export async function failedWebhooks(db: Db, since: number): Promise<number> {
  const [row] = await db.query({
    sql: `select count(*) as failed from webhooks where recipient is null and state = 'failed' and created_at >= $1`,
    parameters: [since],
  })
  return Number(row?.failed ?? 0)
}
