// Payments of Stripe Checkout, signed by Stripe's own library: a payment is credited once; a forged, late, unpaid or doubtful one
// is never credited.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Stripe from 'stripe'
import { ledgerOf } from '../../src/billing/ledger/account-ledger'
import { faultsOf } from '../../src/config/schema'
import { NANO_PER_USD } from '../../src/lib/money'
import { readCheckout } from '../../src/payments/checkout'
import { signatureFault } from '../../src/payments/signature'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'

const SECRET = 'whsec_test_0123456789abcdef'
const PATH = '/v1/payments/stripe'
const { webhooks } = new Stripe('sk_test_123')
let sessions = 0

/** An event as Stripe sends it. */
function eventOf(session: Record<string, unknown> = {}, event: Record<string, unknown> = {}) {
  const number = ++sessions
  return {
    id: `evt_${number}`,
    object: 'event',
    api_version: '2026-01-28.clover',
    created: 1_778_966_887,
    livemode: true,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type: 'checkout.session.completed',
    data: {
      object: {
        id: `cs_live_a${number}`,
        object: 'checkout.session',
        amount_subtotal: 500,
        amount_total: 500,
        client_reference_id: 'alice',
        currency: 'usd',
        livemode: true,
        metadata: {},
        mode: 'payment',
        payment_status: 'paid',
        status: 'complete',
        total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
        ...session,
      },
    },
    ...event,
  }
}

const seconds = (at: number) => Math.floor(at / 1_000)

function sign(payload: string, { at = Date.now(), secret = SECRET } = {}): Promise<string> {
  return webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp: seconds(at) })
}

for (const database of databaseKinds) {
  describe(`payments on ${database}`, () => {
    let gateway: TestGateway
    beforeAll(async () => {
      const config = {
        payments: { stripe: { signingSecret: SECRET, rates: { eur: '1.08', jpy: '0.0067' } } },
      }
      gateway = await startTestGateway({ database, config, balance: '1' })
    })
    afterAll(() => gateway.close())

    async function report(payload: string, signed: string | null | Promise<string> = sign(payload)) {
      const signature = await signed
      const response = await fetch(`${gateway.url}${PATH}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          ...(signature !== null && { 'stripe-signature': signature }),
        },
        body: payload,
      })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const balanceUsd = async (account = 'alice') =>
      (await gateway.balance(account)).balanceNano / NANO_PER_USD

    test('are credited once, however often and concurrently they are reported', async () => {
      const before = await balanceUsd()
      const event = eventOf()
      const payload = JSON.stringify(event, null, 2)
      const answers = await Promise.all(Array.from({ length: 8 }, () => report(payload)))
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
      const results = answers.map(({ body }) => body.result)
      expect(results.filter((result) => result === 'credited')).toHaveLength(1)
      expect(results.filter((result) => result === 'known')).toHaveLength(7)
      // Another event of the same session.
      const late = { ...event, id: 'evt_other', type: 'checkout.session.async_payment_succeeded' }
      expect((await report(JSON.stringify(late))).body).toEqual({ received: true, result: 'known' })
      expect(await balanceUsd()).toBe(before + 5)
      const entries = (await Array.fromAsync(ledgerOf(gateway.server.world.db, 'alice'))).flat()
      expect(entries.filter(({ kind }) => kind === 'payment')).toMatchObject([
        { id: event.data.object.id, amountNano: 5 * NANO_PER_USD, note: `${event.data.object.id}: 5.00 USD` },
      ])
      expect(gateway.log.filter(({ event }) => event === 'payment_credited')).toHaveLength(1)
    })

    test('that are delayed are credited when they succeed', async () => {
      const before = await balanceUsd()
      const unpaid = eventOf({ payment_status: 'unpaid' })
      expect((await report(JSON.stringify(unpaid))).body).toMatchObject({ result: 'ignored' })
      expect(await balanceUsd()).toBe(before)
      const { object } = unpaid.data
      const paid = eventOf(
        { ...object, payment_status: 'paid' },
        { type: 'checkout.session.async_payment_succeeded' },
      )
      expect((await report(JSON.stringify(paid))).body).toMatchObject({ result: 'credited' })
      expect(await balanceUsd()).toBe(before + 5)
    })

    test('without a valid signature are refused', async () => {
      const before = await balanceUsd()
      const payload = JSON.stringify(eventOf())
      const good = await sign(payload)
      const rows: [string, string | null][] = [
        [payload, null],
        [payload, ''],
        [payload, 't=,v1='],
        [payload, await sign(payload, { secret: 'whsec_of_somebody_else' })],
        [payload.replace('500', '501'), good],
        [payload, good.replace('v1=', 'v0=')],
        [payload, good.replace(/t=\d+/, (time) => `t=${Number(time.slice(2)) + 1}`)],
        [payload, good.slice(0, -2)],
        [payload, await sign(payload, { at: Date.now() - 301_000 })],
        [payload, await sign(payload, { at: Date.now() + 310_000 })],
        [payload, `${good},${'v1=00,'.repeat(1_000)}`],
      ]
      for (const [body, signature] of rows)
        expect({ signature, ...(await report(body, signature)) }).toMatchObject({
          signature,
          status: 400,
          body: { error: { code: 'invalid_signature' } },
        })
      expect(await balanceUsd()).toBe(before)
      expect(JSON.stringify(gateway.log)).not.toContain(SECRET)
      // While a secret is replaced there are two signatures.
      const both = `${good},v1=${'0'.repeat(64)}`
      expect((await report(payload, both)).body).toMatchObject({ result: 'credited' })
    })

    test('that cannot be credited are logged as an error', async () => {
      const rows: [Record<string, unknown>, Record<string, unknown>, string][] = [
        [{ client_reference_id: null }, {}, 'names no account'],
        [{ client_reference_id: 'nobody' }, {}, 'there is no account \\"nobody\\"'],
        [{ metadata: { account: 'bob' } }, {}, 'different accounts'],
        [{ currency: 'gbp' }, {}, 'paid in GBP'],
        [{ currency: '__proto__' }, {}, 'currency of the session cannot be read'],
        [{ amount_total: '500' }, {}, 'amount of the session cannot be read'],
        [{ amount_total: 0 }, {}, 'the amount is zero'],
        [{ amount_total: 9_000_000_000_000 }, {}, 'too large'],
        [{}, { livemode: false }, 'test mode'],
      ]
      for (const [session, event, text] of rows) {
        const { status, body } = await report(JSON.stringify(eventOf(session, event)))
        expect({ status, body: JSON.stringify(body) }).toEqual({
          status: 422,
          body: expect.stringContaining(text),
        })
      }
      const reported = gateway.log.filter(({ event }) => event === 'payment_not_credited')
      expect(reported).toHaveLength(rows.length)
    })

    test('in other currencies are credited in dollars', async () => {
      await gateway.makeKey('b.o@b', '0')
      const rows: [Record<string, unknown>, number][] = [
        [{ client_reference_id: null, metadata: { account: 'b.o@b' } }, 5],
        [{ total_details: { amount_tax: 80, amount_shipping: null } }, 4.2],
        [{ currency: 'eur', amount_total: 1_000 }, 10.8],
        [{ currency: 'jpy', amount_total: 1_000 }, 6.7],
      ]
      for (const [session, usd] of rows) {
        const account = session.metadata ? 'b.o@b' : 'alice'
        const before = (await gateway.balance(account)).balanceNano
        expect((await report(JSON.stringify(eventOf(session)))).body).toMatchObject({ result: 'credited' })
        expect((await gateway.balance(account)).balanceNano - before).toBe(Math.round(usd * NANO_PER_USD))
      }
    })

    test('other events are accepted and ignored', async () => {
      const before = await balanceUsd()
      const rows: [Record<string, unknown>, Record<string, unknown>][] = [
        [{}, { type: 'checkout.session.expired' }],
        [{}, { type: 'charge.refunded' }],
        [{}, { type: 7 }],
        [{ mode: 'subscription' }, {}],
        [{ payment_status: 'no_payment_required', amount_total: 0 }, {}],
      ]
      for (const [session, event] of rows)
        expect(await report(JSON.stringify(eventOf(session, event)))).toMatchObject({
          status: 200,
          body: { result: 'ignored' },
        })
      expect((await report('[]', sign('[]'))).body).toMatchObject({ result: 'ignored' })
      expect((await report('{', sign('{'))).status).toBe(400)
      expect(await balanceUsd()).toBe(before)
    })
  })
}

test('without a signing secret no event is accepted', async () => {
  const gateway = await startTestGateway({})
  const payload = JSON.stringify(eventOf())
  const response = await gateway.post(PATH, payload, { 'stripe-signature': await sign(payload) })
  expect(response.status).toBe(404)
  await gateway.close()
})

test('a signature is judged as by the Stripe library, whatever the header', async () => {
  const payload = JSON.stringify(eventOf())
  const good = await sign(payload)
  const [time = '', signature = ''] = good.split(',')
  const other = `v1=${'a'.repeat(64)}`
  const headers = [
    good,
    `${signature},${time}`,
    `${time},${other},${signature}`,
    `${time},${other}`,
    `${time},v0=${signature.slice(3)}`,
    `${time}0,${signature}`,
    `${signature}`,
    `${time}`,
    'nonsense',
    `${time},v1=`,
    `${time},v1=ü`,
    await sign(payload, { at: Date.now() - 290_000 }),
    await sign(payload, { at: Date.now() - 310_000 }),
  ]
  for (const header of headers) {
    let isValid = true
    try {
      await webhooks.constructEventAsync(payload, header, SECRET)
    } catch {
      isValid = false
    }
    const fault = signatureFault(header, new TextEncoder().encode(payload), {
      secret: SECRET,
      now: Date.now(),
    })
    expect({ header, isValid: fault === undefined }).toEqual({ header, isValid })
  }
})

test('any event is read without an error, and only a paid session is credited', () => {
  for (const event of [null, 7, 'x', [], {}, { type: 'checkout.session.completed' }, eventOf({ id: '../x' })])
    expect(readCheckout(event, {})).not.toHaveProperty('credit')
  expect(readCheckout(eventOf(), {})).toHaveProperty('credit')
  expect(readCheckout(eventOf({}, { livemode: false }), { testMode: true })).toHaveProperty('credit')
})

test('invalid rates are configuration errors', () => {
  const rates = { EUR: '1', usd: '1', eur: 'one', gbp: '0', chf: '1.12' }
  const config = { upstreams: {}, models: {}, payments: { stripe: { signingSecret: SECRET, rates } } }
  expect(faultsOf(config)).toEqual([
    'payments.stripe.rates.EUR: a currency has three small letters, such as eur',
    'payments.stripe.rates.usd: a dollar is a dollar',
    'payments.stripe.rates.eur: "one" is not an amount of dollars, such as "1.08"',
    'payments.stripe.rates.gbp: "0" is not an amount of dollars, such as "1.08"',
  ])
})
