// Limits of keys: requests and tokens per minute, running requests, and budgets per day, week or month, and budgets of the account
// and of a spender of the key. They are conditions of the hold, in the same transaction, so they are exact on any number of nodes.
// Only a free request, which has no hold, may be counted separately.

import { BUDGET_PERIODS, type Budget, type BudgetPeriod } from '../../contract/budgets'
import { describeNeed, inFlightOnly, tooLittle } from '../../contract/failures'
import { type Db, type Statement, tryApply } from '../../db/db'
import type { ErrorCode } from '../../lib/error-codes'
import { GatewayError } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { bookOf } from './balances'
import type { Charge, Condition, Extension, SpenderPeriod } from './ledger'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const NO_LIMIT = Number.MAX_SAFE_INTEGER
/** The period of a budget that never resets. */
const WHOLE_LIFE = 'whole'

/** Limits of a key; null means unlimited. */
export interface KeyLimits {
  id: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  /** Maximum number of concurrent requests. */
  concurrency: number | null
  budgetNano: number | null
  budgetPeriod: BudgetPeriod | null
  /** Shared by all keys of the account. */
  accountBudget: Budget | null
  /** A user of the key with narrower limits; absent for its holder. */
  spender?: SpenderLimits | null
}

/** A token that acts for a key in a browser or as an agent, or a user that requests of a key name. */
export type SpenderKind = 'browser' | 'mcp' | 'user' | 'tag'

/** Limits of a spender, in addition to those of its key; null if it has none. */
export interface SpenderLimits {
  id: string
  kind: SpenderKind
  /** A label, or the name of the spender in requests; null if it has none. */
  name: string | null
  requestsPerMinute: number | null
  budgetNano: number | null
  /** Null: the budget is for its lifetime. */
  budgetPeriod: BudgetPeriod | null
}

/** Whether the key's requests or tokens are counted per minute. */
export function isCounted(key: KeyLimits): boolean {
  return key.requestsPerMinute !== null || key.tokensPerMinute !== null
}

/** The minute that a charge counts toward; null for a key without such a limit. */
export function windowMinuteOf(key: KeyLimits, now: number): number | null {
  return isCounted(key) ? Math.floor(now / MINUTE_MS) : null
}

/** The budget period that a charge counts toward; null for a key without a budget. */
export function budgetPeriodOf(key: KeyLimits, now: number): string | null {
  return key.budgetNano === null ? null : periodOf(key, now).name
}

/** The account's budget period that a charge counts toward; null without a budget. */
export function accountPeriodOf({ accountBudget }: KeyLimits, now: number): string | null {
  return accountBudget && calendarPeriod(accountBudget.period, now).name
}

/** The spender's budget that a charge counts toward; null without a budget. */
export function spenderPeriodOf(
  spender: SpenderLimits | null | undefined,
  now: number,
): SpenderPeriod | null {
  if (!spender || spender.budgetNano === null) return null
  const { id, budgetPeriod } = spender
  return { id, period: budgetPeriod === null ? WHOLE_LIFE : calendarPeriod(budgetPeriod, now).name }
}

/**
 * The budget periods that a past charge counted toward: their counters still exist, whatever the limits of the key, its account and
 * its plan are now. If there are several, the longest one: it applies for the longest time.
 */
export async function countedPeriods(
  db: Db,
  { keyId, account, createdAt }: Pick<Charge, 'keyId' | 'account' | 'createdAt'>,
  spenderId: string | null,
): Promise<Pick<Charge, 'budgetPeriod' | 'accountPeriod' | 'spender'>> {
  const names = BUDGET_PERIODS.map((period) => calendarPeriod(period, createdAt).name).toReversed()
  names.unshift(WHOLE_LIFE)
  const rows = await db.query({
    sql: 'select key_id, period from budgets where key_id in ($1, $2, $3) and period in ($4, $5, $6, $7)',
    parameters: [keyId, bookOf(account), spenderId, ...names],
  })
  const longestOf = (owner: string) =>
    names.find((name) => rows.some(({ key_id, period }) => key_id === owner && period === name)) ?? null
  const period = spenderId === null ? null : longestOf(spenderId)
  return {
    budgetPeriod: longestOf(keyId),
    accountPeriod: longestOf(bookOf(account)),
    spender: spenderId === null || period === null ? null : { id: spenderId, period },
  }
}

/** Conditions for a request of this key to start. */
export function conditionsOf(key: KeyLimits, charge: Charge): Condition[] {
  const conditions: Condition[] = []
  if (charge.windowMinute !== null) conditions.push(countRequest(key, charge))
  if (key.concurrency !== null) {
    conditions.push({
      // The hold has locked the account's row just before, so two requests of one key cannot both take the last slot.
      sql: `select 1 as free where
        (select count(*) from open_charges where key_id = $1 and expires_at > $2) < $3`,
      parameters: [key.id, charge.createdAt, key.concurrency],
      guard: 'concurrency',
      columns: { most_running: key.concurrency },
    })
  }
  conditions.push(...budgetConditions(key, charge, charge.heldNano))
  if (key.spender && key.spender.requestsPerMinute !== null)
    conditions.push(countRequestOf(key.spender, charge.createdAt))
  return conditions
}

/** Conditions for an amount to be within the budgets of the key, of its account and of the spender. */
function budgetConditions(key: KeyLimits, charge: Charge, amountNano: number): Condition[] {
  const { budgetPeriod, accountPeriod = null } = charge
  const conditions: Condition[] = []
  if (key.budgetNano !== null && budgetPeriod !== null) {
    conditions.push({
      ...countBudget(key.id, budgetPeriod, amountNano, key.budgetNano),
      guard: 'budget',
      columns: { most_committed: key.budgetNano },
    })
  }
  if (key.accountBudget && accountPeriod !== null) {
    const { amountNano: most } = key.accountBudget
    conditions.push({
      ...countBudget(bookOf(charge.account), accountPeriod, amountNano, most),
      guard: 'account budget',
      columns: { most_of_account: most },
    })
  }
  const { spender } = charge
  if (spender && key.spender && key.spender.budgetNano !== null) {
    const statement = countBudget(spender.id, spender.period, amountNano, key.spender.budgetNano)
    conditions.push({ ...statement, guard: 'spender budget' })
  }
  return conditions
}

/**
 * Conditions for a running request of this key to extend its hold. Its tokens are counted without a condition: as with the first
 * hold, a request larger than the minute's limit continues.
 */
export function conditionsToExtend(key: KeyLimits, charge: Charge, { amountNano }: Extension): Condition[] {
  return budgetConditions(key, charge, amountNano)
}

/** The error for a condition that was not met, with the time to retry. */
export async function refusalOf(
  db: Db,
  name: Condition['guard'],
  key: KeyLimits,
  charge: Charge,
  isStep: boolean,
  now: number,
): Promise<GatewayError> {
  if (name === 'concurrency') return tooManyRunning(Number(key.concurrency))
  if (name === 'budget' && key.budgetPeriod !== null) {
    const budget = { amountNano: Number(key.budgetNano), period: key.budgetPeriod }
    return budgetSpent(db, { ...budget, owner: key.id, whose: 'this key' }, charge, isStep, now)
  }
  if (name === 'account budget' && key.accountBudget) {
    const owner = bookOf(charge.account)
    return budgetSpent(db, { ...key.accountBudget, owner, whose: 'the account' }, charge, isStep, now)
  }
  const { spender } = key
  if (name === 'spender budget' && spender) {
    const budget = { amountNano: Number(spender.budgetNano), period: spender.budgetPeriod }
    return budgetSpent(db, { ...budget, owner: spender.id, whose: spenderText(spender) }, charge, isStep, now)
  }
  if (name === 'spender rate' && spender)
    return tooFast(db, { ...spender, tokensPerMinute: null }, now, spenderText(spender))
  return tooFast(db, key, now)
}

/** The 429 for a key with too many running requests. */
export function tooManyRunning(most: number): GatewayError {
  return tooMany(
    'Throttling.ConcurrencyQuota',
    `This key may have ${countOfRequests(most)} running at a time. Wait for one to end.`,
    { 'retry-after': '1' },
  )
}

/** Counts a free request in the key's minute. Throws 429 if the minute is full. */
export async function countFreeRequest(db: Db, key: KeyLimits, now: number): Promise<void> {
  const windowMinute = windowMinuteOf(key, now)
  if (windowMinute === null) return
  if (!(await tryApply(db, [countRequest(key, { windowMinute, windowTokens: 0 })], { mayBeLate: true })))
    throw await tooFast(db, key, now)
}

function countOfRequests(count: number): string {
  return `${count} ${count === 1 ? 'request' : 'requests'}`
}

/** How errors name a spender. */
function spenderText({ kind, name }: SpenderLimits): string {
  return kind === 'browser' || kind === 'mcp' ? 'this token' : `${kind} \`${name}\``
}

/** Limits per minute. */
type MinuteLimits = Pick<KeyLimits, 'id' | 'requestsPerMinute' | 'tokensPerMinute'>

async function tooFast(db: Db, key: MinuteLimits, now: number, whose = 'this key'): Promise<GatewayError> {
  const { requests, tokens } = await countedIn(db, key, Math.floor(now / MINUTE_MS))
  const { requestsPerMinute: most, tokensPerMinute } = key
  const isByRequests = most !== null && requests >= most
  const limit = isByRequests ? countOfRequests(most) : `${tokensPerMinute} tokens`
  const seconds = secondsToNextMinute(now)
  const who = `${whose.charAt(0).toUpperCase()}${whose.slice(1)}`
  return tooMany('Throttling.RateQuota', `${who} may use ${limit} a minute. Try again in ${seconds} s.`, {
    'retry-after': String(seconds),
    ...rateHeaders(key, requests, tokens, now),
  })
}

/**
 * Rate limit headers for a key with limits: OpenAI's clients read from them what is left of this minute. An answer may arrive in a
 * later minute than its request, with more left.
 */
export async function rateHeadersOf(db: Db, key: KeyLimits, now: number): Promise<Record<string, string>> {
  const windowMinute = windowMinuteOf(key, now)
  if (windowMinute === null) return {}
  const { requests, tokens } = await countedIn(db, key, windowMinute)
  return rateHeaders(key, requests, tokens, now)
}

async function countedIn(
  db: Db,
  key: MinuteLimits,
  windowMinute: number,
): Promise<{ requests: number; tokens: number }> {
  const rows = await db.query({
    sql: 'select requests, tokens from rate_windows where key_id = $1 and minute = $2',
    parameters: [key.id, windowMinute],
  })
  return { requests: Number(rows[0]?.requests ?? 0), tokens: Number(rows[0]?.tokens ?? 0) }
}

/** The calendar period, in UTC, that the key's budget counts in. */
export function periodOf({ budgetPeriod }: Pick<KeyLimits, 'budgetPeriod'>, now: number): CalendarPeriod {
  return calendarPeriod(budgetPeriod, now)
}

/** A period of the calendar: its name, and when it begins and ends, in milliseconds since 1970. */
interface CalendarPeriod {
  name: string
  beginsAt: number
  endsAt: number
}

/** The day, week or month of the calendar at a time, in UTC. */
export function calendarPeriod(period: BudgetPeriod | null, now: number): CalendarPeriod {
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const name = (at: number, length: number) => new Date(at).toISOString().slice(0, length)
  if (period === 'month') {
    return { name: name(now, 7), beginsAt: Date.UTC(year, month), endsAt: Date.UTC(year, month + 1) }
  }
  const today = Date.UTC(year, month, day)
  if (period === 'day') return { name: name(now, 10), beginsAt: today, endsAt: today + DAY_MS }
  const monday = today - ((date.getUTCDay() + 6) % 7) * DAY_MS
  return { name: `week ${name(monday, 10)}`, beginsAt: monday, endsAt: monday + 7 * DAY_MS }
}

function countRequest(key: MinuteLimits, charge: Pick<Charge, 'windowMinute' | 'windowTokens'>): Condition {
  const [mostRequests, mostTokens] = [key.requestsPerMinute ?? NO_LIMIT, key.tokensPerMinute ?? NO_LIMIT]
  return {
    // Tokens are accepted as long as the minute has any left, so that a request larger than the limit is not refused permanently.
    sql: `insert into rate_windows (key_id, minute, requests, tokens) values ($1, $2, 1, $3)
      on conflict (key_id, minute) do update set requests = rate_windows.requests + 1, tokens = rate_windows.tokens + $3
      where rate_windows.requests < $4 and rate_windows.tokens < $5`,
    parameters: [key.id, charge.windowMinute, charge.windowTokens, mostRequests, mostTokens],
    guard: 'rate',
    columns: { most_requests: mostRequests, most_tokens: mostTokens },
  }
}

/** Counts a request in the minute of a spender. */
function countRequestOf({ id, requestsPerMinute }: SpenderLimits, now: number): Condition {
  const limits = { id, requestsPerMinute, tokensPerMinute: null }
  const counted = { windowMinute: Math.floor(now / MINUTE_MS), windowTokens: 0 }
  const { sql, parameters = [] } = countRequest(limits, counted)
  return { sql, parameters, guard: 'spender rate' }
}

/** Commits an amount in the budget of a key or a spender by its id, or of an account by its book. */
function countBudget(owner: string, period: string, amountNano: number, mostNano: number): Statement {
  return {
    sql: `insert into budgets (key_id, period, committed)
      select cast($1 as text), cast($2 as text), cast($3 as bigint) where cast($3 as bigint) <= cast($4 as bigint)
      on conflict (key_id, period) do update set committed = budgets.committed + cast($3 as bigint)
      where budgets.committed + cast($3 as bigint) <= cast($4 as bigint)`,
    parameters: [owner, period, amountNano, mostNano],
  }
}

/** Nano-dollars that the budgets of a key, its account and a spender have left for a charge; Infinity without a budget. */
export async function budgetLeftNano(
  db: Db,
  { budgetNano, accountBudget, spender: limits }: KeyLimits,
  { account, keyId, budgetPeriod, accountPeriod = null, spender }: Charge,
): Promise<number> {
  const left = await Promise.all([
    leftOf(db, keyId, budgetPeriod, budgetNano),
    leftOf(db, bookOf(account), accountPeriod, accountBudget?.amountNano ?? null),
    spender ? leftOf(db, spender.id, spender.period, limits?.budgetNano ?? null) : Number.POSITIVE_INFINITY,
  ])
  return Math.min(...left)
}

async function leftOf(
  db: Db,
  owner: string,
  period: string | null,
  mostNano: number | null,
): Promise<number> {
  if (mostNano === null || period === null) return Number.POSITIVE_INFINITY
  return Math.max(0, mostNano - (await committedNano(db, owner, period)))
}

/** Nano-dollars that a key or a spender (by id) or an account (by book) has spent or holds in a period. */
export async function committedNano(db: Db, owner: string, period: string): Promise<number> {
  const rows = await db.query({
    sql: 'select committed from budgets where key_id = $1 and period = $2',
    parameters: [owner, period],
  })
  return Number(rows[0]?.committed ?? 0)
}

/** A budget with its owner: a key or a spender by id, or an account by its book. Without a period it never resets. */
interface SpentBudget {
  owner: string
  whose: string
  amountNano: number
  period: BudgetPeriod | null
}

async function budgetSpent(
  db: Db,
  { owner, whose, amountNano, period }: SpentBudget,
  charge: Charge,
  isStep: boolean,
  now: number,
): Promise<GatewayError> {
  const [running] = await db.query(runningIn(owner, charge))
  const current = period && calendarPeriod(period, now)
  const runningNano = Number(running?.running ?? 0)
  const leftNano = Math.max(0, amountNano - (await committedNano(db, owner, current?.name ?? WHOLE_LIFE)))
  const inFlight = leftNano + runningNano >= charge.heldNano
  const each = period ? ` a ${period}` : ''
  const left = `${describeNeed({ heldNano: charge.heldNano, isStep })}; ${whose}'s budget of $${formatUsd(amountNano)}${each} has $${formatUsd(leftNano)} left`
  if (inFlight) return inFlightOnly(left, runningNano)
  const renewal = current
    ? `It is renewed at ${new Date(current.endsAt).toISOString()}.`
    : 'It is not renewed.'
  return tooLittle('budget_exceeded', `${left}. ${renewal}`)
}

/** The query for the amount that running requests hold of the budget of an owner that a charge counts toward. */
function runningIn(
  owner: string,
  { account, keyId, budgetPeriod, accountPeriod = null, spender }: Charge,
): Statement {
  const sum = 'select cast(coalesce(sum(held), 0) as bigint) as running from open_charges'
  if (owner === keyId)
    return { sql: `${sum} where key_id = $1 and budget_period = $2`, parameters: [keyId, budgetPeriod] }
  if (owner === spender?.id)
    return {
      sql: `${sum} where key_id = $1 and spender = $2 and spender_period = $3`,
      parameters: [keyId, spender.id, spender.period],
    }
  return { sql: `${sum} where account = $1 and account_period = $2`, parameters: [account, accountPeriod] }
}

function tooMany(code: ErrorCode, message: string, headers: Record<string, string>): GatewayError {
  return new GatewayError(429, { code, message, headers })
}

function rateHeaders(
  key: MinuteLimits,
  requests: number,
  tokens: number,
  now: number,
): Record<string, string> {
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

/** The statement that deletes expired windows. */
export function forgetWindows(now: number): Statement {
  return {
    sql: 'delete from rate_windows where minute < $1',
    parameters: [Math.floor((now - DAY_MS) / MINUTE_MS)],
  }
}
