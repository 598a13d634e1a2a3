// Prices: what one of each unit costs, and what quantities come to. Pure and exact: no price is ever rounded down.
// Nothing here may know a vendor, a database or HTTP.

import { type Quantities, type Unit, units } from './units'

/** Nano-dollars for one of each unit. */
export type Prices = { [unit in Unit]?: number }

/** A price list in which a unit may cost differently by a tier, such as an image by its size or a second by its resolution. */
export type PriceList = { [unit in Unit]?: number | { [tier: string]: number } }

/** The prices of one request, and the same as they are stored with its charge. */
export interface Tariff {
  prices: Prices
  json: string
}

/** The prices that hold for a tier; undefined when the list has none of its names for some unit. */
export function pricesOfTier(list: PriceList, names: readonly string[]): Prices | undefined {
  const prices: Prices = {}
  for (const unit of units) {
    const price = list[unit]
    if (price === undefined) continue
    const name = names.find((name) => typeof price === 'object' && Object.hasOwn(price, name))
    const each = typeof price === 'number' ? price : name === undefined ? undefined : price[name]
    if (each === undefined) return undefined
    prices[unit] = each
  }
  return prices
}

/** The price of quantities, in nano-dollars. Exact: whole counts times whole prices. */
export function priceNano(quantities: Quantities, prices: Prices): number {
  let totalNano = 0
  for (const name in quantities) {
    const unit = name as Unit
    const count = quantities[unit]
    if (count === undefined || count === 0) continue
    const each = prices[unit]
    if (each === undefined) throw new Error(`no price for ${unit}`)
    totalNano += count * each
  }
  if (!Number.isSafeInteger(totalNano) || totalNano < 0) throw new RangeError(`not a price: ${totalNano}`)
  return totalNano
}
