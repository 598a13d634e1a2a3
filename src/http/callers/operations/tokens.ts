// /v1/tokens: the holder of a key creates short-lived tokens for web pages, lists and revokes them. Only the answer that creates a
// secret contains it. A token must never create another one.

import { Type } from '@sinclair/typebox'
import { isName, NAME_RULE } from '../../../accounts/names'
import { spendersJson, spenderView } from '../../../accounts/spender-json'
import { listSpenders, revokeToken } from '../../../accounts/spenders'
import { draftToken, requireToken, storeToken } from '../../../accounts/tokens'
import { CursorPage, limitParameter, named, text } from '../../../api-operation/schemas'
import { isoTime } from '../../../db/iso-time'
import { invalidRequest, notFound } from '../../../lib/errors'
import { formatUsd, parseUsd } from '../../../lib/money'
import { callerOperation } from '../operation'

const MINUTE_MS = 60_000
const MAX_MINUTES = 1_440

const ofTokens = { tag: 'Keys', isPrivate: true } as const

const create = callerOperation(
  named(
    'NewToken',
    { object: Type.Literal('token'), token: text, ...spenderView.schema.properties },
    {
      object: 'token',
      id: 'tok_0193a1b2c3d47e8f',
      token: 'sk-tok-…',
      kind: 'browser',
      name: null,
      hint: 'sk-tok…a1b2',
      status: 'active',
      models: ['a-chat-model'],
      requests_per_minute: null,
      budget_usd: '0.50',
      budget_period: null,
      budget_used_usd: '0.00',
      expires_at: '2026-12-01T12:15:00Z',
      created_at: '2026-12-01T12:00:00Z',
    },
  ),
)({
  ...ofTokens,
  id: 'createToken',
  endpoint: 'POST /v1/tokens',
  summary: 'Make a token for a web page',
  description:
    'A short token with a limit of its own. Its secret is in this answer only. It sends requests to models as this key does and reads their tasks, until it expires or its budget is spent. All limits of the key apply to it too.',
  entrance: 'code',
  isCounted: true,
  body: Type.Object(
    {
      expires_in_minutes: Type.Integer({
        minimum: 1,
        maximum: MAX_MINUTES,
        description: `Minutes until it expires: 1 to ${MAX_MINUTES}.`,
      }),
      budget_usd: Type.String({ description: 'Dollars that it may spend in all, such as `0.50`.' }),
      models: Type.Optional(
        Type.Array(text, { minItems: 1, maxItems: 100, description: 'Default: those of the key.' }),
      ),
      name: Type.Optional(Type.String({ description: `What it is called: ${NAME_RULE}.` })),
    },
    {
      additionalProperties: false,
      examples: [{ expires_in_minutes: 15, budget_usd: '0.50', models: ['a-chat-model'] }],
    },
  ),
  answers: 'The token with its secret.',
  async run({ world, key, request, requestId, recorded }, _query, body) {
    const { expires_in_minutes: minutes, budget_usd: budget, models = null, name = null } = body
    const budgetNano = parseUsd(budget)
    if (budgetNano === undefined || budgetNano <= 0)
      throw invalidRequest('budget_usd', 'Invalid \'budget_usd\': expected dollars above 0, such as "0.50".')
    if (name !== null && !isName(name)) throw invalidRequest('name', `Invalid 'name': expected ${NAME_RULE}.`)
    const now = world.now()
    const token = draftToken(world, key, {
      kind: 'browser',
      name,
      models: models && [...new Set(models)],
      requestsPerMinute: null,
      budgetNano,
      budgetPeriod: null,
      expiresAt: now + minutes * MINUTE_MS,
    })
    const after = {
      id: token.id,
      name,
      models,
      budget_usd: formatUsd(budgetNano),
      expires_at: isoTime(token.expiresAt),
    }
    await storeToken(recorded(key, { action: 'token.create', after }, { requestId, request }), token)
    const shown = spenderView.show({ spender: { ...token, endedAt: null }, usedNano: 0, now })
    return { object: 'token', ...shown, token: token.secret }
  },
})

const list = callerOperation(CursorPage(spenderView.schema))({
  ...ofTokens,
  id: 'listTokens',
  endpoint: 'GET /v1/tokens',
  summary: 'Tokens of this key, newest first',
  description: 'Each for a day after it expires.',
  query: Type.Object(
    {
      limit: limitParameter(100, 1_000),
      after: Type.Optional(Type.String({ description: 'Continues a list after its `next`.' })),
    },
    { additionalProperties: false },
  ),
  async run({ world: { db, now }, key }, { limit, after }) {
    const found = await listSpenders(db, { keyId: key.id, after, limit: limit + 1, onlyTokens: true })
    const data = await spendersJson(db, found.slice(0, limit), now())
    return { object: 'list', data, next: found.length > limit ? (data.at(-1)?.id ?? null) : null }
  },
})

const revoke = callerOperation(
  named(
    'RevokedToken',
    { id: text, object: Type.Literal('token.revoked'), revoked: Type.Literal(true) },
    { id: 'tok_0193a1b2c3d47e8f', object: 'token.revoked', revoked: true },
  ),
)({
  ...ofTokens,
  id: 'revokeToken',
  endpoint: 'DELETE /v1/tokens/{id}',
  params: { id: 'The id of the token.' },
  summary: 'Revoke a token permanently, within a second',
  answers: 'It is revoked.',
  missing: notFound('token', 'tok_1'),
  async run({ world, key, params: { id = '' }, request, requestId, recorded }) {
    const token = await requireToken(world.db, id, key.id)
    const before = { id, name: token.name, hint: token.hint }
    const db = recorded(key, { action: 'token.revoke', before }, { requestId, request })
    await revokeToken(db, token.id, world.now())
    return { id: token.id, object: 'token.revoked', revoked: true }
  },
})

export const tokenOperations = [create, list, revoke]
