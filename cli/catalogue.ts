// The models of a configuration as an operator sees them: all of them, priced, and why some are not available.
// Nothing here calls a vendor.

import type { Config, ModelConfig } from '../src/config'
import type { Model } from '../src/family'
import { buildCatalogue } from '../src/models'
import { outside } from '../src/world'
import { CommandFailed } from './errors'

export interface ListedModel {
  model: Model
  /** The same model for each operation that it serves. */
  forms: readonly Model[]
  entry: ModelConfig
  /** Why it is not available; null when it is. */
  reason: string | null
}

/** In the sandbox every vendor is there. */
export function listModels(config: Config, options: { sandbox?: boolean | undefined }): ListedModel[] {
  const { models } = buildCatalogue(withAllVendors(config), outside)
  const { hidden } = buildCatalogue(options.sandbox ? withAllVendors(config) : config, outside)
  return [...models].map(([id, forms]) => ({
    model: forms[0] as Model,
    forms,
    entry: config.models[id] as ModelConfig,
    reason: hidden.get(id) ?? null,
  }))
}

/** One model, available or not. */
export function findModel(config: Config, id: string): ListedModel {
  const listed = listModels(config, {}).find(({ model }) => model.id === id)
  if (!listed) {
    throw new CommandFailed(`The configuration has no model "${id}"; \`models list\` shows all.`)
  }
  return listed
}

/** Entries that say which models are available and which are not and why, for a block. */
export function availability(models: readonly { id: string; reason: string | null }[]): [string, string][] {
  return [...Map.groupBy(models, ({ reason }) => reason)]
    .sort(([one], [other]) => Number(one !== null) - Number(other !== null))
    .map(([reason, group]) => {
      const ids = group.map(({ id }) => id).join(', ')
      return reason === null ? ['models', ids] : ['not available', `${ids}: ${reason}`]
    })
}

function withAllVendors(config: Config): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, entry]) => [
    name,
    { ...entry, apiKey: entry.apiKey ?? null },
  ])
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}
