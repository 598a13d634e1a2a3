// The settings of a route, an entry of `models` in the configuration, and what can be wrong with them beyond their form.

import { type Static, Type } from '@sinclair/typebox'
import { isObject } from '../../lib/objects'
import { closed, optionalSetting, requiredSetting } from '../../lib/setting'

/** Why a route goes on to its next model, besides failures: what was asked or answered. */
export const FALLBACK_REASONS = ['too_long', 'empty', 'filtered'] as const
export type FallbackReason = (typeof FALLBACK_REASONS)[number]

/** A filter's verdict is a decision of a vendor that an operator may want to keep, and the vendor is paid for it. */
const DEFAULT_FALLBACK: readonly FallbackReason[] = ['too_long', 'empty']

export const FallbackEntry = Type.Object(
  {
    on: requiredSetting(
      '`too_long`: the vendor refuses the prompt for its length. `empty`: an answer without any output. `filtered`: a prompt or an answer that a filter of the vendor held back. `[]`: none of them. Default `["too_long", "empty"]`.',
      Type.Array(Type.Union(FALLBACK_REASONS.map((reason) => Type.Literal(reason))), {
        maxItems: FALLBACK_REASONS.length,
        uniqueItems: true,
      }),
    ),
  },
  closed,
)

export const RouteEntry = Type.Object(
  {
    route: requiredSetting(
      'Models that are tried in this order, until one answers.',
      Type.Array(Type.String(), { minItems: 1, maxItems: 16 }),
    ),
    fallback: optionalSetting(
      'What the next model is tried for, besides connection errors, 429 and 5xx (docs/operate/routes.md). Default: prompts that are too long, and empty answers.',
      FallbackEntry,
    ),
    ownedBy: optionalSetting(
      'What `GET /v1/models` says of its owner. Default `route`.',
      Type.String({ minLength: 1 }),
    ),
  },
  closed,
)
export type RouteConfig = Static<typeof RouteEntry>

/** The reasons for which a route goes on to its next model. */
export function fallbackOf({ fallback }: RouteConfig): ReadonlySet<FallbackReason> {
  return new Set(fallback?.on ?? DEFAULT_FALLBACK)
}

/** Faults of a route, each with its place below the entry. */
export function routeFaults({ route }: RouteConfig, models: ReadonlyMap<string, unknown>): string[] {
  return route.flatMap((id, index) => {
    if (route.indexOf(id) < index) return [`.route: "${id}" stands there twice`]
    const target = models.get(id)
    if (target === undefined) return [`.route: there is no model "${id}"`]
    return isObject(target) && 'route' in target ? [`.route: "${id}" is a route itself`] : []
  })
}
