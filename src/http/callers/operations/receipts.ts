// Receipts for holders of keys, and the keys that they are checked with, which anybody may read. It must never show a receipt of
// another key.

import { Type } from '@sinclair/typebox'
import { Nullable } from '../../../api-operation/operation'
import { list, maybeText, text } from '../../../api-operation/schemas'
import { hasReceiptKeys, listReceiptKeys } from '../../../billing/receipts/receipt-keys'
import { findReceipt, signReceipt } from '../../../billing/receipts/receipts'
import { GatewayError } from '../../../lib/errors'
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
  summary:
    'Public keys that receipts are checked with, as a JSON Web Key Set: the one that signs, then older ones',
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
  params: { id: 'The id of the request, as its header `x-request-id` had it.' },
  summary: 'The signed receipt of a request of this key that has ended, also of a stream',
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

export function requireReceipts({ config }: Pick<CallerWorld, 'config'>): void {
  if (!config.receipts) throw receiptsOff()
}

function receiptsOff(): GatewayError {
  return new GatewayError(404, {
    code: 'receipts_off',
    type: 'invalid_request_error',
    message: 'This gateway gives no receipts. Ask its operator to set `receipts: true`.',
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

export const ownReceiptOperations = [keys, receipt]
