// The part of the configuration that names payment services whose payments are credited to accounts.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { parseUsd } from '../lib/money'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'

export const StripeEntry = Type.Object(
  {
    signingSecret: requiredSetting(
      'The signing secret of the webhook endpoint: `whsec_…`.',
      Type.String({ minLength: 16, maxLength: 256 }),
    ),
    rates: optionalSetting(
      'The value of one unit of another currency in dollars: `{ eur: "1.08" }`. Default: payments in currencies other than dollars are refused.',
      Type.Record(Type.String(), Type.String()),
    ),
    testMode: optionalSetting(
      'Whether payments in test mode, which move no money, are credited too. Default false.',
      Type.Boolean(),
    ),
  },
  closed,
)

export const PaymentsEntry = Type.Object(
  {
    stripe: optionalSetting(
      'Credits payments by Stripe Checkout, reported to `POST /v1/payments/stripe` (docs/operate/stripe.md).',
      StripeEntry,
    ),
  },
  closed,
)
export type PaymentsEntry = Static<typeof PaymentsEntry>

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function paymentFaults(entry: unknown): string[] {
  if (!Check(PaymentsEntry, entry)) return []
  return Object.entries(entry.stripe?.rates ?? {}).flatMap(([currency, rate]) => {
    const place = `payments.stripe.rates.${currency}`
    if (!/^[a-z]{3}$/.test(currency)) return [`${place}: a currency has three small letters, such as eur`]
    if (currency === 'usd') return [`${place}: a dollar is a dollar`]
    return (parseUsd(rate) ?? 0) > 0
      ? []
      : [`${place}: "${rate}" is not an amount of dollars, such as "1.08"`]
  })
}
