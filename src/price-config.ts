// Prices in the configuration: how they are written, what can be wrong with them, and how they read to people.
// A typing error in a price must stop the start, not under-bill for a month.

import { Type } from '@sinclair/typebox'
import type { Family } from './family'
import { formatUsd, parseUsd } from './lib/money'
import type { PriceList } from './prices'
import { type PriceKey, rowOf, type Unit, unitOfKey, units } from './units'

const Usd = Type.String({ description: 'Dollars as a decimal string, such as "0.25".' })

/** One figure, or one for each size, quality or resolution. A request for any other is refused. */
const UsdByTier = Type.Union([Usd, Type.Record(Type.String({ minLength: 1 }), Usd, { minProperties: 1 })])

const amounts = Object.fromEntries(
  units.map((unit) => [rowOf(unit).key, Type.Optional(rowOf(unit).variants ? UsdByTier : Usd)]),
)

export type PriceConfig = { [key in PriceKey]?: string | Record<string, string> }
export const Price = Type.Unsafe<PriceConfig>(Type.Object(amounts, { additionalProperties: false }))

/** What is wrong with the prices of a model of these families, each with its place below them. */
export function priceFaults(price: PriceConfig | undefined, families: readonly Family[]): string[] {
  const faults: string[] = []
  for (const [key, text] of amountsOf(price ?? {})) {
    const nano = nanoPerUnit(key, text)
    if (typeof nano === 'string') faults.push(`.${key}: ${nano}`)
  }
  if (!price || faults.length > 0) return faults
  const tiered = Object.entries(price).find(([, amount]) => typeof amount === 'object')
  for (const family of families) {
    if (tiered && !family.tier) {
      faults.push(`.${tiered[0]}: the family ${family.name} has no tiers: give one amount`)
    }
    const lacking = family.units.map((list) =>
      list.map((unit) => rowOf(unit).key).filter((key) => !(key in price)),
    )
    if (lacking.some((keys) => keys.length === 0)) continue
    const wanted = lacking.map((keys) => keys.join(' and ')).join(', or ')
    faults.push(`: the family ${family.name} needs ${wanted}`)
  }
  return faults
}

/** All amounts of a price list, each with its key: `per_image` twice when it has two tiers. */
function amountsOf(price: PriceConfig): [key: string, text: string][] {
  return Object.entries(price).flatMap(([key, amount]): [string, string][] =>
    typeof amount === 'string' ? [[key, amount]] : Object.values(amount).map((text) => [key, text]),
  )
}

/** Whole nano-dollars for one unit, or what is wrong with the price. */
function nanoPerUnit(key: string, text: string): number | string {
  const nano = parseUsd(text)
  if (nano === undefined || nano < 0) return `"${text}" is not an amount of dollars such as "0.25"`
  if (!key.startsWith('per_1m_')) return nano
  if (nano % 1_000_000 !== 0) {
    return `"${text}" is not a whole number of nano-dollars for one: use at most three decimals`
  }
  return nano / 1_000_000
}

/** The price list of a model that has no faults. Cached input and cache writes cost as input where they have no price of their own. */
export function priceListOf({ free, price }: { free?: true; price?: PriceConfig }): PriceList {
  const list: PriceList = {}
  if (free) {
    for (const unit of units) list[unit] = 0
    return list
  }
  for (const [key, amount] of Object.entries(price ?? {})) {
    const nano = (text: string) => nanoPerUnit(key, text) as number
    list[unitOfKey(key) as Unit] =
      typeof amount === 'string'
        ? nano(amount)
        : Object.fromEntries(Object.entries(amount).map(([tier, text]) => [tier, nano(text)]))
  }
  for (const unit of units) {
    const { fallback } = rowOf(unit)
    const other = fallback && list[fallback]
    if (other !== undefined) list[unit] ??= other
  }
  return list
}

/** A price list in the words of the configuration, for people and for `models list --json`. */
export function describePrices(list: PriceList): Record<string, string | Record<string, string>> {
  const described: Record<string, string | Record<string, string>> = {}
  for (const unit of units) {
    const { key, per } = rowOf(unit)
    const price = list[unit]
    if (price === undefined) continue
    const usd = (nano: number) => formatUsd(nano * per)
    described[key] =
      typeof price === 'number'
        ? usd(price)
        : Object.fromEntries(Object.entries(price).map(([tier, nano]) => [tier, usd(nano)]))
  }
  return described
}
