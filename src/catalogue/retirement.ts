// Models that their vendors retire on a known day, and the models that replace them. Pure.

import { type Config, isRoute, sharesOf } from '../config/schema'
import type { Model } from '../contract/family'
import type { Retirement } from '../contract/retirement'
import { isoDay } from '../db/iso-time'

interface RetirementSettings {
  price?: { as_of?: string }
  retires?: string
  successor?: string
  onRetirement?: 'successor'
}

/** The retirement of a model by its settings; undefined if its vendor has not announced one. */
export function retirementOf(settings: RetirementSettings): Retirement | undefined {
  const { retires, successor, onRetirement, price } = settings
  if (retires === undefined) return undefined
  return {
    // A date without a time is in UTC, and one without a day is the first of its month.
    at: Date.parse(retires),
    knownAt: Math.min(Date.parse(price?.as_of ?? retires), Date.parse(retires)),
    handsOver: onRetirement === 'successor',
    ...(successor !== undefined && { successor }),
  }
}

/**
 * The id of the model that serves a request for `id`: the model itself, or the last of its successors that took over before
 * `now`. `formsOf` finds the forms of an id that serve the operation, and `idOf` the id of a name.
 */
export function servingId(
  id: string,
  now: number,
  formsOf: (id: string) => readonly Pick<Model, 'retirement'>[],
  idOf: (name: string) => string | undefined,
): string {
  const passed = new Set<string>()
  for (let serving = id; !passed.has(serving); ) {
    passed.add(serving)
    const { at = Infinity, handsOver, successor } = formsOf(serving)[0]?.retirement ?? {}
    if (!handsOver || successor === undefined || at > now) return serving
    const next = idOf(successor)
    // A successor that is not served here leaves the request with the vendor, whose refusal says why.
    if (next === undefined || formsOf(next).length === 0) return serving
    serving = next
  }
  return id
}

/** A model that retires. */
export interface EndingModel {
  id: string
  retirement: Retirement
}

/** How long before its retirement an operator is reminded of a model, in milliseconds. */
const REMIND_MS = 30 * 24 * 60 * 60 * 1_000

/** The retirement time before which an operator is reminded of models now. */
export function remindBefore(now: number): number {
  return now + REMIND_MS
}

/** The models that have retired or retire before a time, soonest first. */
export function endingBefore(
  models: Iterable<readonly Pick<Model, 'id' | 'retirement'>[]>,
  before: number,
): EndingModel[] {
  return [...models]
    .flatMap(([model]) =>
      model?.retirement && model.retirement.at < before
        ? [{ id: model.id, retirement: model.retirement }]
        : [],
    )
    .sort((one, other) => one.retirement.at - other.retirement.at)
}

/** The retirement days of an upstream's models, by the vendor's names; undefined for one without such a day. */
export function endsAt({ models }: Config, upstream: string): ReadonlyMap<string, string | undefined> {
  return new Map(
    Object.entries(models).flatMap(([id, entry]) => {
      if (isRoute(entry) || !sharesOf(entry).some(([name]) => name === upstream)) return []
      const { upstreamModel = id, retires } = entry
      return [[upstreamModel, retires === undefined ? undefined : isoDay(Date.parse(retires))] as const]
    }),
  )
}

/** Headers that announce the retirement of a model: `deprecation` of RFC 9745 and `sunset` of RFC 8594, and its successor. */
export function retirementHeaders({ at, knownAt, successor }: Retirement): Record<string, string> {
  return {
    deprecation: `@${Math.floor(knownAt / 1_000)}`,
    sunset: new Date(at).toUTCString(),
    ...(successor !== undefined && { 'x-gateway-successor': successor }),
  }
}
