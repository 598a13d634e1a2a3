// Makes the paths at which holders of keys look at their own key: what it may do, has spent and can spend, and prices.

import { id, query } from './described'
import { errorAnswers, notFoundAnswer } from './error-pages'
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
  plan: maybeText,
  account_budget_usd: maybeText,
  account_budget_period: maybeText,
  account_budget_used_usd: maybeText,
  allowance_usd: maybeText,
  allowance_ends_at: maybeText,
  budget_used_usd: maybeText,
  budget_renewed_at: maybeText,
  last_answer_cut: {
    type: ['object', 'null'],
    required: ['ended_by', 'request', 'at'],
    properties: { ended_by: { const: 'balance' }, request: text, at: text },
    description:
      'The last answer of a day, if it was a stream that ended early because no more could be held.',
  },
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

const ownRequest = object({
  id: text,
  at: text,
  operation: text,
  model: maybeText,
  stream: { type: 'boolean' },
  status: count,
  error_code: maybeText,
  first_byte_ms: maybeCount,
  duration_ms: maybeCount,
  input_tokens: maybeCount,
  output_tokens: maybeCount,
  held_usd: maybeText,
  amount_usd: maybeText,
  usage_source: maybeText,
  ended_by: maybeText,
})
const ownCharge = object({
  id: text,
  state: { enum: ['held', 'settled', 'released'] },
  held_usd: dollars,
  amount_usd: dollars,
  usage: {},
  usage_source: maybeText,
  ended_by: maybeText,
  created_at: maybeText,
  ended_at: maybeText,
})
const ownTask = object({
  id: text,
  state: text,
  model: text,
  progress: { type: ['number', 'null'] },
  held_usd: dollars,
  amount_usd: dollars,
  error: { type: ['object', 'null'] },
  webhook_url: maybeText,
  created_at: text,
  ended_at: maybeText,
  deadline_at: text,
})
const ownHold = object({
  id: text,
  model: text,
  operation: text,
  held_usd: dollars,
  created_at: text,
  expires_at: text,
})
const ownArtifact = object({
  id: text,
  request: { ...text, description: 'The request that has made it.' },
  content_type: text,
  bytes: count,
  created_at: text,
  expires_at: { ...text, description: 'When it is deleted, or sooner if the gateway needs the room.' },
  url: { ...text, description: 'Where it can be read until then, without a key.' },
})
const pageOf = (rows: Schema) =>
  object({ object: { const: 'list' }, data: { type: 'array', items: rows }, next: maybeText })
const pages = [
  query('limit', 'Rows on a page.', { type: 'integer', minimum: 1, maximum: 200, default: 50 }),
  query('after', 'The page after another one, by its `next`.', text),
]
const quote = object({
  object: { const: 'quote' },
  operation: text,
  model: text,
  most_usd: {
    ...dollars,
    description: 'The most that it can cost, in dollars. What is paid is what was used.',
  },
  quantities: { type: 'object', description: 'The most that it can use, by unit.' },
  prices: { type: 'object', description: 'Dollars for one of each unit.' },
})
const quoteReply = {
  ...quote,
  properties: {
    ...(quote.properties as Record<string, Schema>),
    body: { type: 'object', description: 'The request to send, for one in plain words.' },
  },
}
const quoteBody = {
  type: 'object',
  required: ['path', 'body'],
  properties: {
    path: { ...text, description: 'Where the request would be sent, such as `/v1/chat/completions`.' },
    body: { type: 'object', description: 'The request as it would be sent.' },
    plain: {
      type: 'boolean',
      default: false,
      description:
        'Whether the body is in plain words: `prompt`, and of `n`, `size`, `quality`, `resolution`, `duration` and `images` what `options` of `/v1/prices` names. The answer has the `body` to send.',
    },
  },
}
const quoteExample = {
  path: '/v1/chat/completions',
  body: { model: 'fast', messages: [{ role: 'user', content: 'Hello!' }] },
}

/** One GET of these paths, which differ in what they answer alone. */
function describedGet(operationId: string, summary: string, schema: Schema, more: object = {}) {
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

function withMissing({ get }: ReturnType<typeof describedGet>, what: 'request' | 'task', id: string) {
  const missing = notFoundAnswer(`${what}_not_found`, `There is no ${what} \`${id}\` of this key.`)
  return { get: { ...get, responses: { ...get.responses, '404': missing } } }
}

/** One POST without a body that makes a new secret. */
function renew(operationId: string, summary: string, schema: Schema) {
  return { post: describedGet(operationId, summary, schema).get }
}

export const ownKeyPaths = {
  '/v1/me': describedGet('getMe', 'This key: its limits, what it has spent, and what its account has', me),
  '/v1/usage': describedGet('getUsage', 'Requests of this key, and what was paid for them', usage, {
    parameters: dates,
  }),
  '/v1/prices': describedGet('getPrices', 'Prices of the models that this key may use', prices),
  '/v1/requests': describedGet(
    'listOwnRequests',
    'Requests of this key, the last that ended first',
    pageOf(ownRequest),
    {
      parameters: [
        query(
          'status',
          'A status such as `429`, a class such as `5xx`, or `failed`: those from 400 on, and streams that broke after 200.',
          text,
        ),
        query('model', 'Only those of this model.', text),
        query('operation', 'Only this operation, such as `chat`.', text),
        query('since', 'From this time in UTC, such as `2026-10-01`.', text),
        query('until', 'Before this time.', text),
        ...pages,
      ],
    },
  ),
  '/v1/requests/{id}': withMissing(
    describedGet(
      'getOwnRequest',
      'A request of this key, with what was held and paid for it',
      object({
        object: { const: 'request' },
        id: text,
        request: { oneOf: [ownRequest, { type: 'null' }] },
        charges: { type: 'array', items: ownCharge },
        task: { oneOf: [ownTask, { type: 'null' }] },
      }),
      { parameters: [id('The id of the request, as its header `x-request-id` had it.')] },
    ),
    'request',
    'req_1',
  ),
  '/v1/tasks': describedGet('listOwnTasks', 'Video tasks of this key, newest first', pageOf(ownTask), {
    parameters: [
      query('state', 'Only tasks in this state.', { enum: ['submitted', 'succeeded', 'failed'] }),
      ...pages,
    ],
  }),
  '/v1/tasks/{id}': withMissing(
    describedGet('getOwnTask', 'A video task of this key, with what is held or paid for it', ownTask, {
      parameters: [id('The id of the task, or that of the vendor.')],
    }),
    'task',
    'video_1',
  ),
  '/v1/holds': describedGet(
    'listOwnHolds',
    'What is held for requests of this key that have not ended',
    object({ object: { const: 'list' }, data: { type: 'array', items: ownHold } }),
  ),
  '/v1/artifacts': describedGet(
    'listOwnArtifacts',
    'Pictures, videos and sounds of this key that are kept, newest first',
    pageOf(ownArtifact),
    { parameters: [query('request', 'Only those of this request.', text), ...pages] },
  ),
  '/v1/quotes': {
    post: {
      operationId: 'createQuote',
      tags: ['Keys'],
      summary: 'The most that a request can cost, before it is sent',
      requestBody: {
        required: true,
        content: { 'application/json': { schema: quoteBody, examples: { chat: { value: quoteExample } } } },
      },
      responses: {
        '200': {
          description: 'What would be held for it, at most. Nothing is.',
          headers: { 'x-request-id': headerOf('x-request-id') },
          content: { 'application/json': { schema: quoteReply } },
        },
        ...errorAnswers(['always', 'withBody'], ['openai']),
      },
    },
  },
  '/v1/me/roll': renew(
    'rollOwnKey',
    'Replace the secret of this key. The old one is refused at once',
    object({ object: { const: 'key_secret' }, name: text, key: text }),
  ),
  '/v1/me/roll-webhook': renew(
    'rollOwnWebhookSecret',
    'Replace the secret that signs the webhooks of this key. The old one signs too for a day',
    object({ object: { const: 'webhook_secret' }, name: text, webhook_secret: text, old_until: text }),
  ),
  '/v1/dashboard/billing/subscription': describedGet(
    'getSubscription',
    'The most that this key can spend with what it has spent, for clients that show a balance',
    subscription,
    { 'x-aliases': ['/dashboard/billing/subscription'] },
  ),
  '/v1/dashboard/billing/usage': describedGet(
    'getBillingUsage',
    'Cents that this key has spent since ever: the limit of the subscription less this is what is left',
    object({ object: text, total_usage: number }),
    { 'x-aliases': ['/dashboard/billing/usage'] },
  ),
  '/api/v1/credits': describedGet('getCredits', 'Dollars that the account was given, and has spent', credits),
  '/api/v1/key': describedGet(
    'getCurrentKey',
    'This key, in the form that clients of model routers read',
    currentKey,
    {
      'x-aliases': ['/api/v1/auth/key'],
    },
  ),
}
