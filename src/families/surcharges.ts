// Fields for which vendors of several contracts charge more than the base price, and web searches that are held. Fields of a single
// contract are in its folder. Pure. A field that names another model must always be refused: it would bypass the key's list of
// models and the prices.

import type { FieldRule } from '../contract/family'

export const ANOTHER_MODEL = 'it names another model, which may be forbidden for the key and has other prices'
const USE_A_ROUTE = 'Leave it out: name one model, or ask the operator to configure a route.'

/** The rule for service tiers. `auto` means the same as no value: the operator's own setting at the vendor. */
export const serviceTier: FieldRule = {
  field: 'service_tier',
  plain: ['auto', 'default', 'standard', 'standard_only', 'on_demand'],
  why: 'service tiers have their own prices',
  instead: 'Leave it out, or choose a tier that has a price.',
  price: 'service_tier',
}

/** Web searches that are allowed and held if the caller sets no limit. */
export const OPEN_SEARCHES = 10

/** Whether a tool type is a vendor's web search: OpenAI's and Anthropic's begin with the same words, followed by a version. */
export function isWebSearch(type: unknown): boolean {
  return typeof type === 'string' && type.startsWith('web_search')
}

/** Fields of vendors that pass requests on to other models. */
export const otherModels: readonly FieldRule[] = [
  ...['models', 'fallbacks', 'router', 'route', 'preset', 'draft_model'].map(
    (field): FieldRule => ({ field, why: ANOTHER_MODEL, instead: USE_A_ROUTE, always: true }),
  ),
  ...['provider', 'providerOptions'].map(
    (field): FieldRule => ({
      field,
      why: 'it chooses who serves the model, at their own prices',
      instead: 'Leave it out.',
      always: true,
    }),
  ),
]

/** Fields that request a later answer: an answer that arrives elsewhere cannot be billed. */
export const laterAnswers: readonly FieldRule[] = ['background', 'deferred', 'async', 'batch'].map(
  (field) => ({
    field,
    plain: [false],
    why: 'a result that is fetched later cannot be billed',
    instead: "Leave it out and wait for the answer, or follow it with 'stream': true.",
    always: true,
  }),
)

/** The rule for speed. If the usage reports `fast`, the price is that of the service tier with this name. */
export const speed: FieldRule = {
  field: 'speed',
  plain: ['standard'],
  why: 'faster modes have their own prices',
}

/** Modes that cost more per token. */
export const dearerModes: readonly FieldRule[] = [
  {
    field: 'inference_geo',
    plain: ['global', 'not_available'],
    why: 'inference regions have their own prices',
    instead: "Leave it out, or use 'global'.",
  },
]

/** The rule for a longer cache lifetime: writing to the cache costs more. */
export function longCache(field: string, price?: FieldRule['price']): FieldRule {
  return {
    field,
    ...(price && { price }),
    plain: ['5m'],
    why: 'caching for longer than five minutes costs more',
    instead: "Leave it out, or use '5m'.",
  }
}

/**
 * Fields of local servers that make a request produce more output than is held for it, or make the server connect to an address.
 * `others` are names of the limit that this API does not read.
 */
export function localServerFields(others: readonly string[]): FieldRule[] {
  return [
    ...['n_predict', 'max_new_tokens', ...others].map(
      (field): FieldRule => ({
        field,
        why: 'it sets the number of output tokens, but the hold covers only max_tokens',
        instead: "Use 'max_tokens' instead.",
        always: true,
      }),
    ),
    {
      field: 'kv_transfer_params',
      why: 'it names a server from which earlier context is fetched',
      instead: 'Leave it out.',
      always: true,
    },
  ]
}
