// Finds changes of a price list that a person must review before they are accepted: a price that falls to zero, or changes by more
// than a factor of three. Pure.

import { unitOfKey } from '../../contract/units'
import { parseDecimal } from '../../lib/money'
import { isObject } from '../../lib/objects'

/** The members of a list of models that are compared. */
interface PricedModels {
  models: Readonly<Record<string, { price?: object }>>
}

const MAX_FACTOR = 3n
/** Decimals to which amounts are compared. */
export const FINE_DECIMALS = 18

/** The leaps from one list of a vendor to another, one sentence each. Models that only one of them has are not compared. */
export function priceLeaps(kind: string, before: PricedModels, after: PricedModels): string[] {
  return Object.entries(after.models).flatMap(([id, { price }]) => {
    const earlier = Object.hasOwn(before.models, id) ? before.models[id]?.price : undefined
    if (!earlier || !price) return []
    const amounts = amountsOf(earlier)
    return [...amountsOf(price)].flatMap(([name, now]) => {
      const was = amounts.get(name)
      if (was === undefined || isStep(was.parts, now.parts)) return []
      return [`${kind}/${id}: ${name} was ${was.text} and is ${now.text}`]
    })
  })
}

function isStep(was: bigint, now: bigint): boolean {
  if (was === now) return true
  return now > 0n && now * MAX_FACTOR >= was && now <= was * MAX_FACTOR
}

interface Amount {
  text: string
  parts: bigint
}

/** Every amount of a price list by its path: `above_200k.per_1m_input_tokens`. Factors of tiers are not amounts. */
function amountsOf(price: object, place = '', isAmount = false): Map<string, Amount> {
  return new Map(
    Object.entries(price).flatMap(([key, value]): [string, Amount][] => {
      const at = place === '' ? key : `${place}.${key}`
      const isPrice = isAmount || unitOfKey(key) !== undefined
      if (isObject(value)) return [...amountsOf(value, at, isPrice)]
      return isPrice ? [[at, { text: String(value), parts: fineAmount(String(value)) }]] : []
    }),
  )
}

/** An amount of dollars in units of 10^-18. Throws for other texts. */
export function fineAmount(text: string): bigint {
  const parts = parseDecimal(text, FINE_DECIMALS)
  if (typeof parts !== 'bigint') throw new Error(`${text} is not an amount of dollars`)
  return parts
}
