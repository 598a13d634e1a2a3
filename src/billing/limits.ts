// Limits of keys: requests and tokens a minute, running requests, and budgets a day, week or month. They are conditions
// of the hold, in the same transaction, so they are exact on any number of nodes. Nothing but a request that costs
// nothing, and so has no hold, must ever be counted apart from it.

import { inFlightOnly, needOf, tooLittle } from '../contract/failures'
import { type Db, type Statement, tryApply } from '../db/db'
import { GatewayError } from '../lib/errors'
import { formatUsd } from '../lib/money'
import type { Charge, Condition, Extension } from './ledger'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Limits of a key; null means unlimited. */
export interface KeyLimits {
  id: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  /** Requests that may run at a time. */
  concurrency: number | null
  budgetNano: number | null
  budgetPeriod: BudgetPeriod | null
}

export type BudgetPeriod = 'day' | 'week' | 'month'

/** Whether the key's requests or tokens are counted by the minute. */
export function isCounted(key: KeyLimits): boolean {
  return key.requestsPerMinute !== null || key.tokensPerMinute !== null
}

/** The minute that a charge counts in; null for a key without such a limit. */
export function windowMinuteOf(key: KeyLimits, now: number): number | null {
  return isCounted(key) ? Math.floor(now / MINUTE_MS) : null
}

/** The period whose budget a charge counts in; null for a key without a budget. */
export function budgetPeriodOf(key: KeyLimits, now: number): string | null {
  return key.budgetNano === null ? null : periodOf(key, now).name
}

/** Conditions for a request of this key to start. */
export function conditionsOf(key: KeyLimits, charge: Charge): Condition[] {
  const conditions: Condition[] = []
  if (charge.windowMinute !== null) conditions.push({ name: 'rate', statement: countRequest(key, charge) })
  if (key.concurrency !== null) {
    conditions.push({
      name: 'concurrency',
      statement: {
        // The hold has locked the account's row just before, so two requests of one key cannot both take the last slot.
        sql: `select 1 as free where
          (select count(*) from open_charges where key_id = $1 and expires_at > $2) < $3`,
        parameters: [key.id, charge.createdAt, key.concurrency],
        guard: true,
        columns: { most_running: key.concurrency },
      },
    })
  }
  if (key.budgetNano !== null && charge.budgetPeriod !== null) {
    conditions.push({ name: 'budget', statement: countBudget(key.budgetNano, key, charge) })
  }
  return conditions
}

/**
 * Conditions for a running request of this key to hold more. Its tokens are counted without a condition: as at the first
 * hold, a request that is larger than the limit of a minute goes on.
 */
export function conditionsToExtend(key: KeyLimits, charge: Charge, { amountNano }: Extension): Condition[] {
  if (key.budgetNano === null || charge.budgetPeriod === null) return []
  const statement = countBudget(key.budgetNano, key, { ...charge, heldNano: amountNano })
  return [{ name: 'budget', statement }]
}

/** The error for a condition that was missed, with when to come back. */
export async function refusalOf(
  db: Db,
  name: Condition['name'],
  key: KeyLimits,
  charge: Charge,
  isStep: boolean,
  now: number,
): Promise<GatewayError> {
  if (name === 'concurrency') return tooManyRunning(Number(key.concurrency))
  if (name === 'budget') return budgetSpent(db, key, charge, isStep, now)
  return tooFast(db, key, now)
}

/** The 429 for a key with too many running requests. */
export function tooManyRunning(most: number): GatewayError {
  return tooMany(
    'Throttling.ConcurrencyQuota',
    `This key may have ${most} requests running at a time. Wait for one to end.`,
    { 'retry-after': '1' },
  )
}

/** Counts a request that costs nothing in the key's minute. Throws 429 if the minute is full. */
export async function countFreeRequest(db: Db, key: KeyLimits, now: number): Promise<void> {
  const windowMinute = windowMinuteOf(key, now)
  if (windowMinute === null) return
  if (!(await tryApply(db, [countRequest(key, { windowMinute, windowTokens: 0 })])))
    throw await tooFast(db, key, now)
}

async function tooFast(db: Db, key: KeyLimits, now: number): Promise<GatewayError> {
  const rows = await db.query({
    sql: 'select requests, tokens from rate_windows where key_id = $1 and minute = $2',
    parameters: [key.id, Math.floor(now / MINUTE_MS)],
  })
  const requests = Number(rows[0]?.requests ?? 0)
  const byRequests = key.requestsPerMinute !== null && requests >= key.requestsPerMinute
  const limit = byRequests ? `${key.requestsPerMinute} requests` : `${key.tokensPerMinute} tokens`
  const seconds = secondsToNextMinute(now)
  return tooMany('Throttling.RateQuota', `This key may use ${limit} a minute. Try again in ${seconds} s.`, {
    'retry-after': String(seconds),
    ...rateHeaders(key, requests, Number(rows[0]?.tokens ?? 0), now),
  })
}

/** Rate limit headers, by which OpenAI's clients see how much is left, for a key with limits. */
export async function rateHeadersOf(
  db: Db,
  key: KeyLimits,
  charge: Charge,
  now: number,
): Promise<Record<string, string>> {
  if (charge.windowMinute === null) return {}
  const rows = await db.query({
    sql: 'select requests, tokens from rate_windows where key_id = $1 and minute = $2',
    parameters: [key.id, charge.windowMinute],
  })
  return rateHeaders(key, Number(rows[0]?.requests ?? 0), Number(rows[0]?.tokens ?? 0), now)
}

/** The calendar period, in UTC, that the key's budget counts in. */
export function periodOf(key: KeyLimits, now: number): { name: string; endsAt: number } {
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const name = (at: number, length: number) => new Date(at).toISOString().slice(0, length)
  if (key.budgetPeriod === 'month') return { name: name(now, 7), endsAt: Date.UTC(year, month + 1, 1) }
  const today = Date.UTC(year, month, day)
  if (key.budgetPeriod === 'day') return { name: name(now, 10), endsAt: today + DAY_MS }
  const monday = today - ((date.getUTCDay() + 6) % 7) * DAY_MS
  return { name: `week ${name(monday, 10)}`, endsAt: monday + 7 * DAY_MS }
}

function countRequest(key: KeyLimits, charge: Pick<Charge, 'windowMinute' | 'windowTokens'>): Statement {
  const [mostRequests, mostTokens] = [key.requestsPerMinute ?? NO_LIMIT, key.tokensPerMinute ?? NO_LIMIT]
  return {
    // Tokens are accepted while the minute has any left, so that a request larger than the limit is not refused for
    // ever.
    sql: `insert into rate_windows (key_id, minute, requests, tokens) values ($1, $2, 1, $3)
      on conflict (key_id, minute) do update set requests = rate_windows.requests + 1, tokens = rate_windows.tokens + $3
      where rate_windows.requests < $4 and rate_windows.tokens < $5`,
    parameters: [key.id, charge.windowMinute, charge.windowTokens, mostRequests, mostTokens],
    guard: true,
    columns: { most_requests: mostRequests, most_tokens: mostTokens },
  }
}

function countBudget(budgetNano: number, key: KeyLimits, charge: Charge): Statement {
  return {
    sql: `insert into budgets (key_id, period, committed)
      select cast($1 as text), cast($2 as text), cast($3 as bigint) where cast($3 as bigint) <= cast($4 as bigint)
      on conflict (key_id, period) do update set committed = budgets.committed + cast($3 as bigint)
      where budgets.committed + cast($3 as bigint) <= cast($4 as bigint)`,
    parameters: [key.id, charge.budgetPeriod, charge.heldNano, budgetNano],
    guard: true,
    columns: { most_committed: budgetNano },
  }
}

/** Nano-dollars that the budget of a key has left for a charge; Infinity without a budget. */
export async function budgetLeftNano(
  db: Db,
  { budgetNano }: KeyLimits,
  { keyId, budgetPeriod }: Charge,
): Promise<number> {
  if (budgetNano === null || budgetPeriod === null) return Number.POSITIVE_INFINITY
  const rows = await db.query({
    sql: 'select committed from budgets where key_id = $1 and period = $2',
    parameters: [keyId, budgetPeriod],
  })
  return Math.max(0, budgetNano - Number(rows[0]?.committed ?? 0))
}

async function budgetSpent(
  db: Db,
  key: KeyLimits,
  charge: Charge,
  isStep: boolean,
  now: number,
): Promise<GatewayError> {
  const rows = await db.query({
    sql: `select committed, (select cast(coalesce(sum(held), 0) as bigint) from open_charges
        where key_id = $1 and budget_period = $2) as running
      from budgets where key_id = $1 and period = $2`,
    parameters: [key.id, charge.budgetPeriod],
  })
  const budgetNano = key.budgetNano ?? 0
  const runningNano = Number(rows[0]?.running ?? 0)
  const leftNano = Math.max(0, budgetNano - Number(rows[0]?.committed ?? 0))
  const inFlight = leftNano + runningNano >= charge.heldNano
  const left = `${needOf({ heldNano: charge.heldNano, isStep })}; this key's budget of $${formatUsd(budgetNano)} a ${key.budgetPeriod} has $${formatUsd(leftNano)} left`
  if (inFlight) return inFlightOnly(left, runningNano)
  const renewedAt = new Date(periodOf(key, now).endsAt).toISOString()
  return tooLittle('budget_exceeded', `${left}. It is renewed at ${renewedAt}.`)
}

function tooMany(code: string, message: string, headers: Record<string, string>): GatewayError {
  return new GatewayError(429, { code, message, headers })
}

function rateHeaders(key: KeyLimits, requests: number, tokens: number, now: number): Record<string, string> {
  const headers: Record<string, string> = {}
  const add = (kind: string, limit: number | null, used: number) => {
    if (limit === null) return
    headers[`x-ratelimit-limit-${kind}`] = String(limit)
    headers[`x-ratelimit-remaining-${kind}`] = String(Math.max(0, limit - used))
    headers[`x-ratelimit-reset-${kind}`] = `${secondsToNextMinute(now)}s`
  }
  add('requests', key.requestsPerMinute, requests)
  add('tokens', key.tokensPerMinute, tokens)
  return headers
}

function secondsToNextMinute(now: number): number {
  return Math.ceil((MINUTE_MS - (now % MINUTE_MS)) / 1000)
}

/** The statement that deletes windows that no request can count in any more. */
export function forgetWindows(now: number): Statement {
  return {
    sql: 'delete from rate_windows where minute < $1',
    parameters: [Math.floor((now - DAY_MS) / MINUTE_MS)],
  }
}
