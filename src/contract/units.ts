// Everything that can be counted and has a price, in one table: estimates, vendors' usage, price lists, command line flags
// and sums of tokens all follow from it. A unit is added here and nowhere else; the compiler then names what lacks it.

interface UnitRow {
  /** Its name in a price list of the configuration. */
  key: string
  /** How many of it that price is for. */
  per: 1 | 1_000 | 1_000_000
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
}

const READ = ['input_token', 'cached_input_token'] as const

export const unitTable = {
  request: { key: 'per_request', per: 1, flat: true },
  input_token: {
    key: 'per_1m_input_tokens',
    per: 1_000_000,
    tokens: 'input',
    becomes: ['cached_input_token'],
  },
  cached_input_token: {
    key: 'per_1m_cached_input_tokens',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
  },
  /** Written to a cache for the vendor's usual time, such as five minutes. */
  cache_write_token: {
    key: 'per_1m_cache_write_tokens',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
    becomes: READ,
  },
  cache_write_1h_token: {
    key: 'per_1m_cache_write_1h_tokens',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'cache_write_token',
    becomes: [...READ, 'cache_write_token'],
  },
  output_token: { key: 'per_1m_output_tokens', per: 1_000_000, tokens: 'output' },
  input_image_token: {
    key: 'per_1m_input_image_tokens',
    per: 1_000_000,
    tokens: 'input',
    becomes: READ,
  },
  output_image_token: {
    key: 'per_1m_output_image_tokens',
    per: 1_000_000,
    tokens: 'output',
    becomes: ['output_token'],
  },
  input_audio_token: {
    key: 'per_1m_input_audio_tokens',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
    becomes: READ,
  },
  output_audio_token: {
    key: 'per_1m_output_audio_tokens',
    per: 1_000_000,
    tokens: 'output',
    fallback: 'output_token',
    becomes: ['output_token'],
  },
  character: { key: 'per_1m_characters', per: 1_000_000 },
  image: { key: 'per_image', per: 1, variants: true },
  input_image: { key: 'per_input_image', per: 1, variants: true },
  second: { key: 'per_second', per: 1, variants: true },
  /** Searches of the web that the vendor runs for an answer. */
  web_search: { key: 'per_1k_web_searches', per: 1_000, flat: true },
  /** Documents that such a search has used, where the vendor bills those. */
  search_source: { key: 'per_1k_search_sources', per: 1_000, flat: true },
} as const satisfies Record<string, UnitRow>

export type Unit = keyof typeof unitTable
/** The name of a unit in a price list of the configuration. */
export type PriceKey = (typeof unitTable)[Unit]['key']

export const units = Object.keys(unitTable) as readonly Unit[]

/** How many of each unit. */
export type Quantities = { [unit in Unit]?: number }

/** What the vendor's own tools did, which it bills one by one and tells the number of. */
export const callUnits = ['web_search', 'search_source'] as const satisfies readonly Unit[]

/** The row of a unit, in which other units are known to be some. */
export function rowOf(unit: Unit): Row {
  return unitTable[unit]
}

type Row = Omit<UnitRow, 'key' | 'fallback' | 'becomes'> & {
  key: PriceKey
  fallback?: Unit
  becomes?: readonly Unit[]
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
