// POST /v1/payments/stripe, where a payment service reports payments. It exists only if the configuration has its signing secret. A
// payment must never be credited before its signature is verified, or twice.

import { type Static, Type } from '@sinclair/typebox'
import { OneOf, open } from '../../../api-operation/operation'
import { text } from '../../../api-operation/schemas'
import { balanceOf } from '../../../billing/ledger/balances'
import { addCredit } from '../../../billing/ledger/ledger'
import { GatewayError } from '../../../lib/errors'
import { readCheckout } from '../../../payments/checkout'
import { signatureFault } from '../../../payments/signature'
import { type CallerWorld, type OpenContext, openOperation } from '../operation'

const Report = Type.Object(
  {
    received: Type.Literal(true),
    result: OneOf(['credited', 'known', 'ignored']),
    reason: Type.Optional(text),
  },
  { $id: 'PaymentReport', examples: [{ received: true, result: 'credited' }] },
)

const report = openOperation(Report)({
  id: 'reportPayment',
  endpoint: 'POST /v1/payments/stripe',
  aliases: [],
  tag: 'Gateway',
  access: 'no key',
  summary: 'Payments that Stripe reports',
  description: 'Stripe signs its reports here, if the operator has set it up.',
  body: Type.Object({}, open),
  isRaw: true,
  entrance: 'payment',
  answers: 'The payment was credited, was already known, or is of a kind that is not credited.',
  errors: ['uncredited'],
  missing: notConfigured(),
  run: async (context) => creditPayment(context.world, await verifiedBody(context)),
})

function notConfigured(): GatewayError {
  return new GatewayError(404, {
    code: 'payments_not_configured',
    message: 'This gateway accepts no Stripe payments: its configuration has no payments.stripe.',
  })
}

async function verifiedBody({ world, request, bytes }: OpenContext): Promise<Uint8Array> {
  const { config, now, log } = world
  const secret = config.payments?.stripe?.signingSecret
  if (secret === undefined) throw notConfigured()
  const body = await bytes()
  const fault = signatureFault(request.headers.get('stripe-signature'), body, { secret, now: now() })
  if (fault === undefined) return body
  log('payment_refused', { reason: fault })
  throw new GatewayError(400, {
    code: 'invalid_signature',
    message: `This report cannot be trusted: ${fault}.`,
  })
}

/** Credits the paid amount. If an operator is needed, it answers with an error, so that the service shows it and retries. */
async function creditPayment(
  { db, config, now, log }: CallerWorld,
  body: Uint8Array,
): Promise<Static<typeof Report>> {
  const reading = readCheckout(parseEvent(body), config.payments?.stripe ?? {})
  if ('ignored' in reading) return { received: true, result: 'ignored', reason: `${reading.ignored}.` }
  if ('refused' in reading) throw notCredited(log, reading.id, reading.refused)
  const { id, account, amountNano, note } = reading.credit
  if (!(await balanceOf(db, account))) throw notCredited(log, id, `there is no account ${shorten(account)}`)
  const deposit = { id, kind: 'payment', account, amountNano, now: now(), note } as const
  const isNew = await addCredit(db, deposit).catch((error) => {
    if (error instanceof RangeError) throw notCredited(log, id, error.message)
    throw error
  })
  if (isNew) log('payment_credited', { payment: id, account, amount_nano: amountNano })
  return { received: true, result: isNew ? 'credited' : 'known' }
}

function parseEvent(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw new GatewayError(400, { code: 'invalid_json', message: 'The body is not valid JSON.' })
  }
}

function notCredited(log: CallerWorld['log'], id: string, reason: string): GatewayError {
  log('payment_not_credited', { payment: id, reason })
  return new GatewayError(422, {
    code: 'payment_not_credited',
    message: `Not credited: ${reason}.`.replace('..', '.'),
  })
}

/** A name from a caller, safe for messages. */
function shorten(name: string): string {
  return JSON.stringify(name.slice(0, 64))
}

export const paymentOperations = [report]
