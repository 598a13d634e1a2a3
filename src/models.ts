// The catalogue: which models there are, ready to use, and why others are not.

import { type Config, familiesOf, type ModelConfig, priceListOf } from './config'
import { families } from './families'
import { type Durations, type Model, pricesOfTier } from './family'
import type { Key } from './keys'
import { mayUse } from './keys'
import { invalidRequest } from './lib/errors'
import type { Operation } from './operations'
import { createUpstream, type Upstream, type UpstreamWorld } from './upstream'
import { upstreamKinds } from './upstreams'

/** Held for the output of a request that sets no limit. */
const DEFAULT_RESERVE_OUTPUT_TOKENS = 4096

export interface Catalogue {
  /** A model that serves several operations stands once for each, in the order of its families. */
  models: ReadonlyMap<string, readonly Model[]>
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
  const models = new Map<string, Model[]>()
  const hidden = new Map<string, string>()
  for (const [id, entry] of Object.entries(config.models)) {
    const upstream = upstreams.get(entry.upstream)
    if (upstream) models.set(id, buildModels(id, entry, upstream))
    else hidden.set(id, missing.get(entry.upstream) ?? `there is no upstream ${entry.upstream}`)
  }
  return { models, upstreams, hidden }
}

function buildModels(id: string, entry: ModelConfig, upstream: Upstream): Model[] {
  const priceList = priceListOf(entry)
  const prices = pricesOfTier(priceList, [])
  const own = familiesOf(entry)
  const bridges = own.flatMap(({ name }) => [...families.values()].filter(({ over }) => over === name))
  return [...own, ...bridges].map((family) => ({
    id,
    family,
    upstream,
    upstreamModel: entry.upstreamModel ?? id,
    ownedBy: entry.ownedBy ?? entry.upstream,
    priceList,
    tariff: prices && { prices, json: JSON.stringify(prices) },
    reasoning: entry.reasoning ?? false,
    reserveOutputTokens: entry.reserveOutputTokens ?? DEFAULT_RESERVE_OUTPUT_TOKENS,
    contextTokens: entry.contextTokens,
    dimensions: entry.dimensions,
    batchSize: entry.batchSize,
    batchTokens: entry.batchTokens,
    sizes: entry.sizes,
    referenceImages: entry.referenceImages,
    mask: entry.mask ?? true,
    durations: entry.durations as Durations | undefined,
  }))
}

/** The model that a request names, for its operation; the same answer for one that does not exist and one that the key may not use. */
export function resolveModel(catalogue: Catalogue, key: Key, operation: Operation, id: unknown): Model {
  if (id === undefined || id === null || id === '') {
    throw invalidRequest(
      'model',
      'You must provide a model: see GET /v1/models for the ids.',
      'missing_required_parameter',
    )
  }
  if (typeof id !== 'string')
    throw invalidRequest('model', "Invalid type for 'model': expected a string.", 'invalid_type')
  const models = catalogue.models.get(id)
  if (!models || !mayUse(key, id)) {
    const shown = id.length > 128 ? `${id.slice(0, 128)}…` : id
    throw invalidRequest(
      'model',
      `The model \`${shown}\` does not exist or this key may not use it. GET /v1/models lists what it may use.`,
      'model_not_found',
    )
  }
  const model = models.find(({ family }) => family.operation === operation.name)
  if (model) return model
  const served = models.map(({ family }) => family.operation).join(' and ')
  throw invalidRequest(
    'model',
    `The model \`${id}\` does not serve ${operation.path}: it is a model for ${served}.`,
    'endpoint_model_mismatch',
  )
}

/** Each model once, whatever it serves. */
export function modelsOf(catalogue: Catalogue, key: Key): Model[] {
  return [...catalogue.models.values()].flatMap(([model]) => (model && mayUse(key, model.id) ? [model] : []))
}
