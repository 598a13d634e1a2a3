// Guards of the price lists: what must be looked at by a person before a list is taken. A guard never changes a price; it says
// why a model is left out, or stops the run.

import { type PriceKey, rowOf, units } from '../../src/contract/units'
import { parseDecimal } from '../../src/lib/money'
import { isObject } from '../../src/lib/objects'
import type { Price } from './cost-fields'
import type { VendorList } from './entries'
import type { Opinion } from './sources'

/** Disagreements that a person has looked at: `openai/gpt-5.5` to what was found, with the page that decided. */
export type Accepted = Readonly<Record<string, { prices: Readonly<Record<string, string>>; because: string }>>

const MOST = 3n
/** Decimals to which amounts are compared. */
const DECIMALS = 18

/** Our names of prices by those of the second source. */
const SECOND_NAMES: Readonly<Record<string, PriceKey>> = {
  input_mtok: 'per_1m_input_tokens',
  output_mtok: 'per_1m_output_tokens',
  cache_read_mtok: 'per_1m_cached_input_tokens',
  cache_write_mtok: 'per_1m_cache_write_tokens',
  cache_write_1h_mtok: 'per_1m_cache_write_1h_tokens',
  input_audio_mtok: 'per_1m_input_audio_tokens',
  output_audio_mtok: 'per_1m_output_audio_tokens',
}

/**
 * Prices on which the two sources differ, each with both amounts: `per_1m_input_tokens` to `0.25, or 0.30`. Prices that only one
 * of them has are not compared.
 */
export function disagreements(price: Price, { prices }: Opinion): Record<string, string> {
  const found: Record<string, string> = {}
  for (const [name, { base, tiers }] of Object.entries(prices)) {
    const key = SECOND_NAMES[name]
    if (key === undefined) continue
    compare(found, key, price[key], base)
    for (const { above, amount } of tiers) {
      const range = `above_${above / 1_000}k` as const
      compare(found, `${range}.${key}`, price[range]?.[key], amount)
    }
  }
  return found
}

function compare(found: Record<string, string>, name: string, ours: string | undefined, other: string): void {
  if (ours !== undefined && !isEqual(ours, other)) found[name] = `${ours}, or ${other}`
}

/** The list without the models on which the sources differ, except for those that were accepted with these very amounts. */
export function withoutDisagreements(
  kind: string,
  list: VendorList,
  opinions: ReadonlyMap<string, Opinion>,
  accepted: Accepted,
): VendorList {
  const checked: VendorList = { models: {}, ends: list.ends, refused: { ...list.refused } }
  for (const [id, model] of Object.entries(list.models)) {
    const opinion = opinions.get(id)
    const found = opinion ? disagreements(model.price, opinion) : {}
    const taken = accepted[`${kind}/${id}`]?.prices ?? {}
    const open = Object.entries(found).filter(([name, amounts]) => taken[name] !== amounts)
    if (open.length === 0) checked.models[id] = model
    else checked.refused[id] = `the sources disagree: ${open.map((pair) => pair.join(' ')).join('; ')}`
  }
  return checked
}

/** Changes of a list that no run may make by itself: a price that falls to zero, or is another by more than three times. */
export function leaps(kind: string, before: VendorList, after: VendorList): string[] {
  return Object.entries(after.models).flatMap(([id, { price }]) => {
    const earlier = before.models[id]?.price
    if (!earlier) return []
    const amounts = amountsOf(earlier)
    return [...amountsOf(price)].flatMap(([name, now]) => {
      const was = amounts.get(name)
      if (
        was === undefined ||
        was === now ||
        (now * MOST >= was && now <= was * MOST && (now > 0n || was === 0n))
      )
        return []
      return [`${kind}/${id}: ${name} was ${textAt(earlier, name)} and is ${textAt(price, name)}`]
    })
  })
}

/** Every amount of a price list by its place. */
function amountsOf(price: object, place = ''): Map<string, bigint> {
  return new Map(
    Object.entries(price).flatMap(([key, value]): [string, bigint][] => {
      const at = `${place}${key}`
      if (isObject(value)) return [...amountsOf(value, `${at}.`)]
      return isPriceKey(key) ? [[at, fine(String(value))]] : []
    }),
  )
}

function textAt(price: object, place: string): string {
  return String(
    place.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], price),
  )
}

function isPriceKey(key: string): boolean {
  return units.some((unit) => rowOf(unit).key === key)
}

function isEqual(one: string, other: string): boolean {
  return fine(one) === fine(other)
}

function fine(text: string): bigint {
  const parts = parseDecimal(text, DECIMALS)
  if (typeof parts !== 'bigint') throw new Error(`${text} is not an amount`)
  return parts
}
