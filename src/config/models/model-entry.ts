// The settings of a model, an entry of `models` in the configuration. Faults beyond their form are found elsewhere.

import { Type } from '@sinclair/typebox'
import { Count, closed, optionalSetting, requiredSetting } from '../../lib/setting'
import type { CostConfig } from './costs'
import type { PriceConfig } from './prices'
import { CacheEntry } from './response-cache'
import { TraitsEntry } from './traits'

const Share = Type.Integer({ minimum: 1, maximum: 1_000_000 })

export const ModelEntry = Type.Object(
  {
    family: requiredSetting(
      'The payload contract, or one for each operation that the model serves (below).',
      Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]),
    ),
    upstream: requiredSetting(
      'The upstream that serves it, or several equal ones with their shares: `{ east: 2, west: 1 }`. Each conversation stays with one of them.',
      Type.Union([Type.String(), Type.Record(Type.String(), Share, { minProperties: 1 })]),
    ),
    upstreamModel: optionalSetting(
      "The vendor's name for it. Default: the same.",
      Type.String({ minLength: 1 }),
    ),
    ownedBy: optionalSetting(
      'The owner shown by `GET /v1/models`. Default: the kind of its upstream.',
      Type.String({ minLength: 1 }),
    ),
    // Checked separately, for better messages.
    price: optionalSetting(
      'Its price list (below). Every model has one, or is `free`.',
      Type.Unsafe<PriceConfig>(Type.Object({})),
    ),
    free: optionalSetting('Whether it is free.', Type.Literal(true)),
    // Checked separately, like the price.
    cost: optionalSetting(
      "The vendor's prices, in the form of a price list, or one list per upstream: `{ upstreams: { east: { … }, west: { … } } }`. Default: unknown.",
      Type.Unsafe<CostConfig>(Type.Object({})),
    ),
    markup: optionalSetting(
      "Instead of `price`: the markup on `cost`, `20%`. Default: the upstream's markup, then the global one.",
      Type.String(),
    ),
    cache: optionalSetting(
      'Answers repeated requests of the same account from storage, for a limited time and at a fraction of the price (docs/operate/response-cache.md). Default: each request is sent to the vendor.',
      CacheEntry,
    ),
    strictFields: optionalSetting(
      'Whether requests with fields outside the payload contract are refused. Default: such fields are sent to the vendor.',
      Type.Boolean(),
    ),
    traits: optionalSetting(
      'Rules of the model that differ from those known by its name (docs/models.md).',
      TraitsEntry,
    ),
    reasoning: optionalSetting(
      'Short for the traits of an unknown model that thinks before it answers and ignores sampling parameters (docs/models.md). Default: no.',
      Type.Boolean(),
    ),
    retires: optionalSetting(
      'The day from which the vendor no longer serves it: `2026-12-11`.',
      Type.String({ pattern: '^20\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$' }),
    ),
    successor: optionalSetting(
      "The model that replaces it, by its id here or the vendor's name.",
      Type.String({ minLength: 1 }),
    ),
    onRetirement: optionalSetting(
      "`successor`: from that day its requests are served by the successor, at the successor's prices. Default: they are sent to the vendor, which refuses them.",
      Type.Literal('successor'),
    ),
    reserveOutputTokens: optionalSetting(
      'Output tokens held at a time for a stream, and in total for a non-streaming request without a limit. Default 4,096.',
      Count,
    ),
    maxOutputTokens: optionalSetting(
      'Maximum number of output tokens of one answer, for a vendor that requires a limit. Default: the limit known by its name, otherwise as many as are held.',
      Count,
    ),
    contextTokens: optionalSetting(
      'Maximum number of tokens of a request, which limits every hold. Default: the limit known by its name.',
      Count,
    ),
    inputModalities: optionalSetting(
      'Inputs that a chat model accepts in addition to text, as listed by `GET /v1/models`. Audio and video are refused if the list lacks them. Default: those known by its name; otherwise its prices decide.',
      Type.Array(Type.Union(['image', 'file', 'audio', 'video'].map((name) => Type.Literal(name)))),
    ),
    dimensions: optionalSetting(
      'Dimensions offered by an embedding model: a list, or `{ min, max }`.',
      Type.Union([Type.Array(Count, { minItems: 1 }), Type.Object({ min: Count, max: Count }, closed)]),
    ),
    batchSize: optionalSetting(
      'Maximum number of inputs per call to the vendor; more are split into several calls.',
      Count,
    ),
    batchTokens: optionalSetting(
      'Maximum number of tokens per call to the vendor; more are split into several calls. Default: the limit known by its name.',
      Count,
    ),
    sizes: optionalSetting(
      'Sizes of images that may be requested. Default: those known to the family.',
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    ),
    referenceImages: optionalSetting(
      'Minimum and maximum number of reference images of a request: `{ min: 1, max: 3 }`.',
      Type.Object(
        { min: Type.Integer({ minimum: 0, maximum: 100 }), max: Type.Integer({ minimum: 0, maximum: 100 }) },
        closed,
      ),
    ),
    mask: optionalSetting('`false` for a model that cannot edit with a mask.', Type.Boolean()),
    durations: optionalSetting(
      'Seconds of a video: `{ min: 2, max: 10, default: 5 }`. With `vendorMayChoose: true` a request may say -1: the maximum is held, and the seconds reported by the vendor are charged.',
      Type.Object(
        { min: Count, max: Count, default: Count, vendorMayChoose: Type.Optional(Type.Boolean()) },
        closed,
      ),
    ),
    maxInputSeconds: optionalSetting(
      'Maximum number of seconds of input videos that are billed for a video.',
      Count,
    ),
    voices: optionalSetting(
      'Voices of a speech model, for the lists of voices. Default: those known to the family.',
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    ),
  },
  closed,
)
