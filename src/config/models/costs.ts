// The charges of vendors, in addition to the prices for callers: costs of models in the configuration, and markups that turn them
// into prices. A cost must be in units that are billed, otherwise it would seem lower than it is.

import type { Family } from '../../contract/family'
import type { PriceList } from '../../contract/prices'
import { rowOf, type Unit, unitOfKey, units } from '../../contract/units'
import { asObject, isObject } from '../../lib/objects'
import {
  type DescribedPrices,
  describePriceList,
  markedUp,
  type PriceConfig,
  priceFaults,
  priceListOf,
} from './prices'

/** The vendor's prices: one list, or one for each upstream that serves the model. */
export type CostConfig = PriceConfig | { upstreams: Record<string, PriceConfig> }

/** A percentage: `20%`, `12.5%`. */
const MARKUP = /^(\d{1,4}(?:\.\d{1,4})?)%$/

/** The vendor's prices of a model at one of its upstreams; undefined if unknown. */
export function costListOf({ cost }: { cost?: CostConfig }, upstream: string): PriceList | undefined {
  const price = costAt(cost, upstream)
  return price && priceListOf({ price })
}

export function costAt(cost: CostConfig | undefined, upstream: string): PriceConfig | undefined {
  if (cost === undefined) return undefined
  return 'upstreams' in cost
    ? (cost.upstreams as Record<string, PriceConfig>)[upstream]
    : (cost as PriceConfig)
}

/** Whether the price of a model is the vendor's list price, which names the vendor's page. */
export function isListPrice({ price }: { price?: PriceConfig }): boolean {
  return price?.source !== undefined
}

/** The vendor's prices of a model by upstream, for operators; null if unknown. */
export function describeCosts(
  { cost }: { cost?: CostConfig },
  upstreams: readonly string[],
): Record<string, DescribedPrices | null> | null {
  if (cost === undefined) return null
  return Object.fromEntries(
    upstreams.map((name) => {
      const list = costListOf({ cost }, name)
      return [name, list ? describePriceList(list) : null]
    }),
  )
}

/** The members of a model that concern its cost. */
interface Costed {
  free?: true
  price?: PriceConfig
  cost?: unknown
}

/** Faults in the cost of a model whose price has none, each with its place below the model. */
export function costFaults(
  { free, price, cost }: Costed,
  upstreams: readonly string[],
  families: readonly Family[],
): string[] {
  if (cost === undefined) return []
  const lists: [place: string, list: unknown][] =
    isObject(cost) && 'upstreams' in cost
      ? Object.entries(asObject(cost.upstreams)).map(([name, list]) => [`.cost.upstreams.${name}`, list])
      : [['.cost', cost]]
  const unlisted = lists.flatMap(([place]) => {
    const name = place.slice('.cost.upstreams.'.length)
    return place === '.cost' || upstreams.includes(name)
      ? []
      : [`${place}: it is not an upstream of this model`]
  })
  const more =
    isObject(cost) && 'upstreams' in cost && Object.keys(cost).length > 1
      ? ['.cost: with upstreams, give prices below each of them only']
      : []
  return [
    ...unlisted,
    ...more,
    ...lists.flatMap(([place, list]) => {
      const faults = priceFaults(list, families)
      const own = faults.length > 0 || free || !price ? faults : unitFaults(list as PriceConfig, price)
      return own.map((fault) => `${place}${fault}`)
    }),
  ]
}

/** Faults of a cost that is counted in other units than the price, or depends on more than the price does. */
function unitFaults(cost: PriceConfig, price: PriceConfig): string[] {
  const [counted, billed] = [unitsOf(price), unitsOf(cost)]
  const unknown = unitsIn(cost).filter((unit) => !counted.has(unit))
  const missing = unitsIn(price).filter((unit) => unit !== 'request' && !billed.has(unit))
  const finer = unitsIn(cost).flatMap((unit) => {
    const { key } = rowOf(unit)
    const [asked, paid] = [cost[key], price[key]]
    if (!isObject(asked) || !counted.has(unit)) return []
    if (!isObject(paid)) return [`.${key}: the price is one amount, so give one amount here too`]
    const lacking = Object.keys(paid).filter((variant) => !(variant in asked))
    return lacking.map((variant) => `.${key}: ${variant} is missing, which the price has`)
  })
  return [
    ...unknown.map(
      (unit) =>
        `.${rowOf(unit).key}: the price has none, so it is not counted; give the price "0.00" for it if callers do not pay it`,
    ),
    ...missing.map(
      (unit) =>
        `: ${rowOf(unit).key} is missing, which the price has; say "0.00" if the vendor asks nothing for it`,
    ),
    ...finer,
  ]
}

/** The units that a price list names. */
function unitsIn(price: PriceConfig): Unit[] {
  return Object.keys(price).flatMap((key) => unitOfKey(key) ?? [])
}

/** The units that a price list has a price for, including those that use another unit's price. */
function unitsOf(price: PriceConfig): Set<Unit> {
  const known = new Set(unitsIn(price))
  for (const unit of units) {
    const { fallback } = rowOf(unit)
    if (fallback && known.has(fallback)) known.add(unit)
  }
  return known
}

/**
 * The configuration with the prices of models that have a cost and a markup: their own, that of their upstreams, or that
 * of all. It may have any fault.
 */
export function withMarkups(value: unknown): { value: unknown; faults: string[] } {
  const { markup, models, upstreams } = asObject(value)
  const faults = [
    ...markupFaults('markup', markup),
    ...Object.entries(asObject(upstreams)).flatMap(([name, upstream]) =>
      markupFaults(`upstreams.${name}.markup`, asObject(upstream).markup),
    ),
  ]
  const priced = Object.entries(asObject(models)).map(([id, entry]): [string, unknown] => {
    if (!isObject(entry)) return [id, entry]
    const sold = sellingOf(entry, { markup, upstreams })
    if (typeof sold !== 'string') return [id, sold]
    faults.push(`models.${id}${sold}`)
    return [id, entry]
  })
  if (!isObject(value) || !isObject(models)) return { value, faults }
  return { value: { ...value, models: Object.fromEntries(priced) }, faults }
}

/** A model with its price, or the fault of its markup. */
function sellingOf(entry: Record<string, unknown>, config: Markups): Record<string, unknown> | string {
  const own = markupFaults('', entry.markup)[0]
  if (own !== undefined) return `.markup${own}`
  if (entry.markup !== undefined && (entry.price !== undefined || entry.free !== undefined))
    return '.markup: a model with a price of its own, or a free one, has no markup'
  if (entry.markup !== undefined && entry.cost === undefined)
    return '.markup: it needs the cost that it is on'
  if (entry.price !== undefined || entry.free !== undefined || !isObject(entry.cost)) return entry
  const markup = markupOf(entry, config)
  if (markup === undefined) return entry
  if (typeof markup === 'object')
    return '.markup: missing; its upstreams have different ones, so it needs its own'
  if ('upstreams' in entry.cost)
    return '.price: missing; a markup needs one cost, and this model has one for each upstream'
  // A cost with faults is reported as it is.
  if (priceFaults(entry.cost, []).length > 0) return { ...entry, price: entry.cost }
  return { ...entry, price: markedUp(entry.cost as PriceConfig, markup) }
}

interface Markups {
  markup: unknown
  upstreams: unknown
}

/**
 * The percentage on the cost of a model, by the nearest setting: its own, that of its upstreams, that of all. A list if its
 * upstreams differ; undefined if none is set.
 */
export function markupOf(
  entry: Record<string, unknown>,
  { markup, upstreams }: Markups,
): string | undefined | string[] {
  if (entry.markup !== undefined) return percentOf(entry.markup)
  const { upstream } = entry
  const names = typeof upstream === 'string' ? [upstream] : Object.keys(asObject(upstream))
  const each = names.map((name) => percentOf(asObject(asObject(upstreams)[name]).markup ?? markup))
  const different = [...new Set(each)]
  return different.length > 1 ? different.map(String) : different[0]
}

function percentOf(markup: unknown): string | undefined {
  return typeof markup === 'string' ? MARKUP.exec(markup)?.[1] : undefined
}

function markupFaults(place: string, markup: unknown): string[] {
  if (markup === undefined || percentOf(markup) !== undefined) return []
  return [`${place}: expected a percentage on the cost such as "20%"`]
}
