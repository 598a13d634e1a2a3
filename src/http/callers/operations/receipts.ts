// Receipts for holders of keys, and the keys that verify them, which anybody may read. It must never show a receipt of another key.

import { Type } from '@sinclair/typebox'
import { Nullable } from '../../../api-operation/operation'
import { dollars, limitParameter, list, maybeText, text } from '../../../api-operation/schemas'
import { closedPart } from '../../../billing/proofs/closings'
import { hasReceiptKeys, listReceiptKeys } from '../../../billing/receipts/receipt-keys'
import { findReceipt, signReceipt } from '../../../billing/receipts/receipts'
import { findSealedMonth, linesOfMonth, sha256 } from '../../../billing/receipts/sealed-months'
import { findStatement, monthOf } from '../../../billing/reports/statements'
import { conflict, GatewayError, invalidRequest } from '../../../lib/errors'
import { formatUsd } from '../../../lib/money'
import { type CallerWorld, callerOperation, openOperation } from '../operation'
import { ownKey } from './own-key'
import { knownId, notOfKey } from './own-records'

const keys = openOperation(
  Type.Object({
    keys: list(
      Type.Object({
        kty: Type.Literal('OKP'),
        crv: Type.Literal('Ed25519'),
        x: text,
        kid: text,
        alg: Type.Literal('Ed25519'),
        use: Type.Literal('sig'),
        since: text,
        until: maybeText,
      }),
    ),
  }),
)({
  access: 'no key',
  tag: 'Keys',
  id: 'listReceiptKeys',
  endpoint: 'GET /v1/receipts/keys',
  summary: 'Public keys of receipts',
  description:
    'The keys that receipts are checked with, as a JSON Web Key Set: the one that signs, then older ones.',
  answers: 'The keys.',
  missing: receiptsOff(),
  async run({ world }) {
    if (!world.config.receipts && !(await hasReceiptKeys(world.db))) throw receiptsOff()
    return { keys: await listReceiptKeys(world) }
  },
})

const receipt = callerOperation(
  Type.Object({
    object: Type.Literal('receipt'),
    receipt: Type.String({ description: 'The signed receipt, as in the header `x-gateway-receipt`.' }),
    charge: Type.Unsafe<object>({ type: 'object', description: 'The text that is signed, as JSON.' }),
    prices: Nullable(Type.String(), {
      description: 'The price list of the charge, as the text whose hash is in the receipt.',
    }),
  }),
)({
  ...ownKey,
  id: 'getOwnReceipt',
  endpoint: 'GET /v1/requests/{id}/receipt',
  params: { id: 'The id of the request, from its header `x-request-id`.' },
  summary: 'Receipt of a request',
  description: 'Signed, of a request of this key that has ended, also of a stream.',
  missing: notOfKey('request', 'req_1'),
  async run({ world, key, params: { id = '' } }) {
    requireReceipts(world)
    const found = await findReceipt(world.db, knownId(id))
    if (found?.keyId !== key.id) throw notOfKey('request', id)
    if (found.text === null) throw notEnded()
    return {
      object: 'receipt',
      receipt: signReceipt(await world.receiptKeys.current(), found.text),
      charge: JSON.parse(found.text) as object,
      prices: found.pricesJson,
    }
  },
})

const AFTER = /^\d{1,15}$/

const proof = callerOperation(
  Type.Object({
    object: Type.Literal('proof'),
    account: text,
    period: text,
    seal: Type.String({
      description: 'Signed when the month was over: a hash over all lines, their number and their sum.',
    }),
    statement: Nullable(Type.Object({ number: Type.Integer(), used_usd: maybeText, hash: text })),
    data: list(
      Type.Object({
        sha256: text,
        amount_usd: dollars,
        receipt: Nullable(Type.String(), {
          description: 'The text of the receipt; null for charges of other keys of the account.',
        }),
      }),
    ),
    next: maybeText,
  }),
)({
  ...ownKey,
  id: 'getOwnProof',
  endpoint: 'GET /v1/me/proof',
  summary: 'Proof of a month',
  description:
    'All charges of a month of this account, with a seal by which the statement of the month can be checked.',
  query: Type.Object(
    {
      period: Type.String({
        pattern: '^20\\d\\d-(0[1-9]|1[0-2])$',
        description: 'The month in UTC: `2026-10`.',
      }),
      limit: limitParameter(1_000, 1_000, 'Lines on a page.'),
      after: Type.Optional(Type.String({ description: 'Continues a list after its `next`.' })),
    },
    { additionalProperties: false },
  ),
  async run({ world, key }, { period, limit, after = '0' }) {
    requireReceipts(world)
    if (!AFTER.test(after))
      throw invalidRequest(
        'after',
        "Invalid 'after': it is not the 'next' of a page. Start again without it.",
      )
    const { db } = world
    const month = await findSealedMonth(db, key.account, period)
    if (!month) throw notSealed(period)
    if ((await closedPart(db)).endedBefore >= (monthOf(period)?.until ?? 0)) throw archived(period)
    const lines = await linesOfMonth(db, month, Number(after), limit + 1)
    const shown = lines.slice(0, limit)
    const statement = await findStatement(db, { account: key.account, month: period })
    return {
      object: 'proof',
      account: key.account,
      period,
      seal: month.seal,
      statement: statement
        ? { number: statement.number, used_usd: statement.content?.used_usd ?? null, hash: statement.hash }
        : null,
      data: shown.map(({ text, keyId, amountNano }) => ({
        sha256: sha256(text),
        amount_usd: formatUsd(amountNano),
        receipt: keyId === key.id ? text : null,
      })),
      next: lines.length > limit ? String(shown.at(-1)?.position) : null,
    }
  },
})

function requireReceipts({ config }: Pick<CallerWorld, 'config'>): void {
  if (!config.receipts) throw receiptsOff()
}

function receiptsOff(): GatewayError {
  return new GatewayError(404, {
    code: 'receipts_off',
    type: 'invalid_request_error',
    message: 'This gateway does not issue receipts. Ask its operator to set `receipts: true`.',
  })
}

function notEnded(): GatewayError {
  return new GatewayError(409, {
    code: 'receipt_not_ready',
    type: 'invalid_request_error',
    message: 'This request has not ended, so it has no receipt yet. Try again when it has.',
    headers: { 'retry-after': '1', 'x-should-retry': 'true' },
  })
}

function notSealed(period: string): GatewayError {
  return new GatewayError(409, {
    code: 'receipt_not_ready',
    type: 'invalid_request_error',
    message: `There is no seal of ${period} for this account: it had no request, or the month is not over. Months are sealed about an hour after their end, if receipts are on by then.`,
    headers: { 'x-should-retry': 'false' },
  })
}

function archived(period: string): GatewayError {
  return conflict(
    'month_closed',
    `The charges of ${period} have gone to an archive. Ask the operator of this gateway for them.`,
  )
}

export const ownReceiptOperations = [keys, receipt, proof]
