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
  /** Whose price it has where it has none of its own. */
  fallback?: string
}

export const unitTable = {
  request: { key: 'per_request', per: 1 },
  input_token: { key: 'per_1m_input_tokens', per: 1_000_000, tokens: 'input' },
  cached_input_token: {
    key: 'per_1m_cached_input_tokens',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
  },
  cache_write_token: {
    key: 'per_1m_cache_write_tokens',
    per: 1_000_000,
    tokens: 'input',
    fallback: 'input_token',
  },
  output_token: { key: 'per_1m_output_tokens', per: 1_000_000, tokens: 'output' },
  input_image_token: { key: 'per_1m_input_image_tokens', per: 1_000_000, tokens: 'input' },
  output_image_token: { key: 'per_1m_output_image_tokens', per: 1_000_000, tokens: 'output' },
  character: { key: 'per_1m_characters', per: 1_000_000 },
  image: { key: 'per_image', per: 1, variants: true },
  input_image: { key: 'per_input_image', per: 1, variants: true },
  second: { key: 'per_second', per: 1, variants: true },
} as const satisfies Record<string, UnitRow>

export type Unit = keyof typeof unitTable
/** The name of a unit in a price list of the configuration. */
export type PriceKey = (typeof unitTable)[Unit]['key']

export const units = Object.keys(unitTable) as readonly Unit[]

/** How many of each unit. */
export type Quantities = { [unit in Unit]?: number }

export function rowOf(unit: Unit): UnitRow & { key: PriceKey; fallback?: Unit } {
  return unitTable[unit]
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
