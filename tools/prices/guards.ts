// Compares the two sources of prices: a model on which they disagree is left out until a person has decided. It must never choose
// a price itself.

import type { Price } from '../../cli/import/litellm-costs'
import { fineAmount } from '../../src/config/models/price-leaps'
import type { PriceKey } from '../../src/contract/units'
import type { VendorList } from './entries'
import type { Opinion } from './sources'

/**
 * Prices that a person has reviewed: `openai/gpt-5.5` with the amounts that were found, the page that decided, and its day. The
 * amounts are those of both sources, or that of the first one if its price is rounded.
 */
export type Accepted = Readonly<
  Record<
    string,
    {
      prices: Readonly<Record<string, string>>
      /** Prices of the page where the first source is wrong. */
      take?: Readonly<Partial<Record<PriceKey, string>>>
      because: string
    }
  >
>

/** Our names of prices by the names of the second source. */
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
    const { prices: taken = {}, take = {} } = accepted[`${kind}/${id}`] ?? {}
    const open = Object.entries(found).filter(([name, amounts]) => taken[name] !== amounts)
    const replaced = Object.keys(take).filter((name) => !(name in found)) as PriceKey[]
    const changed = replaced.filter((name) => model.price[name] !== taken[name])
    if (open.length > 0)
      checked.refused[id] = `the sources disagree: ${open.map((pair) => pair.join(' ')).join('; ')}`
    else if (changed.length > 0)
      checked.refused[id] = `accepted.json replaces another price of it: ${changed.join(', ')}`
    else checked.models[id] = { ...model, price: { ...model.price, ...take } }
  }
  return checked
}

function isEqual(one: string, other: string): boolean {
  return fineAmount(one) === fineAmount(other)
}
