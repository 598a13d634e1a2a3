// Models that the operator's own servers have listed at run time (`discover` of an upstream): free, and next to configured ones,
// which take precedence. A model with a price must never be added here.

import type { ListedModels } from '../../contract/upstream'
import { upstreamKinds } from '../../upstreams/kinds'
import type { Config, ModelConfig } from '../schema'

/** The models that each upstream has, by its name. */
export type DiscoveredModels = ReadonlyMap<string, ListedModels['models']>

/** Names that a model can have here: without stars or blanks, and of limited length. */
const NAME = /^[!-)+-~]{1,200}$/

/** The configuration with the models of its upstreams that are discovered. */
export function withDiscovered(config: Config, discovered: DiscoveredModels): Config {
  const models: Config['models'] = {}
  for (const [upstream, listed] of discovered) {
    const { discover, kind = '' } = config.upstreams[upstream] ?? {}
    const family = upstreamKinds.get(kind)?.listing?.freeFamily
    if (!discover || !family) continue
    const prefix = discover === true ? `${upstream}/` : discover.slice(0, -1)
    for (const [name, { free, contextTokens, inputModalities }] of Object.entries(listed)) {
      if (!free || !NAME.test(name)) continue
      const model: ModelConfig = { family, upstream, upstreamModel: name, free }
      if (contextTokens !== undefined) model.contextTokens = contextTokens
      if (inputModalities !== undefined)
        model.inputModalities = inputModalities as NonNullable<ModelConfig['inputModalities']>
      models[`${prefix}${name.toLowerCase()}`] ??= model
    }
  }
  return Object.keys(models).length === 0 ? config : { ...config, models: { ...models, ...config.models } }
}
