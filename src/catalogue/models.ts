// The catalogue: which models are ready to use, and why others are not. It must never reveal a model to a key that may
// not use it.

import { type Key, mayUse } from '../accounts/keys'
import { costListOf, isListPrice } from '../config/models/costs'
import { priceListOf } from '../config/models/prices'
import { cachingOf } from '../config/models/response-cache'
import {
  type ConditionConfig,
  type FallbackReason,
  fallbackOf,
  type Preference,
} from '../config/models/route-entry'
import { type Config, familiesOf, isRoute, type ModelConfig, sharesOf } from '../config/schema'
import type { Durations, Family, Model } from '../contract/family'
import { type Operation, type OperationName, operationOf } from '../contract/operations'
import { tariffOfVariant } from '../contract/prices'
import type { Upstream } from '../contract/upstream'
import { families } from '../families'
import { knownModel, traitsOf } from '../families/traits/known-models'
import { invalidRequest } from '../lib/errors'
import { drawOf, hashOf, scoreOf } from '../lib/rendezvous'
import type { System } from '../lib/system'
import type { UpstreamWorld } from '../upstreams/connection'
import { upstreamKinds } from '../upstreams/kinds'
import { keysOfUpstream, keyVariableOf } from '../upstreams/secrets'
import { createUpstream } from '../upstreams/upstream'
import { canBeBridged } from './operator-fields'
import { retirementOf, servingId } from './retirement'

/** Tokens held for the output of a request that sets no limit. */
const DEFAULT_RESERVE_OUTPUT_TOKENS = 4096

/** The families that translate to another, by its name. */
const bridges = Map.groupBy(families.values(), ({ over }) => over)

/** An id for several models. */
export interface ModelRoute {
  id: string
  models: readonly string[]
  ownedBy: string
  /** Reasons, other than failures, for trying the next model. */
  fallback: ReadonlySet<FallbackReason>
  /** Conditions by the ids of models; absent: none. */
  when?: Readonly<Record<string, ConditionConfig>> | undefined
  /** The figure by which the models are ordered; absent: the order of the list. */
  prefer?: Preference | undefined
}

export interface Catalogue {
  /** Models by id: one entry for each operation that the model serves and each of its connections. */
  models: ReadonlyMap<string, readonly Model[]>
  /** Ids of routes: lists of models that are tried in order. */
  routes: ReadonlyMap<string, ModelRoute>
  aliases: readonly { name: string; target: string }[]
  /** The vendors' own names for models, each with the id here. A name shared by two models is omitted. */
  realNames: ReadonlyMap<string, string>
  upstreams: ReadonlyMap<string, Upstream>
  /** Models that are configured but unavailable, with the reason. */
  hidden: ReadonlyMap<string, string>
}

/**
 * Builds the catalogue of a configuration that has no faults. Upstreams with the same settings as in `before` are reused.
 */
export function buildCatalogue(
  config: Config,
  world: UpstreamWorld,
  before?: { config: Config; catalogue: Catalogue },
): Catalogue {
  const upstreams = new Map<string, Upstream>()
  const missing = new Map<string, string>()
  for (const [name, entry] of Object.entries(config.upstreams)) {
    const kind = upstreamKinds.get(entry.kind)
    if (!kind) throw new Error(`unknown upstream kind ${entry.kind}`)
    if (keysOfUpstream(kind, entry) === undefined) {
      missing.set(
        name,
        `upstream ${name} has no API key: set ${keyVariableOf(kind, entry)}, or apiKey in the configuration`,
      )
    } else {
      // Files that an entry names may have changed under the same name.
      const namesFiles = entry.apiKeyFile !== undefined || entry.tls !== undefined
      const isSame = !namesFiles && Bun.deepEquals(before?.config.upstreams[name], entry)
      const same = isSame ? before?.catalogue.upstreams.get(name) : undefined
      upstreams.set(name, same ?? createUpstream(name, kind, entry, world))
    }
  }
  const models = new Map<string, Model[]>()
  const hidden = new Map<string, string>()
  const routes = new Map<string, ModelRoute>()
  for (const [id, entry] of Object.entries(config.models)) {
    if (isRoute(entry)) {
      const { route, ownedBy = 'route', when, prefer } = entry
      routes.set(id, { id, models: route, ownedBy, fallback: fallbackOf(entry), when, prefer })
      continue
    }
    const shares = sharesOf(entry)
    const built = shares.flatMap(([name, share]) => {
      const upstream = upstreams.get(name)
      return upstream ? buildModels(id, entry, upstream, share) : []
    })
    if (built.length > 0) models.set(id, built)
    else
      hidden.set(id, shares.map(([name]) => missing.get(name) ?? `there is no upstream ${name}`).join('; '))
  }
  for (const [id, { models: ids }] of routes) {
    if (!ids.some((target) => models.has(target))) hidden.set(id, `none of ${ids.join(', ')} is available`)
  }
  // Most specific first: names without a star, then the longest prefix.
  const aliases = Object.entries(config.aliases ?? {})
    .map(([name, target]) => ({ name, target }))
    .sort(
      (a, b) => Number(a.name.endsWith('*')) - Number(b.name.endsWith('*')) || b.name.length - a.name.length,
    )
  return { models, routes, aliases, realNames: realNamesOf(config), upstreams, hidden }
}

function realNamesOf({ models, realNames = true }: Config): Map<string, string> {
  const named = Object.entries(models).flatMap(([id, entry]): [name: string, id: string][] =>
    isRoute(entry) || !entry.upstreamModel || entry.upstreamModel in models
      ? []
      : [[entry.upstreamModel, id]],
  )
  const groups = Map.groupBy(realNames ? named : [], ([name]) => name)
  return new Map([...groups.values()].filter(({ length }) => length === 1).flat())
}

/**
 * The prices of a model, built when they are first needed: they have no faults, and a start with a thousand models must not wait
 * for those that nobody calls.
 */
function pricesOf(
  entry: ModelConfig,
  upstream: Upstream,
): () => Pick<Model, 'priceList' | 'costList' | 'tariff'> {
  let made: ReturnType<ReturnType<typeof pricesOf>> | undefined
  return () => {
    if (made) return made
    const priceList = priceListOf(entry)
    const costList = costListOf(entry, upstream.name)
    made = { priceList, costList, tariff: tariffOfVariant(priceList, [], costList) }
    return made
  }
}

function buildModels(id: string, entry: ModelConfig, upstream: Upstream, share: number): Model[] {
  const prices = pricesOf(entry, upstream)
  const upstreamModel = entry.upstreamModel ?? id
  const known = knownModel(upstreamModel)
  const traits = traitsOf(entry, known, upstream.kind)
  const retirement = retirementOf(entry)
  const modelOf = (family: Family): Model => ({
    id,
    family,
    upstream,
    upstreamModel,
    share,
    // Not the name of the upstream, which is private to the operator.
    ownedBy: entry.ownedBy ?? upstream.kind,
    ...(retirement && { retirement }),
    isListPrice: isListPrice(entry),
    get priceList() {
      return prices().priceList
    },
    get costList() {
      return prices().costList
    },
    get tariff() {
      return prices().tariff
    },
    cache: entry.cache && cachingOf(entry.cache),
    strictFields: entry.strictFields ?? false,
    traits,
    reserveOutputTokens: entry.reserveOutputTokens ?? DEFAULT_RESERVE_OUTPUT_TOKENS,
    maxOutputTokens: entry.maxOutputTokens ?? known?.maxOutputTokens,
    contextTokens: entry.contextTokens ?? known?.contextTokens,
    inputModalities: entry.inputModalities ?? known?.inputModalities,
    dimensions: entry.dimensions ?? known?.dimensions,
    batchSize: entry.batchSize ?? known?.batchSize,
    batchTokens: entry.batchTokens ?? known?.batchTokens,
    sizes: entry.sizes,
    referenceImages: entry.referenceImages,
    mask: entry.mask ?? true,
    durations: entry.durations as Durations | undefined,
    maxInputSeconds: entry.maxInputSeconds,
    voices: entry.voices,
  })
  return familiesFor(familiesOf(entry), modelOf)
    .map(modelOf)
    .filter((model) => model.family.serves?.(model) ?? true)
}

/**
 * The families of a model: those that its configuration names, and for each of these the families that translate to it: one
 * for each operation. An operation that is already served has a second family only for requests that need it.
 */
function familiesFor(named: readonly Family[], modelOf: (family: Family) => Model): Family[] {
  const all = [...named]
  const add = (family: Family, native: Family) => {
    const model = modelOf(family)
    const isServed = all.some(({ operation }) => operation === family.operation)
    const isChoice = family.takes !== undefined && (family.takesSome?.(model) ?? true)
    if (all.includes(family) || (isServed && !isChoice)) return
    if (canBeBridged(family, native, model.upstream.operatorFields)) all.push(family)
  }
  const addBridges = (native: Family) => {
    for (const bridge of bridges.get(native.name) ?? []) add(bridge, native)
  }
  named.forEach(addBridges)
  for (const native of named) {
    const { additional } = native
    const other = additional?.isNeeded(modelOf(native)) ? families.get(additional.family) : undefined
    if (!other || named.includes(other)) continue
    add(other, native)
    addBridges(other)
  }
  return all
}

/**
 * The models that a request names: one, or those of a route in the order in which they are tried, each with its equal
 * connections, at the prices of the key's plan. Throws the same error for a missing model and for one that the key may not use.
 */
export function resolveModels(
  catalogue: Catalogue,
  key: Key,
  operation: Operation,
  requested: unknown,
  system: Pick<System, 'now'>,
): [Model, ...Model[]] {
  const listed = resolveListed(catalogue, key, operation, requested, system)
  const { plan } = key
  if (!plan) return listed
  const [first, ...others] = listed
  return [plan.priced(first), ...others.map((model) => plan.priced(model))]
}

/** The route that a request names; undefined for a model. */
export function routeOf(catalogue: Catalogue, requested: unknown): ModelRoute | undefined {
  const { models, routes } = catalogue
  if (routes.size === 0 || typeof requested !== 'string' || models.has(requested)) return undefined
  return routes.get(requested) ?? routes.get(idOfName(catalogue, requested))
}

function resolveListed(
  catalogue: Catalogue,
  key: Key,
  operation: Operation,
  requested: unknown,
  { now }: Pick<System, 'now'>,
): [Model, ...Model[]] {
  const isOpen = operation.modelIsOptional && (requested === undefined || requested === null)
  const named = isOpen ? firstIdFor(catalogue, key, operation) : idOf(catalogue, requested)
  const route = catalogue.routes.get(named)
  const id = route ? named : servingNow(catalogue, named, operation, now)
  // Nearly every request names one model with one connection, so no lists are made for it.
  const only = route || !mayUse(key, named) ? undefined : onlyForm(catalogue.models.get(id) ?? [], operation)
  if (only) return [only]
  const ids = route?.models.map((each) => servingNow(catalogue, each, operation, now)) ?? [id]
  const equals = route || !mayUse(key, named) ? undefined : formsServing(catalogue.models.get(id), operation)
  if (equals) return equals
  const known = mayUse(key, named) ? ids.flatMap((each) => catalogue.models.get(each) ?? []) : []
  const serves = known.some(({ family }) => family.operation === operation.name)
  // A pattern matches only models that serve the operation: `gpt-*` never matches a voice.
  if (known.length === 0 || (!serves && isMatchedByStar(catalogue, requested))) {
    // By the requested name: the error must not reveal the model of an alias.
    throw invalidRequest(
      'model',
      unknownModel(catalogue, key, requested as string, operation),
      'model_not_found',
    )
  }
  const [first, ...others] = ids.flatMap((each) =>
    known.filter(({ id, family }) => id === each && family.operation === operation.name),
  )
  if (first) return [first, ...others]
  const served = [...new Set(known.map(({ family }) => family.operation))]
  const paths = served.map((name) => `POST ${operationOf(name).path}`)
  throw invalidRequest(
    'model',
    `The model \`${id}\` does not serve ${operation.path}: it is a model for ${listed(served, 'and')}. Use ${listed(paths, 'or')}.`,
    'endpoint_model_mismatch',
  )
}

/** The id of the model that serves a request for a model: itself, or a successor that has taken over. */
function servingNow(catalogue: Catalogue, id: string, operation: Operation, now: () => number): string {
  // The clock is read only for the few models with a retirement date.
  if (!catalogue.models.get(id)?.[0]?.retirement?.handsOver) return id
  const formsOf = (each: string) =>
    (catalogue.models.get(each) ?? []).filter(({ family }) => family.operation === operation.name)
  return servingId(id, now(), formsOf, (name) => idOfExactName(catalogue, name))
}

/** Maximum number of models that an error lists before it refers to the list. */
const MAX_NAMED = 5

/** The message for a name that no model of the key has: the models that it may use, and how to give one of them that name. */
export function unknownModel(catalogue: Catalogue, key: Key, name: string, operation?: Operation): string {
  const shown = name.length > 128 ? `${name.slice(0, 128)}…` : name
  const usable = modelsOf(catalogue, key).filter(
    ({ id }) =>
      operation === undefined ||
      formsBehind(catalogue, id).some(({ family }) => family.operation === operation.name),
  )
  const place = operation ? ` for ${operation.path}` : ''
  const [first] = usable
  if (!first) {
    return `The model \`${shown}\` does not exist or this key may not use it. This key may not use any model${place}.`
  }
  const named = usable.slice(0, MAX_NAMED).map(({ id }) => id)
  const others = usable.length > MAX_NAMED ? ` and ${usable.length - MAX_NAMED} more` : ''
  return [
    `The model \`${shown}\` does not exist or this key may not use it.`,
    `This key may use${place}: ${named.join(', ')}${others}. GET /v1/models lists all.`,
    `The operator can give a model this name by \`aliases\` in the configuration: { ${JSON.stringify(shown)}: "${first.id}" }.`,
  ].join(' ')
}

/** The forms of a model, or of all models of a route. */
export function formsBehind({ models, routes }: Catalogue, id: string): readonly Model[] {
  return (routes.get(id)?.models ?? [id]).flatMap((each) => models.get(each) ?? [])
}

/** Words joined as in a sentence: `chat, messages and responses`. */
function listed(words: readonly string[], before: 'and' | 'or'): string {
  const most = words.slice(0, -1)
  return most.length === 0 ? words.join('') : `${most.join(', ')} ${before} ${words.at(-1)}`
}

/** The first model of the catalogue that serves an operation, for a request that names none. */
function firstIdFor({ models }: Catalogue, key: Key, { name, path }: Operation): string {
  for (const [id, forms] of models) {
    if (mayUse(key, id) && forms.some(({ family }) => family.operation === name)) return id
  }
  throw invalidRequest(
    'model',
    `No model that this key may use serves ${path}. GET /v1/models lists what it may use.`,
    'model_not_found',
  )
}

/** The only form that serves an operation; undefined if none or several do. */
function onlyForm(forms: readonly Model[], operation: Operation): Model | undefined {
  let only: Model | undefined
  for (const form of forms) {
    if (form.family.operation !== operation.name) continue
    if (only) return undefined
    only = form
  }
  return only
}

/** The forms of models for an operation, by its name. */
const serving = new WeakMap<readonly Model[], Map<OperationName, [Model, ...Model[]]>>()

/** The forms of a model that serve an operation, the same list each time; undefined if no form serves it. */
function formsServing(
  forms: readonly Model[] | undefined,
  { name }: Operation,
): [Model, ...Model[]] | undefined {
  if (!forms) return undefined
  const known = serving.get(forms) ?? new Map<OperationName, [Model, ...Model[]]>()
  serving.set(forms, known)
  const found = known.get(name)
  if (found) return found
  const [first, ...others] = forms.filter(({ family }) => family.operation === name)
  if (!first) return undefined
  known.set(name, [first, ...others])
  return [first, ...others]
}

/** The id for a requested name. Another name never hides a model with that id. */
function idOf(catalogue: Catalogue, requested: unknown): string {
  if (requested === undefined || requested === null || requested === '') {
    throw invalidRequest(
      'model',
      'You must provide a model: see GET /v1/models for the ids.',
      'missing_required_parameter',
    )
  }
  if (typeof requested !== 'string')
    throw invalidRequest('model', "Invalid type for 'model': expected a string.", 'invalid_type')
  return idOfName(catalogue, requested)
}

/** The id of a model by any of its names: its id, an alias, the vendor's own name, or a prefix of one. */
export function idOfName(catalogue: Catalogue, requested: string): string {
  const { aliases, realNames, models, routes, hidden } = catalogue
  if (models.has(requested) || routes.has(requested) || hidden.has(requested)) return requested
  const alias = aliases.find(({ name }) =>
    name.endsWith('*') ? requested.startsWith(name.slice(0, -1)) : requested === name,
  )
  if (alias?.name === requested) return alias.target
  return realNames.get(requested) ?? alias?.target ?? requested
}

/** The id of the model or route whose id, alias or vendor's name is exactly this name; undefined for other names. */
export function idOfExactName(catalogue: Catalogue, name: string): string | undefined {
  const id = idOfName(catalogue, name)
  const { models, routes, hidden } = catalogue
  if (isMatchedByStar(catalogue, name)) return undefined
  return models.has(id) || routes.has(id) || hidden.has(id) ? id : undefined
}

/** Whether a name reaches a model only through an alias with a star. */
function isMatchedByStar(catalogue: Catalogue, requested: unknown): boolean {
  if (typeof requested !== 'string') return false
  const { aliases, realNames } = catalogue
  const isOwn = realNames.has(requested) || aliases.some(({ name }) => name === requested)
  return !isOwn && idOfName(catalogue, requested) !== requested
}

/**
 * Candidates with the equal connections of each model in the order in which they are tried: in a fixed order for the hash of a
 * session, at random without one. Each is first as often as its share says.
 */
export function inOrderOfSession(
  candidates: readonly [Model, ...Model[]],
  session: number | undefined,
  random: () => number,
): [Model, ...Model[]] {
  const scored = candidates.map((model) => {
    const draw = session === undefined ? random() : drawOf(session, hashOf(model.upstream.name))
    const place = candidates.findIndex(({ id }) => id === model.id)
    return { model, place, score: scoreOf(draw, model.share) }
  })
  scored.sort((one, other) => one.place - other.place || other.score - one.score)
  return scored.map(({ model }) => model) as [Model, ...Model[]]
}

/** The forms of a model at the prices of a key's plan; empty for an unknown one. */
export function formsFor({ models }: Pick<Catalogue, 'models'>, { plan }: Key, id: string): readonly Model[] {
  const forms = models.get(id) ?? []
  return plan ? forms.map((model) => plan.priced(model)) : forms
}

export interface ListedModel {
  id: string
  ownedBy: string
}

/** The models that a key may request, each once, whatever it serves, and the routes. */
export function modelsOf(catalogue: Catalogue, key: Key): ListedModel[] {
  const models = [...catalogue.models.values()].flatMap(([model]) => (model ? [model] : []))
  const routes = [...catalogue.routes].flatMap(([id, { ownedBy }]) =>
    catalogue.hidden.has(id) ? [] : [{ id, ownedBy }],
  )
  return [...models, ...routes].filter(({ id }) => mayUse(key, id))
}
