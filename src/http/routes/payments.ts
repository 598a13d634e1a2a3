// POST /v1/payments/stripe, where a payment service reports what was paid. It is there only if the configuration has its
// signing secret. A payment must never be credited before its signature is verified, nor twice.

import { Elysia } from 'elysia'
import { balanceOf } from '../../billing/ledger/balances'
import { addCredit } from '../../billing/ledger/ledger'
import type { Config } from '../../config/schema'
import type { Db } from '../../db/db'
import { GatewayError } from '../../lib/errors'
import type { System } from '../../lib/system'
import { readCheckout } from '../../payments/checkout'
import { signatureFault } from '../../payments/signature'
import type { BodyReader } from '../body'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { errorResponse } from '../errors'

interface PaymentWorld extends Pick<System, 'newId' | 'log' | 'now'> {
  db: Db
  config: Pick<Config, 'server' | 'payments'>
}

export function paymentRoutes(world: PaymentWorld, bodies: BodyReader) {
  async function take(request: Request, listener: Listener | null): Promise<Response> {
    const requestId = world.newId('req')
    setKeepAliveTimeout(listener, request, world.config)
    let response: Response
    try {
      const body = await verifiedBody(world, request, bodies, listener)
      const shown = await creditPayment(world, body)
      response = Response.json(shown, { headers: { 'x-request-id': requestId } })
    } catch (error) {
      response = errorResponse(error, 'openai', requestId, world.log)
    }
    setKeepAliveTimeout(listener, request, world.config)
    return response.ok ? response : bodies.answer(request, response, listener)
  }

  return new Elysia({ name: 'payments' }).post(
    '/v1/payments/stripe',
    ({ request, server }) => take(request, server),
    { parse: 'none' },
  )
}

async function verifiedBody(
  { config, now, log }: PaymentWorld,
  request: Request,
  bodies: BodyReader,
  listener: Listener | null,
): Promise<Uint8Array> {
  const secret = config.payments?.stripe?.signingSecret
  if (secret === undefined)
    throw new GatewayError(404, {
      code: 'payments_not_configured',
      message: 'This gateway takes no payments of Stripe: its configuration has no payments.stripe.',
    })
  const body = await bodies.read(request, 'payment', () => disableTimeout(listener, request))
  const fault = signatureFault(request.headers.get('stripe-signature'), body, { secret, now: now() })
  if (fault === undefined) return body
  log('payment_refused', { reason: fault })
  throw new GatewayError(400, { code: 'invalid_signature', message: `This is not to be trusted: ${fault}.` })
}

/** Credits what was paid. What needs an operator is an error, so that the service shows it and tries again. */
async function creditPayment({ db, config, now, log }: PaymentWorld, body: Uint8Array): Promise<object> {
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

function notCredited(log: PaymentWorld['log'], id: string, reason: string): GatewayError {
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
