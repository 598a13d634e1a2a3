// The settings of a route, an entry of `models` in the configuration, and their faults beyond their form.

import { type Static, Type } from '@sinclair/typebox'
import { streamOf } from '../../contract/family'
import { families } from '../../families'
import { asObject, isObject } from '../../lib/objects'
import { Count, closed, optionalSetting, requiredSetting } from '../../lib/setting'
import { METADATA_NAME } from '../usage'

/** Why a route continues with its next model, apart from failures: because of the request or the answer. */
export const FALLBACK_REASONS = ['too_long', 'empty', 'filtered'] as const
export type FallbackReason = (typeof FALLBACK_REASONS)[number]

/** A filter's verdict is a vendor's decision that an operator may want to keep, and the vendor is paid for it. */
const DEFAULT_FALLBACK: readonly FallbackReason[] = ['too_long', 'empty']

export const FallbackEntry = Type.Object(
  {
    on: requiredSetting(
      '`too_long`: the prompt does not fit the model, by a count here or by the vendor\'s refusal. `empty`: an answer without any output. `filtered`: a prompt or an answer withheld by a filter of the vendor. `[]`: none of them. Default `["too_long", "empty"]`.',
      Type.Array(Type.Union(FALLBACK_REASONS.map((reason) => Type.Literal(reason))), {
        maxItems: FALLBACK_REASONS.length,
        uniqueItems: true,
      }),
    ),
  },
  closed,
)

const Values = Type.Union([
  Type.String({ minLength: 1, maxLength: 200 }),
  Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 50 }),
])

export const ConditionEntry = Type.Object(
  {
    header: optionalSetting(
      'Headers of the request with the value, or the list of values, of each: `{ "x-team": ["legal", "hr"] }`. A value that ends with a star matches every text with that prefix, and `*` matches any.',
      Type.Record(Type.String(), Values, { minProperties: 1 }),
    ),
    tag: optionalSetting(
      'The same for metadata, read like `usage.metadata`: `{ team: "legal" }`.',
      Type.Record(Type.String(), Values, { minProperties: 1 }),
    ),
    promptTokens: optionalSetting(
      'Number of tokens in the prompt, counted from its texts: `{ min: 30000 }`, `{ max: 29999 }` or both.',
      Type.Object({ min: Type.Optional(Count), max: Type.Optional(Count) }, { ...closed, minProperties: 1 }),
    ),
  },
  { ...closed, minProperties: 1 },
)
export type ConditionConfig = Static<typeof ConditionEntry>

/** The figures by which a route orders its models. */
export const PREFERENCES = ['cheapest', 'fastest', 'least_busy'] as const
export type Preference = (typeof PREFERENCES)[number]

export const RouteEntry = Type.Object(
  {
    route: requiredSetting(
      'Models that are tried in this order, until one answers.',
      Type.Array(Type.String(), { minItems: 1, maxItems: 16 }),
    ),
    fallback: optionalSetting(
      'When the next model is tried, in addition to connection errors, 429 and 5xx (docs/operate/routes.md). Default: after too long prompts and empty answers.',
      FallbackEntry,
    ),
    when: optionalSetting(
      'Conditions of models, by their ids: `{ large: { promptTokens: { min: 30000 } } }`. A model is tried only if all parts of its condition are true. Default: none.',
      Type.Record(Type.String(), ConditionEntry),
    ),
    prefer: optionalSetting(
      'The order in which the models are tried, decided for each request (docs/operate/routes.md). `cheapest`: by the maximum price for the caller. `fastest`: by the time to the first output of streams. `least_busy`: by the number of running calls. Default: the order of `route`.',
      Type.Union(PREFERENCES.map((preference) => Type.Literal(preference))),
    ),
    ownedBy: optionalSetting(
      'The owner shown by `GET /v1/models`. Default `route`.',
      Type.String({ minLength: 1 }),
    ),
  },
  closed,
)
export type RouteConfig = Static<typeof RouteEntry>

/** The reasons for which a route continues with its next model. */
export function fallbackOf({ fallback }: RouteConfig): ReadonlySet<FallbackReason> {
  return new Set(fallback?.on ?? DEFAULT_FALLBACK)
}

/** Faults of a route, each with its place below the entry. */
export function routeFaults(entry: RouteConfig, models: ReadonlyMap<string, unknown>): string[] {
  const { route, when = {} } = entry
  const faults = memberFaults(route, models)
  const useless = faults.length === 0 ? uselessPreference(entry, models) : undefined
  if (useless) faults.push(`.prefer: ${useless}`)
  for (const [id, condition] of Object.entries(when)) {
    const place = `.when.${id}`
    if (!route.includes(id)) faults.push(`${place}: it is not on the route: use one of ${route.join(', ')}`)
    else faults.push(...conditionFaults(condition, models.get(id)).map((fault) => `${place}${fault}`))
  }
  return faults
}

/** Why a preference could never choose between the models of its route, and what to do; undefined if it can. */
function uselessPreference(
  { prefer, route }: RouteConfig,
  models: ReadonlyMap<string, unknown>,
): string | undefined {
  if (prefer === undefined) return undefined
  const entries = route.map((id) => asObject(models.get(id)))
  const upstreams = entries.flatMap(({ upstream }) =>
    typeof upstream === 'string' ? [upstream] : Object.keys(asObject(upstream)),
  )
  if (upstreams.length < 2) return 'there is only one model to choose: add one to `route`, or remove `prefer`'
  switch (prefer) {
    case 'cheapest':
      if (route.length < 2)
        return 'all upstreams of one model have its price: add a model to `route`, or use "fastest" or "least_busy"'
      return entries.every(({ free }) => free === true)
        ? 'all its models are free: use "fastest" or "least_busy"'
        : undefined
    case 'least_busy':
      return new Set(upstreams).size < 2
        ? `all its models are on "${upstreams[0]}", whose calls are counted together: use "cheapest" or "fastest", or a model on another upstream`
        : undefined
    case 'fastest':
      return entries.some(({ family }) => hasStreams(family))
        ? undefined
        : 'its models have no streams, whose first output is measured: use "cheapest" or "least_busy"'
  }
}

function hasStreams(names: unknown): boolean {
  return [names].flat().some((name) => {
    const family = families.get(String(name))
    return family !== undefined && streamOf(family) !== undefined
  })
}

/** Headers that are secrets, or the same in all requests of a client. */
const NOT_CONDITIONS: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'host',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
])

/** Faults of a condition: parts that can never be true. */
function conditionFaults({ header = {}, tag = {}, promptTokens }: ConditionConfig, model: unknown): string[] {
  const faults: string[] = []
  for (const name of Object.keys(header)) {
    if (!/^[\w!#$%&'*+.^`|~-]{1,64}$/.test(name))
      faults.push(
        `.header: ${JSON.stringify(name)} is not the name of a header: use letters, digits and hyphens`,
      )
    else if (NOT_CONDITIONS.has(name.toLowerCase()))
      faults.push(
        `.header: ${JSON.stringify(name)} says nothing of a request: use a header of your own, such as x-team`,
      )
  }
  for (const name of Object.keys(tag)) {
    if (!new RegExp(`^${METADATA_NAME}$`).test(name))
      faults.push(
        `.tag: ${JSON.stringify(name)} is not a name of metadata: use small letters, digits, - and _`,
      )
  }
  for (const [name, values] of [...Object.entries(header), ...Object.entries(tag)]) {
    const odd = [values].flat().find((value) => value.slice(0, -1).includes('*'))
    if (odd !== undefined)
      faults.push(
        `: ${JSON.stringify(odd)} of ${name} has a star before its end: a star is allowed only at the end`,
      )
  }
  const { min = 0, max = Number.POSITIVE_INFINITY } = promptTokens ?? {}
  if (min > max) faults.push(`.promptTokens: it is never true: min is above max`)
  const { contextTokens } = asObject(model)
  if (typeof contextTokens === 'number' && min > contextTokens)
    faults.push(`.promptTokens: it is never true: the model reads ${contextTokens} tokens at most; lower min`)
  return faults
}

function memberFaults(route: readonly string[], models: ReadonlyMap<string, unknown>): string[] {
  return route.flatMap((id, index) => {
    if (route.indexOf(id) < index) return [`.route: "${id}" appears twice`]
    const target = models.get(id)
    if (target === undefined) return [`.route: there is no model "${id}"`]
    return isObject(target) && 'route' in target ? [`.route: "${id}" is a route itself`] : []
  })
}
