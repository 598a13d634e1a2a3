// Makes models from what the upstreams of another gateway offer: several upstreams for one name become shares if they are equal,
// and a route if one is tried after another.

import type { PriceConfig } from '../../src/config/models/prices'
import { type Found, type FoundModel, modelIdOf } from './found'

/** A model as one upstream serves it. */
export interface Offer {
  upstream: string
  family: string
  /** The vendor's name for it. */
  upstreamModel: string
  /** Higher ones are tried first. */
  priority: number
  weight: number
  /** Undefined if unknown. */
  price: PriceConfig | 'free' | undefined
  /** Why it has no price; absent if the price is simply unknown. */
  unpriced?: string
}

type Group = Omit<FoundModel, 'id'>

/**
 * Imports the offer for each name used by callers, then for the fallback names. Returns the ids by these names.
 */
export function carryOffers(
  offers: ReadonlyMap<string, readonly Offer[]>,
  found: Found,
  fallbacks: ReadonlyMap<string, readonly string[]> = new Map(),
): Map<string, string> {
  const ids = new Map<string, string>()
  const groups = new Map<string, Group[]>()
  for (const [name, offered] of offers) {
    const id = modelIdOf(name)
    const priced = groupsOf(offered)
    const why =
      id === undefined
        ? 'its name cannot be the id of a model here'
        : priced.length === 0
          ? (offered.find(({ unpriced }) => unpriced !== undefined)?.unpriced ??
            'its price is neither there nor in the built-in catalogue: add it by hand')
          : undefined
    if (id === undefined || why !== undefined) {
      found.left.push({ what: `model ${name}`, why: why ?? '' })
      continue
    }
    ids.set(name, id)
    if (name !== id) found.aliases[name] = id
    if (!groups.has(id)) groups.set(id, priced)
  }
  const models = new Map<string, string[]>()
  for (const [id, priced] of groups) {
    const isAlone = priced.length === 1 && !hasFallbacks(id, ids, fallbacks)
    const own = priced.map((group, index) => ({ id: isAlone ? id : `${id}:${index + 1}`, ...group }))
    found.models.push(...own)
    models.set(
      id,
      own.map((model) => model.id),
    )
  }
  for (const [id, own] of models) {
    if (own.length === 1 && own[0] === id) continue
    const next = namesAfter(id, ids, fallbacks).flatMap((name) => models.get(name) ?? [])
    found.routes[id] = { route: [...new Set([...own, ...next])] }
  }
  return ids
}

/** Fallback ids by the id after which they are tried. */
function namesAfter(
  id: string,
  ids: ReadonlyMap<string, string>,
  fallbacks: ReadonlyMap<string, readonly string[]>,
): string[] {
  return [...fallbacks].flatMap(([name, others]) =>
    ids.get(name) === id ? others.flatMap((other) => ids.get(other) ?? []) : [],
  )
}

function hasFallbacks(...given: Parameters<typeof namesAfter>): boolean {
  return namesAfter(...given).length > 0
}

/** Offers with the same priority for the same model become one with shares. Those without a price are omitted. */
function groupsOf(offers: readonly Offer[]): Group[] {
  const groups = new Map<string, Group>()
  for (const offer of [...offers].sort((one, other) => other.priority - one.priority)) {
    const { priority, family, upstreamModel, price } = offer
    if (price === undefined) continue
    const key = JSON.stringify([priority, family, upstreamModel, price])
    const group = groups.get(key) ?? { upstreams: {}, family, upstreamModel, price }
    group.upstreams[offer.upstream] = Math.max(1, Math.trunc(offer.weight))
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** The variable of a key of an upstream: `MAIN_KEY`, with a number where it has several. */
export function variableOf(upstream: string, index: number, count: number): string {
  const word = upstream.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')
  return `${/^\d/.test(word) ? `CHANNEL_${word}` : word}_KEY${count > 1 ? `_${index + 1}` : ''}`
}
