// The models of a configuration from an operator's view: all of them, with prices, and why some are unavailable. Nothing here must
// call a vendor.

import { outside } from '../../src/app/world'
import { buildCatalogue, idOfExactName, idOfName } from '../../src/catalogue/models'
import { endingBefore, remindBefore } from '../../src/catalogue/retirement'
import { type Config, isRoute, type ModelConfig, sharesOf } from '../../src/config/schema'
import type { Model } from '../../src/contract/family'
import type { OperationName } from '../../src/contract/operations'
import { isoDay } from '../../src/db/iso-time'
import { upstreamKinds } from '../../src/upstreams/kinds'
import { keysOfUpstream, keyVariableOf } from '../../src/upstreams/secrets'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { CommandFailed } from '../lib/errors'
import { nearNames } from '../lib/near-names'

export interface ListedModel {
  model: Model
  /** The model in each operation that it serves. */
  forms: readonly Model[]
  entry: ModelConfig
  /** Why the model is not available; null if it is. */
  reason: string | null
}

/** A model by its id, with its settings. */
export interface NamedModel {
  id: string
  entry: ModelConfig
}

/** An id that stands for a list of models which are tried in order. */
export interface ListedRoute {
  id: string
  models: readonly string[]
  ownedBy: string
  operations: readonly OperationName[]
  /** Why none of the models is available; null if one is. */
  reason: string | null
}

export interface Availability {
  /** In the sandbox every vendor counts as available. */
  sandbox?: boolean | undefined
  /** Why some are unavailable in a remote gateway; undefined for this machine, whose keys are checked. */
  hidden?: ReadonlyMap<string, string> | undefined
}

/** All models of a configuration. */
export function listModels(config: Config, options: Availability): ListedModel[] {
  const { models } = buildCatalogue(withAllVendors(config), outside)
  const hidden = hiddenIn(config, options)
  return [...models].map(([id, forms]) => ({
    model: forms[0] as Model,
    forms,
    entry: config.models[id] as ModelConfig,
    reason: hidden.get(id) ?? null,
  }))
}

export function listRoutes(config: Config, options: Availability): ListedRoute[] {
  const { models, routes } = buildCatalogue(withAllVendors(config), outside)
  const hidden = hiddenIn(config, options)
  return [...routes].map(([id, route]) => {
    const forms = route.models.flatMap((target) => models.get(target) ?? [])
    const operations = [...new Set(forms.map(({ family }) => family.operation))]
    return { ...route, operations, reason: hidden.get(id) ?? null }
  })
}

function hiddenIn(config: Config, { sandbox, hidden }: Availability): ReadonlyMap<string, string> {
  return hidden ?? buildCatalogue(sandbox ? withAllVendors(config) : config, outside).hidden
}

/** Aliases of a model or a route. */
export function aliasesOf({ aliases = {} }: Config, id: string): string[] {
  return Object.entries(aliases).flatMap(([alias, target]) => (target === id ? [alias] : []))
}

/** The error for unknown ids, with similar known ones, including aliases and the vendors' own names. */
export function noModel(config: Config, names: readonly string[], what = ''): CommandFailed {
  const { models, routes, hidden, aliases, realNames } = buildCatalogue(withAllVendors(config), outside)
  const ids = new Map<string, string>([
    ...realNames,
    ...aliases.map(({ name, target }) => [name, target] as const),
    ...[...models.keys(), ...routes.keys(), ...hidden.keys()].map((id) => [id, id] as const),
  ])
  const near = new Set(
    names.flatMap((name) => nearNames(name, ids.keys()).map((known) => ids.get(known) ?? known)),
  )
  const hint = near.size === 0 ? '; ' : `. Did you mean ${[...near].join(' or ')}? `
  const shown = names.map((name) => `"${name}"`).join(', ')
  return new CommandFailed(`The configuration has no model ${shown}${what}${hint}\`models list\` shows all.`)
}

/** The id of a model or a route by any of its names; an unknown name is returned as it is. */
export function idOf(config: Config, name: string): string {
  return idOfName(buildCatalogue(withAllVendors(config), outside), name)
}

/** One model, available or not. Fails if there is no such model, or if the name is a route. */
export function findModel(config: Config, name: string): ListedModel {
  const id = idOf(config, name)
  const entry = config.models[id]
  if (entry && isRoute(entry)) {
    throw new CommandFailed(
      `"${id}" is a route, priced as the model that answers. Name one of its models: ${entry.route.join(', ')}.`,
    )
  }
  const listed = listModels(config, {}).find(({ model }) => model.id === id)
  if (!listed) {
    throw noModel(config, [name])
  }
  return listed
}

/** A finder of models by any of their names. It returns undefined for an unknown name and for a route. */
export function modelFinder(config: Config): (name: string) => NamedModel | undefined {
  const catalogue = buildCatalogue(withAllVendors(config), outside)
  return (name) => {
    const id = idOfExactName(catalogue, name)
    const entry = id === undefined ? undefined : config.models[id]
    return id !== undefined && entry && !isRoute(entry) ? { id, entry } : undefined
  }
}

/** Unavailable models that are named for each reason; the others are counted. */
const MAX_NAMED = 12

/** Entries for a block: the available models, and the others by reason. */
export function availability(models: readonly { id: string; reason: string | null }[]): [string, string][] {
  return [...Map.groupBy(models, ({ reason }) => reason)]
    .sort(([one], [other]) => Number(one !== null) - Number(other !== null))
    .map(([reason, group]) => {
      const ids = group.map(({ id }) => id)
      if (reason === null) return ['models', ids.join(', ')]
      const more = ids.length - MAX_NAMED
      const named = more > 0 ? [...ids.slice(0, MAX_NAMED), `${more} more`] : ids
      return ['not available', `${named.join(', ')}: ${reason}`]
    })
}

/** Ending models that are named; the others are counted. */
const ENDING_NAMED = 6

/** Models, each as the forms in which it is served. */
type Forms = Iterable<readonly Pick<Model, 'id' | 'retirement'>[]>

/** An entry for a block: the models that have ended at their vendors, or end soon. Empty if no model ends. */
export function endings(models: Forms, now: number): [string, string][] {
  const ending = endingBefore(models, remindBefore(now))
  if (ending.length === 0) return []
  const named = ending.slice(0, ENDING_NAMED)
  const days = [...Map.groupBy(named, ({ retirement }) => retirement.at)].map(([at, group]) => {
    const ids = group.map(({ id }) => id).join(', ')
    return `${ids} ${at <= now ? 'ended' : 'on'} ${isoDay(at)}`
  })
  const more = ending.length - named.length
  const others = more > 0 ? `; ${more} more: gateway doctor --on ${isoDay(remindBefore(now) - 1)}` : ''
  return [['ending', `${days.join('; ')}${others}`]]
}

/** The models that have ended at their vendors or end soon, in the form of JSON output. */
export function endingsJson(models: Forms, now: number) {
  return endingBefore(models, remindBefore(now)).map(({ id, retirement: { at, successor = null } }) => ({
    model: id,
    retires: isoDay(at),
    successor,
  }))
}

/** The number of models of an upstream, and the variable for its API key if that is missing. */
export interface UpstreamModels {
  name: string
  count: number
  variable: string | null
}

/**
 * Models by upstream, the upstream with most models first. A model counts once, at its first upstream that has a key.
 */
export function modelsByUpstream({ upstreams, models }: Config): UpstreamModels[] {
  const counts = new Map<string, UpstreamModels>()
  for (const entry of Object.values(models)) {
    if (isRoute(entry)) continue
    const names = sharesOf(entry).map(([name]) => name)
    const name = names.find((each) => hasKey(upstreams[each])) ?? names[0]
    const upstream = name === undefined ? undefined : upstreams[name]
    if (name === undefined || !upstream) continue
    const kind = upstreamKinds.get(upstream.kind)
    const variable = hasKey(upstream) || !kind ? null : keyVariableOf(kind, upstream)
    counts.set(name, { name, variable, count: (counts.get(name)?.count ?? 0) + 1 })
  }
  return [...counts.values()].sort((one, other) => other.count - one.count)
}

function keyless({ credentials: _credentials, ...entry }: UpstreamConfig): UpstreamConfig {
  return { ...entry, apiKey: null }
}

function hasKey(entry: UpstreamConfig | undefined): boolean {
  return entry !== undefined && keysOfUpstream(upstreamKinds.get(entry.kind), entry) !== undefined
}

function withAllVendors(config: Config): Config {
  const upstreams = Object.entries(config.upstreams).map(([name, entry]) => [
    name,
    hasKey(entry) ? entry : keyless(entry),
  ])
  return { ...config, upstreams: Object.fromEntries(upstreams) }
}
