// Keys and their balances in the forms of other gateways, at the paths that their clients use. A paused key may call this too. It
// must never write, or show another account, or another key of the same account.

import { Type } from '@sinclair/typebox'
import { keyStatusOf } from '../../../accounts/key-json'
import type { Key } from '../../../accounts/keys'
import { Nullable, OneOf } from '../../../api-operation/operation'
import { maybeText, text } from '../../../api-operation/schemas'
import { viewOf } from '../../../api-operation/view'
import { isoTime } from '../../../db/iso-time'
import { NANO_PER_USD } from '../../../lib/money'
import { accountOf, leftNano, type Spend, spendTotals } from '../key-spend'
import { callerOperation } from '../operation'
import { ownKey } from './own-key'

const RESETS = { day: 'daily', week: 'weekly', month: 'monthly' } as const
const number = Type.Number()
const flag = Type.Boolean()

/** The old form of OpenAI, in which the remainder is the limit minus the usage. Both are lifetime totals of the key. */
const subscription = callerOperation(
  Type.Object({
    object: Type.Literal('billing_subscription'),
    has_payment_method: flag,
    soft_limit_usd: number,
    hard_limit_usd: number,
    system_hard_limit_usd: number,
    access_until: Type.Integer({ description: 'Seconds since 1970; 0: no end.' }),
  }),
)({
  ...ownKey,
  id: 'getSubscription',
  // Clients with a base URL that ends with /v1, and those that omit it.
  endpoint: 'GET /v1/dashboard/billing/subscription',
  aliases: ['/dashboard/billing/subscription'],
  summary: 'Most that this key can spend',
  description: 'With what it has spent, for clients that show a balance.',
  async run({ world: { db, now }, key }) {
    const at = now()
    const [left, { totalNano }] = await Promise.all([
      leftNano(db, key, at),
      spendTotals(db, { keyId: key.id }, at),
    ])
    const limit = dollarsOf(left + totalNano)
    return {
      object: 'billing_subscription',
      has_payment_method: true,
      soft_limit_usd: limit,
      hard_limit_usd: limit,
      system_hard_limit_usd: limit,
      access_until: Math.floor((key.expiresAt ?? 0) / 1000),
    }
  },
})

/** Usage in cents. Dates are ignored, as on other gateways: clients subtract the usage from the limit. */
const billingUsage = callerOperation(Type.Object({ object: Type.Literal('list'), total_usage: number }))({
  ...ownKey,
  id: 'getBillingUsage',
  endpoint: 'GET /v1/dashboard/billing/usage',
  aliases: ['/dashboard/billing/usage'],
  summary: 'Cents that this key has spent',
  description: 'Ever. The limit of the subscription less this is what is left.',
  async run({ world: { db, now }, key }) {
    const { totalNano } = await spendTotals(db, { keyId: key.id }, now())
    return { object: 'list', total_usage: (totalNano * 100) / NANO_PER_USD }
  },
})

const credits = callerOperation(
  Type.Object({ data: Type.Object({ total_credits: number, total_usage: number }) }),
)({
  ...ownKey,
  id: 'getCredits',
  endpoint: 'GET /api/v1/credits',
  aliases: [],
  summary: 'Credits of the account',
  description: 'Dollars that it was given, and has spent.',
  async run({ world: { db, now }, key }) {
    const [account, { totalNano }] = await Promise.all([
      accountOf(db, key),
      spendTotals(db, { account: key.account }, now()),
    ])
    const given = dollarsOf(account.balanceNano + totalNano)
    return { data: { total_credits: given, total_usage: dollarsOf(totalNano) } }
  },
})

interface SeenKey {
  key: Key
  leftNano: number
  spend: Spend
  now: number
}
const off = [flag, () => false] as const
const nothing = [number, () => 0] as const
const keyView = viewOf<SeenKey>()({
  label: [text, ({ key }) => key.name],
  limit: [Nullable(number), ({ key }) => (key.budgetNano === null ? null : dollarsOf(key.budgetNano))],
  limit_remaining: [number, ({ leftNano }) => dollarsOf(leftNano)],
  limit_reset: [
    Nullable(OneOf(Object.values(RESETS))),
    ({ key }) => (key.budgetPeriod === null ? null : RESETS[key.budgetPeriod]),
  ],
  include_byok_in_limit: off,
  usage: [number, ({ spend }) => dollarsOf(spend.totalNano)],
  usage_daily: [number, ({ spend }) => dollarsOf(spend.dayNano)],
  usage_weekly: [number, ({ spend }) => dollarsOf(spend.weekNano)],
  usage_monthly: [number, ({ spend }) => dollarsOf(spend.monthNano)],
  byok_usage: nothing,
  byok_usage_daily: nothing,
  byok_usage_weekly: nothing,
  byok_usage_monthly: nothing,
  is_free_tier: off,
  is_management_key: off,
  is_provisioning_key: off,
  creator_user_id: [Type.Null(), () => null],
  expires_at: [maybeText, ({ key }) => isoTime(key.expiresAt)],
  disabled: [flag, ({ key, now }) => keyStatusOf(key, now) !== 'active'],
  // Deprecated in this form, but still expected by clients.
  rate_limit: [
    Type.Object({ requests: Type.Integer({ description: '-1: no limit.' }), interval: text, note: text }),
    ({ key }) => ({ requests: key.requestsPerMinute ?? -1, interval: '1m', note: 'Requests a minute.' }),
  ],
})

const currentKey = callerOperation(Type.Object({ data: keyView.schema }))({
  ...ownKey,
  id: 'getCurrentKey',
  endpoint: 'GET /api/v1/key',
  aliases: ['/api/v1/auth/key'],
  summary: 'This key, for clients of model routers',
  async run({ world: { db, now }, key }) {
    const at = now()
    const [left, spend] = await Promise.all([leftNano(db, key, at), spendTotals(db, { keyId: key.id }, at)])
    return { data: keyView.show({ key, leftNano: left, spend, now: at }) }
  },
})

/** Dollars as the number that these forms have; their clients round it. */
function dollarsOf(amountNano: number): number {
  return amountNano / NANO_PER_USD
}

export const otherGatewayOperations = [subscription, billingUsage, credits, currentKey]
