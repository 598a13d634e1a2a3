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
      'The upstream that serves it, or several that are equal with the share of each: `{ east: 2, west: 1 }`. Each conversation keeps to one of them.',
      Type.Union([Type.String(), Type.Record(Type.String(), Share, { minProperties: 1 })]),
    ),
    upstreamModel: optionalSetting(
      "The vendor's name for it. Default: the same.",
      Type.String({ minLength: 1 }),
    ),
    ownedBy: optionalSetting(
      'What `GET /v1/models` says of its owner. Default: the kind of its upstream.',
      Type.String({ minLength: 1 }),
    ),
    // Checked separately, for better messages.
    price: optionalSetting(
      'Its price list (below). Every model has one, or is `free`.',
      Type.Unsafe<PriceConfig>(Type.Object({})),
    ),
    free: optionalSetting('It costs nothing.', Type.Literal(true)),
    // Checked separately, like the price.
    cost: optionalSetting(
      'What the vendor asks, in the form of a price list; with several upstreams one for each: `{ upstreams: { east: { … }, west: { … } } }`. Default: not known.',
      Type.Unsafe<CostConfig>(Type.Object({})),
    ),
    markup: optionalSetting(
      'Instead of `price`: what its callers pay above `cost`, `20%`. Default: that of its upstream, then that of all.',
      Type.String(),
    ),
    cache: optionalSetting(
      'Gives the answer to a request again to the same account, for a while and at a fraction of its price (docs/operate/response-cache.md). Default: each request goes to the vendor.',
      CacheEntry,
    ),
    strictFields: optionalSetting(
      'Whether a request is refused for a field that the payload contract does not name. Default: such fields go to the vendor.',
      Type.Boolean(),
    ),
    traits: optionalSetting(
      'Rules of the model, where they differ from what is known by its name (docs/models.md).',
      TraitsEntry,
    ),
    reasoning: optionalSetting(
      'Short for the traits of a model that thinks before it answers and ignores sampling parameters, if its name is not known (docs/models.md). Default: no.',
      Type.Boolean(),
    ),
    retires: optionalSetting(
      'The day from which the vendor no longer serves it: `2026-12-11`.',
      Type.String({ pattern: '^20\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$' }),
    ),
    successor: optionalSetting(
      'The model that takes its place, by its id here or the name of the vendor.',
      Type.String({ minLength: 1 }),
    ),
    onRetirement: optionalSetting(
      '`successor`: from that day on requests for it go to its successor, at the prices of that one. Default: they go to the vendor, which refuses them.',
      Type.Literal('successor'),
    ),
    reserveOutputTokens: optionalSetting(
      'Output tokens that a stream holds at a time, and a request without a stream that sets no limit in all. Default 4,096.',
      Count,
    ),
    maxOutputTokens: optionalSetting(
      'The most tokens that it writes in one answer, for a vendor that requires a limit. Default: what is known by its name, else as many as are held.',
      Count,
    ),
    contextTokens: optionalSetting(
      'The most tokens that a request can have, which bounds every hold. Default: what is known by its name.',
      Count,
    ),
    inputModalities: optionalSetting(
      'What a chat model reads in addition to text, as `GET /v1/models` lists it. Audio and video are refused if the list lacks them. Default: what is known by its name; otherwise its prices decide.',
      Type.Array(Type.Union(['image', 'file', 'audio', 'video'].map((name) => Type.Literal(name)))),
    ),
    dimensions: optionalSetting(
      'Dimensions that an embedding model offers: a list, or `{ min, max }`.',
      Type.Union([Type.Array(Count, { minItems: 1 }), Type.Object({ min: Count, max: Count }, closed)]),
    ),
    batchSize: optionalSetting('The most inputs of one call to the vendor; more are split.', Count),
    batchTokens: optionalSetting(
      'The most tokens of one call to the vendor; more are split. Default: what is known of the model.',
      Count,
    ),
    sizes: optionalSetting(
      'Sizes of images that may be asked for. Default: those that the family knows.',
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    ),
    referenceImages: optionalSetting(
      'How many reference images a request must and may have: `{ min: 1, max: 3 }`.',
      Type.Object(
        { min: Type.Integer({ minimum: 0, maximum: 100 }), max: Type.Integer({ minimum: 0, maximum: 100 }) },
        closed,
      ),
    ),
    mask: optionalSetting('`false` for a model that edits whole images only.', Type.Boolean()),
    durations: optionalSetting(
      'Seconds that a video may have: `{ min: 2, max: 10, default: 5 }`. With `vendorMayChoose: true` a request may say -1: the most is held, and what the vendor reports is charged.',
      Type.Object(
        { min: Count, max: Count, default: Count, vendorMayChoose: Type.Optional(Type.Boolean()) },
        closed,
      ),
    ),
    maxInputSeconds: optionalSetting('Most seconds of video that are billed as input of a video.', Count),
    voices: optionalSetting(
      'Voices of a model that speaks, for the lists of voices. Default: those that the family knows.',
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    ),
  },
  closed,
)
