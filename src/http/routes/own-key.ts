// What holders of keys may see of them: GET /v1/me, /v1/usage and /v1/prices, and the paths at which clients of other
// gateways ask for the same. A key that is paused may ask too: the answer says that it is. It must never write, nor
// tell of another account, or of another key of the same account.

import { Elysia } from 'elysia'
import { findAccount } from '../../accounts/accounts'
import { keyStatusOf, keyWithMoneyJson } from '../../accounts/key-json'
import { type Key, mayUse } from '../../accounts/keys'
import { type Balance, bookOf } from '../../billing/ledger/balances'
import { accountPeriodOf, committedNano, periodOf } from '../../billing/ledger/limits'
import {
  budgetUsedNano,
  nameOfUsage,
  totalUsage,
  type UsageDimension,
  usageBy,
  usageDimensionOf,
  usageJson,
} from '../../billing/reports/usage-report'
import { allowanceOf } from '../../billing/selling/allowances'
import { cardOf } from '../../catalogue/model-card'
import { type Catalogue, formsFor, modelsOf } from '../../catalogue/models'
import type { Config } from '../../config/schema'
import type { Model } from '../../contract/family'
import type { Db } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { invalidRequest } from '../../lib/errors'
import { formatUsd, NANO_PER_USD } from '../../lib/money'
import type { System } from '../../lib/system'
import { lastCutOf } from '../../request-log/own-request'
import type { RequestStore } from '../../request-log/request-log'
import { assertKnownQuery } from '../known-query'
import { tolerated } from '../paths'
import { periodOfQuery } from '../query-time'
import { queryOf } from '../target'
import { answerIdentified, type KeyedWorld } from '../with-key'

const DAY_MS = 86_400_000
/** The period of a usage report that names none. */
const DEFAULT_DAYS = 30
const DIMENSIONS: readonly UsageDimension[] = ['model', 'operation', 'day', 'hour']
/** Hours are listed for no longer than this, in days. */
const MAX_HOURLY_DAYS = 31

type OwnKeyWorld = KeyedWorld &
  Pick<System, 'now'> & {
    db: Db
    requestLog: Pick<RequestStore, 'list'>
    catalogue: Catalogue
    readonly config: Pick<Config, 'models'>
  }

export function ownKeyRoutes(world: OwnKeyWorld) {
  const app = new Elysia({ name: 'own-key' })
  const get = (paths: readonly string[], show: (key: Key, request: Request) => Promise<object> | object) => {
    for (const path of paths)
      app.get(path, ({ request }) => answerIdentified(world, request, (key) => show(key, request)))
  }
  get(tolerated('/v1/me'), (key) => describeKey(world, key))
  get(tolerated('/v1/usage'), (key, request) => describeUsage(world, key, queryOf(request)))
  get(tolerated('/v1/prices'), (key) => describeAllPrices(world, key))
  // Clients with a base URL that ends with /v1, and those that leave it away.
  get(['/v1/dashboard/billing/subscription', '/dashboard/billing/subscription'], (key) =>
    describeSubscription(world, key),
  )
  get(['/v1/dashboard/billing/usage', '/dashboard/billing/usage'], (key) => describeTotal(world, key))
  get(['/api/v1/credits'], (key) => describeCredits(world, key))
  get(['/api/v1/key', '/api/v1/auth/key'], (key) => describeCurrentKey(world, key))
  return app
}

async function describeKey({ db, requestLog, config, now }: OwnKeyWorld, key: Key): Promise<object> {
  const at = now()
  const [account, usedNano, accountUsedNano, allowance, spend, cut] = await Promise.all([
    accountOf(db, key),
    budgetUsedNano(db, key, at),
    accountUsed(db, key, at),
    allowanceOf(db, key.account, at),
    spendOf(db, { keyId: key.id }, at),
    lastCutOf(requestLog, key.id, at),
  ])
  return {
    object: 'key',
    ...keyWithMoneyJson(key, account, at),
    models: usableModels(key, Object.keys(config.models)),
    account_display_name: account.displayName,
    plan: key.planName,
    account_budget_usd: key.accountBudget && formatUsd(key.accountBudget.amountNano),
    account_budget_period: key.accountBudget?.period ?? null,
    account_budget_used_usd: accountUsedNano === null ? null : formatUsd(accountUsedNano),
    allowance_usd: allowance ? formatUsd(allowance.amountNano) : null,
    allowance_ends_at: isoTime(allowance?.endsAt ?? null),
    budget_used_usd: key.budgetNano === null ? null : formatUsd(usedNano),
    budget_renewed_at: key.budgetNano === null ? null : isoTime(periodOf(key, at).endsAt),
    last_answer_cut: cut ? { ended_by: 'balance', request: cut.id, at: isoTime(cut.at) } : null,
    spend_usd: {
      today: formatUsd(spend.dayNano),
      this_week: formatUsd(spend.weekNano),
      this_month: formatUsd(spend.monthNano),
      total: formatUsd(spend.totalNano),
    },
  }
}

/** Ids that a key may use by its own list and by its plan; null: all that there are. */
function usableModels(key: Key, known: readonly string[]): string[] | null {
  const ids = key.models ?? known
  const usable = ids.filter((id) => mayUse(key, id))
  return key.models === null && usable.length === known.length ? null : usable
}

async function describeUsage({ db, now }: OwnKeyWorld, key: Key, query: URLSearchParams): Promise<object> {
  assertKnownQuery(query, ['by', 'since', 'until'])
  const at = now()
  const by = usageDimensionOf(query.get('by') ?? 'model')
  if (!by || by === 'key' || by === 'account')
    throw invalidRequest('by', `Invalid 'by'. Supported values are: ${DIMENSIONS.join(', ')}, metadata.NAME.`)
  const period = periodOfQuery(
    { since: query.get('since'), until: query.get('until') },
    at - DEFAULT_DAYS * DAY_MS,
  )
  const { since, until } = period
  if (by === 'hour' && (until ?? at) - since > MAX_HOURLY_DAYS * DAY_MS)
    throw invalidRequest('since', `Hours are listed for ${MAX_HOURLY_DAYS} days at most.`)
  const used = await usageBy(db, by, { ...period, keyId: key.id })
  return {
    object: 'usage',
    since: isoTime(since),
    until: isoTime(until ?? null),
    by,
    rows: used.map((each) => ({ [by]: nameOfUsage(each, by), ...usageJson(each) })),
    total: usageJson(totalUsage(used)),
  }
}

function describeAllPrices({ catalogue }: OwnKeyWorld, key: Key): object {
  const data = modelsOf(catalogue, key).flatMap(({ id }) => {
    const card = cardOf(catalogue, key, id)
    if (!card) return []
    const { operations, pricing, prices } = card
    const route = catalogue.routes.get(id)?.models
    const options = optionsOf((route ?? [id]).flatMap((each) => formsFor(catalogue, key, each)))
    return [{ id, operations, pricing, prices: prices ?? null, options, ...(route && { route }) }]
  })
  return { object: 'list', currency: 'USD', data }
}

/** Fields that a request in plain words may have beside its text, and their values where they are known, by operation. */
function optionsOf(forms: readonly Model[]): Record<string, object> {
  const options: Record<string, object> = {}
  for (const model of forms) {
    const { family, sizes, durations, dimensions, inputModalities } = model
    options[family.operation] ??= {
      fields: family.plain.fields.filter((name) => name !== 'uploads'),
      ...(sizes && { sizes }),
      ...(durations && { durations }),
      ...(dimensions && { dimensions }),
      ...(inputModalities && { input: inputModalities }),
      ...(family.kind === 'speech' && { voices: family.voices(model) }),
    }
  }
  return options
}

/** The old form of OpenAI, in which what is left is the limit less the usage. Both are of the key since ever. */
async function describeSubscription({ db, now }: OwnKeyWorld, key: Key): Promise<object> {
  const at = now()
  const [left, { totalNano }] = await Promise.all([leftNano(db, key, at), spendOf(db, { keyId: key.id }, at)])
  const limit = dollarsOf(left + totalNano)
  return {
    object: 'billing_subscription',
    has_payment_method: true,
    soft_limit_usd: limit,
    hard_limit_usd: limit,
    system_hard_limit_usd: limit,
    access_until: Math.floor((key.expiresAt ?? 0) / 1000),
  }
}

/** Usage in cents. Dates are not read, as on other gateways: clients subtract it from the limit. */
async function describeTotal({ db, now }: OwnKeyWorld, key: Key): Promise<object> {
  const { totalNano } = await spendOf(db, { keyId: key.id }, now())
  return { object: 'list', total_usage: (totalNano * 100) / NANO_PER_USD }
}

async function describeCredits({ db, now }: OwnKeyWorld, key: Key): Promise<object> {
  const [account, { totalNano }] = await Promise.all([
    accountOf(db, key),
    spendOf(db, { account: key.account }, now()),
  ])
  return {
    data: { total_credits: dollarsOf(account.balanceNano + totalNano), total_usage: dollarsOf(totalNano) },
  }
}

const RESETS = { day: 'daily', week: 'weekly', month: 'monthly' } as const

async function describeCurrentKey({ db, now }: OwnKeyWorld, key: Key): Promise<object> {
  const at = now()
  const [left, spend] = await Promise.all([leftNano(db, key, at), spendOf(db, { keyId: key.id }, at)])
  return {
    data: {
      label: key.name,
      limit: key.budgetNano === null ? null : dollarsOf(key.budgetNano),
      limit_remaining: dollarsOf(left),
      limit_reset: key.budgetPeriod === null ? null : RESETS[key.budgetPeriod],
      include_byok_in_limit: false,
      usage: dollarsOf(spend.totalNano),
      usage_daily: dollarsOf(spend.dayNano),
      usage_weekly: dollarsOf(spend.weekNano),
      usage_monthly: dollarsOf(spend.monthNano),
      byok_usage: 0,
      byok_usage_daily: 0,
      byok_usage_weekly: 0,
      byok_usage_monthly: 0,
      is_free_tier: false,
      is_management_key: false,
      is_provisioning_key: false,
      creator_user_id: null,
      expires_at: isoTime(key.expiresAt),
      disabled: keyStatusOf(key, at) !== 'active',
      // Deprecated in this form, and expected by clients all the same: -1 stands for no limit.
      rate_limit: { requests: key.requestsPerMinute ?? -1, interval: '1m', note: 'Requests a minute.' },
    },
  }
}

async function accountOf(db: Db, key: Key) {
  const account = await findAccount(db, key.account)
  if (!account) throw new Error(`key ${key.name} has no account`)
  return account
}

/** The most that a key can spend now: what its account has available, or its budget or that of the account has left. */
async function leftNano(db: Db, key: Key, now: number): Promise<number> {
  const [{ availableNano }, usedNano, accountUsedNano] = await Promise.all([
    accountOf(db, key) satisfies Promise<Balance>,
    budgetUsedNano(db, key, now),
    accountUsed(db, key, now),
  ])
  const left = [availableNano]
  if (key.budgetNano !== null) left.push(key.budgetNano - usedNano)
  if (key.accountBudget) left.push(key.accountBudget.amountNano - (accountUsedNano ?? 0))
  return Math.max(0, Math.min(...left))
}

/** Nano-dollars that are spent or held of the account's budget in its period; null without one. */
async function accountUsed(db: Db, key: Key, now: number): Promise<number | null> {
  const period = accountPeriodOf(key, now)
  return period === null ? null : committedNano(db, bookOf(key.account), period)
}

interface Spend {
  dayNano: number
  weekNano: number
  monthNano: number
  totalNano: number
}

/** Amounts that were paid since the beginnings of this day, week and month in UTC, and since ever. */
async function spendOf(db: Db, of: { keyId?: string; account?: string }, now: number): Promise<Spend> {
  const days = await usageBy(db, 'day', { since: 0, ...of })
  const today = now - (now % DAY_MS)
  const date = new Date(today)
  const since = (at: number) =>
    days.reduce((sum, { name, amountNano }) => (Number(name) >= at ? sum + amountNano : sum), 0)
  return {
    dayNano: since(today),
    weekNano: since(today - ((date.getUTCDay() + 6) % 7) * DAY_MS),
    monthNano: since(Date.UTC(date.getUTCFullYear(), date.getUTCMonth())),
    totalNano: since(0),
  }
}

/** Dollars as the number that these forms have; their clients round it. */
function dollarsOf(amountNano: number): number {
  return amountNano / NANO_PER_USD
}
