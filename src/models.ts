// The catalogue: which models there are, ready to use, and why others are not.

import { type Config, pricesOf } from './config'
import { families } from './families'
import type { Family, Model } from './family'
import type { Key } from './keys'
import { mayUse } from './keys'
import { invalidRequest } from './lib/errors'
import { createUpstream, type Upstream, type UpstreamWorld } from './upstream'
import { upstreamKinds } from './upstreams'

/** Held for the output of a request that sets no limit. */
const DEFAULT_RESERVE_OUTPUT_TOKENS = 4096

export interface Catalogue {
  models: ReadonlyMap<string, Model>
  upstreams: ReadonlyMap<string, Upstream>
  /** Models that are configured but cannot be used now, with the reason. */
  hidden: ReadonlyMap<string, string>
}

/** Builds the catalogue of a configuration that has no faults. */
export function buildCatalogue(config: Config, world: UpstreamWorld): Catalogue {
  const upstreams = new Map<string, Upstream>()
  const missing = new Map<string, string>()
  for (const [name, entry] of Object.entries(config.upstreams)) {
    const kind = upstreamKinds.get(entry.kind)
    if (!kind) throw new Error(`unknown upstream kind ${entry.kind}`)
    if (entry.apiKey === undefined) {
      missing.set(
        name,
        `upstream ${name} has no API key: set ${kind.secretVariable}, or apiKey in the configuration`,
      )
    } else {
      upstreams.set(name, createUpstream(name, kind, entry, world))
    }
  }
  const models = new Map<string, Model>()
  const hidden = new Map<string, string>()
  for (const [id, entry] of Object.entries(config.models)) {
    const upstream = upstreams.get(entry.upstream)
    const family = families.get(entry.family) as Family
    if (!upstream) {
      hidden.set(id, missing.get(entry.upstream) ?? `there is no upstream ${entry.upstream}`)
      continue
    }
    const prices = pricesOf(entry)
    models.set(id, {
      id,
      family,
      upstream,
      upstreamModel: entry.upstreamModel ?? id,
      ownedBy: entry.ownedBy ?? entry.upstream,
      prices,
      pricesJson: JSON.stringify(prices),
      reasoning: entry.reasoning ?? false,
      reserveOutputTokens: entry.reserveOutputTokens ?? DEFAULT_RESERVE_OUTPUT_TOKENS,
      contextTokens: entry.contextTokens,
      dimensions: entry.dimensions,
      batchSize: entry.batchSize,
      batchTokens: entry.batchTokens,
    })
  }
  return { models, upstreams, hidden }
}

/** The model that a request names; the same answer for one that does not exist and one that the key may not use. */
export function resolveModel(catalogue: Catalogue, key: Key, id: unknown): Model {
  if (id === undefined || id === null || id === '') {
    throw invalidRequest(
      'model',
      'You must provide a model: see GET /v1/models for the ids.',
      'missing_required_parameter',
    )
  }
  if (typeof id !== 'string')
    throw invalidRequest('model', "Invalid type for 'model': expected a string.", 'invalid_type')
  const model = catalogue.models.get(id)
  if (!model || !mayUse(key, id)) {
    const shown = id.length > 128 ? `${id.slice(0, 128)}…` : id
    throw invalidRequest(
      'model',
      `The model \`${shown}\` does not exist or this key may not use it. GET /v1/models lists what it may use.`,
      'model_not_found',
    )
  }
  return model
}

export function modelsOf(catalogue: Catalogue, key: Key): Model[] {
  return [...catalogue.models.values()].filter(({ id }) => mayUse(key, id))
}
