// Makes the paths at which holders of keys look at their own key: what it may do, has spent and can spend, and prices.

import { query } from './described'
import { errorAnswers } from './errors'
import { headerOf, type Schema } from './schema'

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const number = { type: 'number' }
const maybeText = { type: ['string', 'null'] }
const maybeCount = { type: ['integer', 'null'] }
const dollars = { type: 'string', description: 'Dollars.' }
const object = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
})

const money = { balance_usd: dollars, held_usd: dollars, available_usd: dollars }
const me = object({
  object: { const: 'key' },
  id: text,
  name: text,
  account: text,
  hint: text,
  status: { enum: ['active', 'paused', 'expired', 'revoked'] },
  models: { type: ['array', 'null'], items: text, description: 'What it may use; null: all.' },
  requests_per_minute: maybeCount,
  tokens_per_minute: maybeCount,
  concurrency: maybeCount,
  budget_usd: maybeText,
  budget_period: maybeText,
  expires_at: maybeText,
  paused_at: maybeText,
  revoked_at: maybeText,
  created_at: text,
  ...money,
  account_status: { enum: ['open', 'frozen', 'closed'] },
  account_display_name: maybeText,
  budget_used_usd: maybeText,
  budget_renewed_at: maybeText,
  spend_usd: object({ today: dollars, this_week: dollars, this_month: dollars, total: dollars }),
})
const used = {
  requests: count,
  running: count,
  released: count,
  counted: count,
  estimated: count,
  amount_usd: dollars,
  shortfall_usd: dollars,
}
const usage = object({
  object: { const: 'usage' },
  since: text,
  until: maybeText,
  by: text,
  rows: { type: 'array', items: object(used) },
  total: object(used),
})
const prices = object({
  object: { const: 'list' },
  currency: { const: 'USD' },
  data: {
    type: 'array',
    items: object({ id: text, operations: { type: 'array', items: text }, pricing: { type: 'object' } }),
  },
})
const subscription = object({
  object: text,
  has_payment_method: { type: 'boolean' },
  soft_limit_usd: number,
  hard_limit_usd: number,
  system_hard_limit_usd: number,
  access_until: count,
})
const credits = object({ data: object({ total_credits: number, total_usage: number }) })
const currentKey = object({
  data: object({
    label: text,
    limit: { type: ['number', 'null'] },
    limit_remaining: number,
    limit_reset: maybeText,
    usage: number,
    usage_daily: number,
    usage_weekly: number,
    usage_monthly: number,
    is_free_tier: { type: 'boolean' },
    expires_at: maybeText,
    rate_limit: object({ requests: { type: 'integer' }, interval: text }),
  }),
})

const dates = [
  query('since', 'From this time in UTC, such as `2026-10-01`. Default: 30 days ago.', text),
  query('until', 'Before this time.', text),
  query('by', 'What to sum by. Default `model`.', {
    type: 'string',
    enum: ['model', 'operation', 'day', 'hour'],
  }),
]

/** One GET of these paths, which differ in what they answer alone. */
function get(operationId: string, summary: string, schema: Schema, more: object = {}) {
  return {
    get: {
      operationId,
      tags: ['Keys'],
      summary,
      ...more,
      responses: {
        '200': {
          description: 'As it stands now.',
          headers: { 'x-request-id': headerOf('x-request-id') },
          content: { 'application/json': { schema } },
        },
        ...errorAnswers(['always', 'badAddress'], ['openai']),
      },
    },
  }
}

export const ownKeyPaths = {
  '/v1/me': get('getMe', 'This key: its limits, what it has spent, and what its account has', me),
  '/v1/usage': get('getUsage', 'Requests of this key, and what was paid for them', usage, {
    parameters: dates,
  }),
  '/v1/prices': get('getPrices', 'Prices of the models that this key may use', prices),
  '/v1/dashboard/billing/subscription': get(
    'getSubscription',
    'The most that this key can spend with what it has spent, for clients that show a balance',
    subscription,
    { 'x-aliases': ['/dashboard/billing/subscription'] },
  ),
  '/v1/dashboard/billing/usage': get(
    'getBillingUsage',
    'Cents that this key has spent since ever: the limit of the subscription less this is what is left',
    object({ object: text, total_usage: number }),
    { 'x-aliases': ['/dashboard/billing/usage'] },
  ),
  '/api/v1/credits': get('getCredits', 'Dollars that the account was given, and has spent', credits),
  '/api/v1/key': get(
    'getCurrentKey',
    'This key, in the form that clients of model routers read',
    currentKey,
    {
      'x-aliases': ['/api/v1/auth/key'],
    },
  ),
}
