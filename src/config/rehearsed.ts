// Builds a configuration with other prices, to try them before they are applied. Pure. The result must never be served.

import { type CostConfig, markupOf } from './models/costs'
import { type ModelList, settingsOf } from './models/model-lists'
import type { PlanEntry } from './models/plans'
import { markedUp, type PriceConfig } from './models/prices'
import { type Config, faultsOf, isRoute, type ModelConfig, sharesOf } from './schema'

/** The price and the cost of a model in a configuration. */
export type PricedEntry = Pick<ModelConfig, 'free' | 'price' | 'cost'>
/** The prices of a plan. */
export type PlanPrices = Pick<PlanEntry, 'priceFactor' | 'priceFactors'>

export interface OtherPrices {
  /** A vendor's list. It prices every configured model of that vendor, by the vendor's name for it. */
  list?: Pick<ModelList, 'kind' | 'source' | 'fetchedAt' | 'models'>
  /** Prices of models by id. */
  models?: Readonly<Record<string, PricedEntry>>
  /** Prices that replace those of plans, by the name of the plan. */
  plans?: Readonly<Record<string, PlanPrices>>
}

/** Returns the configuration with other prices, or the faults of the prices. */
export function rehearsedConfig(
  config: Config,
  { list, models: given = {}, plans: factors = {} }: OtherPrices,
): { config: Config } | { faults: string[] } {
  const unknownPlans = Object.keys(factors).filter((name) => !Object.hasOwn(config.plans ?? {}, name))
  if (unknownPlans.length > 0)
    return { faults: unknownPlans.map((name) => `plans.${name}: there is no such plan`) }
  const models = Object.fromEntries(
    Object.entries(config.models).map(([id, entry]) => {
      if (isRoute(entry)) return [id, entry]
      const listed = list ? listedEntry(id, entry, config, list) : entry
      return [id, Object.hasOwn(given, id) ? withPrice(listed, given[id] as PricedEntry) : listed]
    }),
  )
  const plans = Object.fromEntries(
    Object.entries(config.plans ?? {}).map(([name, plan]) => {
      if (!Object.hasOwn(factors, name)) return [name, plan]
      const { priceFactor: _, priceFactors: __, ...others } = plan
      return [name, { ...others, ...factors[name] }]
    }),
  )
  const rehearsed = { ...config, models, ...(config.plans && { plans }) }
  const faults = priceFaultsIn(rehearsed)
  return faults.length > 0 ? { faults } : { config: rehearsed }
}

/** Faults of models and plans; the rest of the configuration is unchanged. */
function priceFaultsIn({ upstreams, models, plans }: Config): string[] {
  const all = faultsOf({ upstreams, models, ...(plans && { plans }) })
  return all.filter((fault) => /^(models|plans)[.:]/.test(fault))
}

/** Replaces the price, the cost and `free` of a model, including those that are absent. */
function withPrice(
  { free: _, price: __, cost: ___, ...entry }: ModelConfig,
  { free, price, cost }: PricedEntry,
): ModelConfig {
  return { ...entry, ...(free && { free }), ...(price && { price }), ...(cost && { cost }) }
}

/** A model at the prices of its vendor's list. If it is free, or states both a price and a cost, only the cost is the vendor's. */
function listedEntry(
  id: string,
  entry: ModelConfig,
  config: Config,
  list: NonNullable<OtherPrices['list']>,
): ModelConfig {
  const name = entry.upstreamModel ?? id
  const isVendors = sharesOf(entry).every(([upstream]) => config.upstreams[upstream]?.kind === list.kind)
  const listed = isVendors && Object.hasOwn(list.models, name) ? list.models[name] : undefined
  if (!listed) return entry
  const { price, free } = settingsOf(listed, { ...list, refused: {} }, false) as PricedEntry
  if (!price) return withPrice(entry, free ? { free } : {})
  const cost = price as CostConfig
  if (entry.free) return withPrice(entry, { free: true, cost })
  const markup = markupOf(entry, { markup: config.markup, upstreams: config.upstreams })
  if (typeof markup === 'string')
    return withPrice(entry, { price: markedUp(price as PriceConfig, markup), cost })
  return entry.cost ? withPrice(entry, { ...entry, cost }) : withPrice(entry, { price })
}
