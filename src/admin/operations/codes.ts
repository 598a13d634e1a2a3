// Codes over the admin API: created, listed and revoked. Only the answer that creates a code contains it; it must never be in
// another, or in the audit trail.

import { Type } from '@sinclair/typebox'
import { MAX_NOTE_LENGTH } from '../../accounts/accounts'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import {
  CODE_STATES,
  codesByPage,
  codeView,
  createCodes,
  hintOfCode,
  listCodes,
  MAX_NEW_CODES,
  makeCode,
  requireCode,
  revokeOpenCode,
} from '../../billing/selling/codes'
import { isoTime } from '../../db/iso-time'
import { csvResponse } from '../../http/csv'
import { timeOfQuery } from '../../http/query-time'
import { formatUsd } from '../../lib/money'
import {
  changing,
  closedBody,
  limitOf,
  operationsIn,
  PageOf,
  pageOf,
  pageQuery,
  placeOfCursor,
  Text,
  timedCursor,
} from '../operation'
import { positiveAmountOf } from './accounts'

const operation = operationsIn('Codes')
const CodeReply = codeView.reply
const TITLES = codeView.titles

const list = operation({
  id: 'listCodes',
  endpoint: 'GET /codes',
  role: 'viewer',
  summary: 'Codes',
  description: 'Newest first: what each is worth, and what became of it.',
  query: Type.Object({
    ...pageQuery,
    status: Type.Optional(OneOf(CODE_STATES, 'Only those in this state.')),
    format: Type.Optional(OneOf(['json', 'csv'], '`csv` returns all of them as a file. Default `json`.')),
  }),
  reply: PageOf(CodeReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const place = placeOfCursor(query.after)
    const before = place && { createdAt: place.at, id: place.id }
    const { status, format } = query
    const now = world.now()
    if (format === 'csv')
      return csvResponse('codes.csv', TITLES, codesByPage(world.db, status, now), (code) =>
        Object.values(codeView.show({ code, now })),
      )
    const rows = await listCodes(world.db, { limit: limit + 1, before, status }, now)
    return pageOf(
      rows,
      limit,
      (code) => codeView.show({ code, now }),
      ({ createdAt, id }) => timedCursor(createdAt, id),
    )
  },
})

const create = operation({
  id: 'createCodes',
  endpoint: 'POST /codes',
  role: 'operator',
  summary: 'Make codes',
  description: 'Holders of keys redeem them for money, each once. They are in this answer only.',
  body: Type.Object(
    {
      amount_usd: Text('The value of each in dollars, such as `5`.'),
      count: Type.Optional(
        Type.Integer({ minimum: 1, maximum: MAX_NEW_CODES, description: 'How many. Default 1.' }),
      ),
      expires_at: Type.Optional(Nullable(Text('Refused from this time in UTC: `2026-12-31T00:00Z`.'))),
      note: Type.Optional(
        Nullable(Type.String({ maxLength: MAX_NOTE_LENGTH, description: 'Kept in the ledger.' })),
      ),
    },
    closedBody,
  ),
  reply: Type.Object(
    { data: Type.Array(Type.Object({ code: Type.String(), id: Type.String() }, open)) },
    open,
  ),
  async run(context, _query, { amount_usd: amount, count = 1, expires_at: expires, note = null }) {
    const { world } = context
    const amountNano = positiveAmountOf(amount)
    const createdAt = world.now()
    const expiresAt = timeOfQuery('expires_at', expires ?? undefined) ?? null
    const made = Array.from({ length: count }, () => {
      const id = world.newId('code')
      return { id, code: makeCode(world.randomBytes), amountNano, note, createdAt, expiresAt }
    })
    const db = changing(context, {
      action: 'codes.create',
      target: `codes:${made[0]?.id}`,
      after: { count, amount_usd: formatUsd(amountNano), expires_at: isoTime(expiresAt), note },
    })
    await createCodes(db, made)
    const unused = { revokedAt: null, redeemedAt: null, redeemedBy: null }
    const data = made.map(({ code, ...each }) => ({
      code,
      ...codeView.show({ code: { ...each, ...unused, hint: hintOfCode(code) }, now: createdAt }),
    }))
    return { data }
  },
})

const revoke = operation({
  id: 'revokeCode',
  endpoint: 'POST /codes/{code}/revoke',
  role: 'operator',
  summary: 'Refuse a code',
  description: 'Permanently, by its id or the code itself. What was redeemed stays on its account.',
  reply: CodeReply,
  async run(context) {
    const { world, params } = context
    const now = world.now()
    const code = await requireCode(world.db, params.code ?? '')
    const db = changing(context, {
      action: 'code.revoke',
      target: `code:${code.id}`,
      before: { amount_usd: formatUsd(code.amountNano), hint: code.hint },
    })
    return codeView.show({ code: await revokeOpenCode(db, code, now), now })
  },
})

export const codeOperations = [list, create, revoke]
