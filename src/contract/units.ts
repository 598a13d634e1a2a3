// Everything that can be counted and has a price, in one table: the keys of price lists, the maths of prices, what is
// plausible in an upstream's usage, the flags and words of the command line, and sums of tokens all follow from it.
// A unit is added here and nowhere else.

/** What a price is for, in words that follow `per`; empty for one. */
const perWords = { 1: '', 60: 'minute', 1000: '1K', 1000000: '1M' } as const

interface UnitRow {
  /** Its name in a price list of the configuration. */
  key: string
  /** What it is a price of, for the reference of prices. */
  of: string
  /** How many of it that price is for: 60 is a price for a minute of what is counted in seconds. */
  per: keyof typeof perWords
  /** For tokens: which side of the model they are on. */
  tokens?: 'input' | 'output'
  /** May cost differently by a size, a quality or a resolution. */
  variants?: true
  /** Costs the same however long the prompt is and whatever the service tier, unless a price list says otherwise. */
  flat?: true
  /** Whose price it has where it has none of its own. */
  fallback?: string
  /** What it may turn out to be when it is held for and the vendor reports what it really was. */
  becomes?: readonly string[]
  /**
   * How much of it an upstream may report before its figure is taken for a slip: so many times the quote, and so many
   * more. Absent: any. All tokens of a side are judged together instead.
   */
  most?: { times: number; more: number }
  /** Something that the vendor's own tools do, which it bills one by one and tells the number of. */
  call?: true
}

const READ = ['input_token', 'cached_input_token'] as const
const AS_QUOTED = { times: 1, more: 0 } as const
/** Vendors decide themselves how often they call a tool. */
const AS_CALLED = { times: 4, more: 100 } as const
/**
 * The quote is of what a file says of itself, which may be wrong or a lie: as much is believed as the largest file that
 * is taken can hold at the lowest bit rate of speech.
 */
const AS_HEARD = { times: 4, more: 52_500 } as const

export const unitTable = {
  request: { key: 'per_request', of: 'each request', per: 1, flat: true },
  input_token: {
    key: 'per_1m_input_tokens',
    of: 'text in, and whatever else is sent and has no price of its own',
    per: 1_000_000,
    tokens: 'input',
    becomes: ['cached_input_token'],
  },
  cached_input_token: {
    key: 'per_1m_cached_input_tokens',
    of: 'input that the vendor read from a cache',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
  },
  /** Written to a cache for the vendor's usual time, such as five minutes. */
  cache_write_token: {
    key: 'per_1m_cache_write_tokens',
    of: 'input that it wrote to a cache for its usual time',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
    becomes: READ,
  },
  cache_write_1h_token: {
    key: 'per_1m_cache_write_1h_tokens',
    of: 'input that it wrote to a cache for an hour',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'cache_write_token',
    becomes: [...READ, 'cache_write_token'],
  },
  output_token: {
    key: 'per_1m_output_tokens',
    of: 'text out, and whatever else comes back and has no price of its own',
    per: 1_000_000,
    tokens: 'output',
  },
  input_image_token: {
    key: 'per_1m_input_image_tokens',
    of: 'pictures in, of models that count them as tokens',
    per: 1_000_000,
    tokens: 'input',
    becomes: READ,
  },
  output_image_token: {
    key: 'per_1m_output_image_tokens',
    of: 'pictures out, of models that count them as tokens',
    per: 1_000_000,
    tokens: 'output',
    becomes: ['output_token'],
  },
  input_audio_token: {
    key: 'per_1m_input_audio_tokens',
    of: 'sound in',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
    becomes: READ,
  },
  output_audio_token: {
    key: 'per_1m_output_audio_tokens',
    of: 'sound out',
    per: 1_000_000,
    tokens: 'output',
    fallback: 'output_token',
    becomes: ['output_token'],
  },
  character: { key: 'per_1m_characters', of: 'text that is spoken', per: 1_000_000 },
  image: {
    key: 'per_image',
    of: 'pictures made: one amount, or one for each size or quality',
    per: 1,
    variants: true,
    most: AS_QUOTED,
  },
  input_image: {
    key: 'per_input_image',
    of: 'reference pictures: one amount, or one for each size',
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
  /** Seconds of audio that a model listens to. */
  audio_second: {
    key: 'per_audio_minute',
    of: 'audio that is transcribed, each second that has begun',
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
  /** Searches of the web that the vendor runs for an answer. */
  web_search: {
    key: 'per_1k_web_searches',
    of: 'searches that the vendor runs and counts in its answer',
    per: 1_000,
    flat: true,
    most: AS_CALLED,
    call: true,
  },
  /** Documents that such a search has used, where the vendor bills those. */
  search_source: {
    key: 'per_1k_search_sources',
    of: 'documents that such a search has used, where the vendor bills those',
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

/** How many of each unit. */
export type Quantities = { [unit in Unit]?: number }

/** The row of a unit, in which other units are known to be some. */
export function rowOf(unit: Unit): Row {
  return unitTable[unit]
}

type Row = Omit<UnitRow, 'key' | 'fallback' | 'becomes'> & {
  key: PriceKey
  fallback?: Unit
  becomes?: readonly Unit[]
}

/** What the vendor's own tools did, which it bills one by one and tells the number of. */
export const callUnits: readonly Unit[] = units.filter((unit) => rowOf(unit).call)

/** The units whose figures are judged one by one, each with the most that is plausible. */
export const judgedUnits: readonly { unit: Unit; times: number; more: number }[] = units.flatMap((unit) => {
  const { most } = rowOf(unit)
  return most ? [{ unit, ...most }] : []
})

/** What the price of a unit is for: `1M`, `1K`, `minute`; empty for one. */
export function perOf(unit: Unit): string {
  return perWords[unitTable[unit].per]
}

/** The name of many: `input_tokens`, `web_searches`. */
export function pluralOf(unit: Unit): string {
  return unit.endsWith('ch') ? `${unit}es` : `${unit}s`
}

/** The unit that a price list calls by this name. */
export function unitOfKey(key: string): Unit | undefined {
  return units.find((unit) => unitTable[unit].key === key)
}

const sides: { [unit in Unit]?: 'input' | 'output' } = Object.fromEntries(
  units.flatMap((unit) => {
    const { tokens } = rowOf(unit)
    return tokens ? [[unit, tokens]] : []
  }),
)

/** All tokens, of every kind. */
export function tokensOf(quantities: Quantities): number {
  return inputTokensOf(quantities) + outputTokensOf(quantities)
}

export function inputTokensOf(quantities: Quantities): number {
  return tokensOn('input', quantities)
}

export function outputTokensOf(quantities: Quantities): number {
  return tokensOn('output', quantities)
}

/** The tokens that go into the model, kind by kind. */
export function inputOf(quantities: Quantities): Quantities {
  return Object.fromEntries(Object.entries(quantities).filter(([unit]) => sides[unit as Unit] === 'input'))
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
