// Reads events of Stripe's Checkout: the account to credit, and the amount. Pure. Only a paid session with real money may become a
// credit, and no amount may be guessed.

import { MAX_NANO, parseUsd } from '../lib/money'
import { asObject } from '../lib/objects'

/** Settings that decide the value of a payment. */
interface PaymentRules {
  /** Dollars for one unit of another currency, by its code in lower case. */
  rates?: Record<string, string>
  /** Also credits payments in test mode, which involve no money. */
  testMode?: boolean
}

/** A payment, its value, and its account. */
interface Payment {
  /** The id of the session: it is credited once. */
  id: string
  account: string
  amountNano: number
  /** The payment in words, for the ledger. */
  note: string
}

interface Refused {
  refused: string
}

type PaymentReading = { credit: Payment } | { ignored: string } | (Refused & { id: string })

/** A delayed payment completes its session unpaid, and succeeds days later. */
const EVENTS = new Set(['checkout.session.completed', 'checkout.session.async_payment_succeeded'])

/** Decimals of currencies whose smallest unit is not a hundredth (https://docs.stripe.com/currencies). */
const DECIMALS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' ').map((code) => [code, 0]),
  ),
  ...Object.fromEntries('bhd jod kwd omr tnd'.split(' ').map((code) => [code, 3])),
}

export function readCheckout(event: unknown, rules: PaymentRules): PaymentReading {
  const { type, livemode, data } = asObject(event)
  if (typeof type !== 'string' || !EVENTS.has(type)) return { ignored: `the event is ${nameOf(type)}` }
  const session = asObject(asObject(data).object)
  const id = session.id
  if (typeof id !== 'string' || !/^cs_\w{1,200}$/.test(id))
    return { refused: 'the session has no id', id: nameOf(id) }
  if (session.mode !== 'payment') return { ignored: `the session is of the mode ${nameOf(session.mode)}` }
  if (session.payment_status !== 'paid')
    return { ignored: `the session is ${nameOf(session.payment_status)}` }
  if (livemode !== true && rules.testMode !== true)
    return { refused: 'it is a payment of test mode, and payments.stripe.testMode is not set', id }
  const account = accountOf(session)
  if ('refused' in account) return { ...account, id }
  const worth = worthOf(session, rules)
  if ('refused' in worth) return { ...worth, id }
  return { credit: { id, ...account, ...worth } }
}

/** Metadata may hold any name of an account; a reference has only letters, digits, - and _. */
function accountOf({
  client_reference_id: reference,
  metadata,
}: Record<string, unknown>): { account: string } | Refused {
  const named = [reference, asObject(metadata).account].filter((name) => name !== undefined && name !== null)
  const [account] = named
  if (typeof account !== 'string' || account === '')
    return { refused: 'the session names no account in client_reference_id or metadata.account' }
  if (named.some((name) => name !== account))
    return { refused: 'client_reference_id and metadata.account name different accounts' }
  return { account }
}

/** The amount that was paid without tax and shipping, in nano-dollars, rounded down. */
function worthOf(
  session: Record<string, unknown>,
  { rates = {} }: PaymentRules,
): Pick<Payment, 'amountNano' | 'note'> | Refused {
  const { amount_total: total, currency, total_details: details } = session
  const { amount_tax: tax, amount_shipping: shipping } = asObject(details)
  const amounts = [total, tax ?? 0, shipping ?? 0]
  if (!amounts.every((amount) => Number.isSafeInteger(amount) && (amount as number) >= 0))
    return { refused: 'the amount of the session cannot be read' }
  const [paid = 0, ...others] = amounts as number[]
  const units = others.reduce((left, other) => left - other, paid)
  if (typeof currency !== 'string' || !/^[a-z]{3}$/.test(currency))
    return { refused: 'the currency of the session cannot be read' }
  const rateNano =
    currency === 'usd'
      ? parseUsd('1')
      : parseUsd(Object.hasOwn(rates, currency) ? (rates[currency] ?? '') : '')
  if (rateNano === undefined)
    return {
      refused: `it was paid in ${currency.toUpperCase()}, and payments.stripe.rates has no rate for it`,
    }
  const decimals = DECIMALS[currency] ?? 2
  const amountNano = (BigInt(units) * BigInt(rateNano)) / 10n ** BigInt(decimals)
  if (amountNano <= 0n || amountNano > BigInt(MAX_NANO)) return { refused: 'the amount is zero or too large' }
  const amount = `${(units / 10 ** decimals).toFixed(decimals)} ${currency.toUpperCase()}`
  const rate = currency === 'usd' ? '' : ` at $${rates[currency]}`
  return { amountNano: Number(amountNano), note: `${session.id}: ${amount}${rate}` }
}

/** A word of Stripe's for messages. */
function nameOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 64).replace(/[^\w.]/g, '?') : 'not named'
}
