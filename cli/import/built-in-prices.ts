// Prices of the built-in catalogue by the vendors' own names of models, for models whose price another gateway has in its
// program and not in its database.

import builtIn from '../../gateway.config'
import type { PriceConfig } from '../../src/config/models/prices'
import { type Config, isRoute } from '../../src/config/schema'

const catalogue: Config = builtIn

/** The price of a model of a vendor in a family; undefined if the catalogue does not have it. */
export function builtInPrice(upstreamModel: string, family: string): PriceConfig | undefined {
  for (const [id, model] of Object.entries(catalogue.models)) {
    if (isRoute(model) || model.price === undefined) continue
    if ((model.upstreamModel ?? id) === upstreamModel && [model.family].flat().includes(family))
      return model.price
  }
  return undefined
}

/** The ratio of the output price to the input price; undefined if the catalogue does not contain it. */
export function builtInOutputRatio(upstreamModel: string, family: string): number | undefined {
  const price = builtInPrice(upstreamModel, family)
  const ratio = Number(price?.per_1m_output_tokens) / Number(price?.per_1m_input_tokens)
  return Number.isFinite(ratio) ? ratio : undefined
}
