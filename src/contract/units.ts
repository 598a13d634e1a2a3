// Everything that can be counted and has a price, in one table, from which follow keys of price lists, price arithmetic, plausible
// usage, flags and words of the command line, and sums of tokens. A unit must be added here and nowhere else.

/** Words after `per` for the number of units of a price; empty for one. */
const perWords = { 1: '', 60: 'minute', 1000: '1K', 1000000: '1M' } as const

interface UnitRow {
  /** Name of the unit in a price list of the configuration. */
  key: string
  /** Description for the reference of prices. */
  of: string
  /** Number of units that the listed price is for: 60 is a price per minute for something counted in seconds. */
  per: keyof typeof perWords
  /** Side of the model, for tokens. */
  tokens?: 'input' | 'output'
  /** True if the price may depend on a size, a quality or a resolution. */
  variants?: true
  /** True if the price is the same for every prompt length and service tier, unless a price list says otherwise. */
  flat?: true
  /** The unit whose price is used if this one has none. */
  fallback?: string
  /** Units into which a held unit may be split when the vendor reports the real usage. */
  becomes?: readonly string[]
  /**
   * Maximum accepted figure of an upstream: a multiple of the quote, plus a number. Absent: any. Tokens of a side are judged
   * together instead.
   */
  most?: { times: number; more: number }
  /** True for an action of the vendor's own tools, which it counts and bills one by one. */
  call?: true
  /** Name of the price of one unit in lists of models, as their clients know it. */
  pricing?: string
}

const READ = ['input_token', 'cached_input_token'] as const
const AS_QUOTED = { times: 1, more: 0 } as const
/** The limit for tools: vendors decide how often they call one. */
const AS_CALLED = { times: 4, more: 100 } as const
/**
 * The limit for audio: the quote comes from the file itself, which may be wrong, so figures up to the content of the largest file
 * at the lowest bit rate of speech are accepted.
 */
const AS_HEARD = { times: 4, more: 52_500 } as const

export const unitTable = {
  request: { key: 'per_request', of: 'each request', per: 1, flat: true, pricing: 'request' },
  input_token: {
    key: 'per_1m_input_tokens',
    of: 'input text, and all other input without a price of its own',
    per: 1_000_000,
    pricing: 'prompt',
    tokens: 'input',
    becomes: ['cached_input_token'],
  },
  cached_input_token: {
    key: 'per_1m_cached_input_tokens',
    of: 'input read from a cache by the vendor',
    per: 1_000_000,
    pricing: 'input_cache_read',
    tokens: 'input',
    fallback: 'input_token',
  },
  /** Tokens written to a cache with the vendor's default lifetime, such as five minutes. */
  cache_write_token: {
    key: 'per_1m_cache_write_tokens',
    of: 'input written to a cache for the usual time',
    per: 1_000_000,
    pricing: 'input_cache_write',
    tokens: 'input',
    fallback: 'input_token',
    becomes: READ,
  },
  cache_write_1h_token: {
    key: 'per_1m_cache_write_1h_tokens',
    of: 'input written to a cache for an hour',
    per: 1_000_000,
    pricing: 'input_cache_write_1h',
    tokens: 'input',
    fallback: 'cache_write_token',
    becomes: [...READ, 'cache_write_token'],
  },
  output_token: {
    key: 'per_1m_output_tokens',
    of: 'output text, and all other output without a price of its own',
    per: 1_000_000,
    pricing: 'completion',
    tokens: 'output',
  },
  input_image_token: {
    key: 'per_1m_input_image_tokens',
    of: 'input pictures, for models that count them as tokens',
    per: 1_000_000,
    pricing: 'image_token',
    tokens: 'input',
    becomes: READ,
  },
  output_image_token: {
    key: 'per_1m_output_image_tokens',
    of: 'output pictures, for models that count them as tokens',
    per: 1_000_000,
    tokens: 'output',
    fallback: 'output_token',
    becomes: ['output_token'],
  },
  input_audio_token: {
    key: 'per_1m_input_audio_tokens',
    of: 'sound in',
    per: 1_000_000,
    pricing: 'audio',
    tokens: 'input',
    fallback: 'input_token',
    becomes: [...READ, 'cached_input_audio_token'],
  },
  cached_input_audio_token: {
    key: 'per_1m_cached_input_audio_tokens',
    of: 'input audio read from a cache by the vendor',
    per: 1_000_000,
    pricing: 'input_audio_cache',
    tokens: 'input',
    fallback: 'input_audio_token',
  },
  output_audio_token: {
    key: 'per_1m_output_audio_tokens',
    of: 'sound out',
    per: 1_000_000,
    pricing: 'audio_output',
    tokens: 'output',
    fallback: 'output_token',
    becomes: ['output_token'],
  },
  output_video_token: {
    key: 'per_1m_output_video_tokens',
    of: 'output video, for models that count it as tokens',
    per: 1_000_000,
    tokens: 'output',
    fallback: 'output_token',
    becomes: ['output_token'],
  },
  character: { key: 'per_1m_characters', of: 'spoken text', per: 1_000_000, most: AS_QUOTED },
  image: {
    key: 'per_image',
    of: 'output pictures: one amount, or one for each size or quality',
    per: 1,
    pricing: 'image_output',
    variants: true,
    most: AS_QUOTED,
  },
  input_image: {
    key: 'per_input_image',
    of: 'input pictures: one amount, or one for each size',
    per: 1,
    pricing: 'image',
    variants: true,
    most: AS_QUOTED,
  },
  video: {
    key: 'per_video',
    of: 'output videos: one amount, or one for each resolution and length, such as `768p 6s`',
    per: 1,
    variants: true,
    most: AS_QUOTED,
  },
  second: {
    key: 'per_second',
    of: 'seconds of video: one amount, or one for each resolution',
    per: 1,
    variants: true,
  },
  /** Seconds of video input. Vendors that bill it charge the price of the output for it. */
  input_second: {
    key: 'per_input_second',
    of: 'seconds of input video: one amount, or one for each resolution',
    per: 1,
    variants: true,
    fallback: 'second',
    most: AS_QUOTED,
  },
  /** Seconds of audio input. */
  audio_second: {
    key: 'per_audio_minute',
    of: 'transcribed audio, rounded up to seconds',
    per: 60,
    most: AS_HEARD,
  },
  /** A query with as many documents as the vendor ranks for one price, usually 100. */
  search: {
    key: 'per_1k_searches',
    of: 'queries of a rerank model, each with up to 100 documents',
    per: 1_000,
    most: AS_QUOTED,
  },
  /** Web searches that the vendor runs for an answer. */
  web_search: {
    key: 'per_1k_web_searches',
    of: 'searches run by the vendor and counted in its answer',
    per: 1_000,
    pricing: 'web_search',
    flat: true,
    most: AS_CALLED,
    call: true,
  },
  /** A request for which the vendor searched the web, however often. */
  grounded_prompt: {
    key: 'per_1k_grounded_prompts',
    of: 'requests with at least one search by the vendor, if it bills per request',
    per: 1_000,
    pricing: 'grounded_prompt',
    flat: true,
    most: AS_QUOTED,
    call: true,
  },
  /** Documents that a web search has used, if the vendor bills them. */
  search_source: {
    key: 'per_1k_search_sources',
    of: 'documents used by such a search, if the vendor bills per document',
    per: 1_000,
    flat: true,
    most: AS_CALLED,
    call: true,
  },
} as const satisfies Record<string, UnitRow>

export type Unit = keyof typeof unitTable
/** The name of a unit in a price list of the configuration. */
export type PriceKey = (typeof unitTable)[Unit]['key']

export const units = Object.keys(unitTable) as readonly Unit[]

/** The number of each unit. */
export type Quantities = { [unit in Unit]?: number }

/** The row of a unit. */
export function rowOf(unit: Unit): Row {
  return unitTable[unit]
}

type Row = Omit<UnitRow, 'key' | 'fallback' | 'becomes'> & {
  key: PriceKey
  fallback?: Unit
  becomes?: readonly Unit[]
}

/** Units for actions of the vendor's own tools, which it counts and bills one by one. */
export const callUnits: readonly Unit[] = units.filter((unit) => rowOf(unit).call)

/** The number of units of a price in words: `1M`, `1K`, `minute`; empty for one. */
export function perOf(unit: Unit): string {
  return perWords[unitTable[unit].per]
}

/** The plural of a unit: `input_tokens`, `web_searches`. */
export function pluralOf(unit: Unit): string {
  return unit.endsWith('ch') ? `${unit}es` : `${unit}s`
}

const unitsByKey = new Map<string, Unit>(units.map((unit) => [unitTable[unit].key, unit]))

/** The unit for a key of a price list. */
export function unitOfKey(key: string): Unit | undefined {
  return unitsByKey.get(key)
}

const sides: { [unit in Unit]?: 'input' | 'output' } = Object.fromEntries(
  units.flatMap((unit) => {
    const { tokens } = rowOf(unit)
    return tokens ? [[unit, tokens]] : []
  }),
)

/** The sum of all tokens, of every kind. */
export function tokensOf(quantities: Quantities): number {
  return inputTokensOf(quantities) + outputTokensOf(quantities)
}

export function inputTokensOf(quantities: Quantities): number {
  return tokensOn('input', quantities)
}

export function outputTokensOf(quantities: Quantities): number {
  return tokensOn('output', quantities)
}

/**
 * Figures that are never lower than earlier ones of the same answer: the tokens that a model has read and written cannot decrease.
 * Tokens of a side are compared together, because a later figure may divide them into more kinds. The later figures themselves if
 * nothing in them is lower.
 */
export function nonDecreasing(earlier: Quantities, later: Quantities): Quantities {
  const input = inputTokensOf(earlier) > inputTokensOf(later) ? earlier : later
  const output = outputTokensOf(earlier) > outputTokensOf(later) ? earlier : later
  const isLess = units.some((unit) => sides[unit] === undefined && (earlier[unit] ?? 0) > (later[unit] ?? 0))
  if (input === later && output === later && !isLess) return later
  const figures: Quantities = {}
  for (const unit of units) {
    const side = sides[unit]
    const figure = side ? (side === 'input' ? input : output)[unit] : greater(earlier[unit], later[unit])
    if (figure !== undefined) figures[unit] = figure
  }
  return figures
}

function greater(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other)
}

/** The tokens that go into the model, by kind. */
export function inputOf(quantities: Quantities): Quantities {
  return Object.fromEntries(Object.entries(quantities).filter(([unit]) => sides[unit as Unit] === 'input'))
}

/** Figures without the tokens of a side. */
export function withoutSide(side: 'input' | 'output', quantities: Quantities): Quantities {
  return Object.fromEntries(Object.entries(quantities).filter(([unit]) => sides[unit as Unit] !== side))
}

function tokensOn(side: 'input' | 'output', quantities: Quantities): number {
  let sum = 0
  for (const unit in quantities) {
    if (sides[unit as Unit] === side) sum += quantities[unit as Unit] ?? 0
  }
  return sum
}

export function addQuantities(sum: Quantities, more: Quantities): void {
  for (const unit of units) {
    const count = more[unit]
    if (count !== undefined) sum[unit] = (sum[unit] ?? 0) + count
  }
}
