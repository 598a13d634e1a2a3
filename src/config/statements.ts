// The part of the configuration about statements: the seller, and tax.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { parseDecimal } from '../lib/money'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'

const Line = Type.String({ minLength: 1, maxLength: 200 })

export const SellerEntry = Type.Object(
  {
    name: requiredSetting('The name of the seller.', Line),
    address: optionalSetting('Its address, line by line.', Type.Array(Line, { maxItems: 8 })),
    taxId: optionalSetting('Its tax number.', Line),
    contact: optionalSetting('An e-mail address or a web page for questions.', Line),
  },
  closed,
)

export const TaxEntry = Type.Object(
  {
    name: requiredSetting('Its name: `VAT`.', Line),
    percent: requiredSetting('Its rate: `"19"` or `"7.7"`.', Type.String()),
    included: optionalSetting(
      'Whether prices include it. `false`: it is shown as due in addition, and not taken from the balance. Default true.',
      Type.Boolean(),
    ),
  },
  closed,
)

export const StatementsEntry = Type.Object(
  {
    seller: optionalSetting('The seller. Default: none is shown.', SellerEntry),
    logo: optionalSetting('A short text at the top, instead of a picture.', Type.String({ maxLength: 40 })),
    tax: optionalSetting('The tax on usage. Default: none is shown.', TaxEntry),
    note: optionalSetting('Text at the end.', Type.String({ maxLength: 1_000 })),
  },
  closed,
)
export type StatementsEntry = Static<typeof StatementsEntry>

/** Decimals of a percentage of tax. */
export const PERCENT_DECIMALS = 4

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function statementFaults(entry: unknown): string[] {
  if (!Check(StatementsEntry, entry) || !entry.tax) return []
  const percent = parseDecimal(entry.tax.percent, PERCENT_DECIMALS)
  if (typeof percent === 'bigint' && percent > 0n && percent <= 100n * 10n ** BigInt(PERCENT_DECIMALS))
    return []
  return [`statements.tax.percent: "${entry.tax.percent}" is not a percentage such as "19" or "7.7"`]
}
