// Parses the search for requests into filters: `error:budget_exceeded`, `model:smart`, `>5s`, `>$0.01`, `team=search`, and any
// other words. Pure.

/** Filters that may have several values. */
export const FACET_NAMES = [
  'status',
  'error',
  'failed_by',
  'model',
  'key',
  'spender',
  'account',
  'upstream',
  'operation',
] as const
export type FacetName = (typeof FACET_NAMES)[number]

/** All filters of a list of requests, in the form of the address. */
export const FILTER_NAMES = [...FACET_NAMES, 'metadata', 'text', 'slower_ms', 'above_usd'] as const
export type FilterName = (typeof FILTER_NAMES)[number]
export type Filters = Partial<Record<FilterName, string | undefined>>

const DURATION = /^>\s*(\d+(?:\.\d+)?)(ms|s|min)$/
const LENGTHS_MS: Record<string, number> = { ms: 1, s: 1_000, min: 60_000 }
const AMOUNT = /^>\s*\$(\d+(?:\.\d{1,9})?)$/
const NAMED = /^(\w+):(.+)$/
const METADATA = /^[A-Za-z][\w-]*=.+$/

/** The filters, with the typed text added to the values that are already chosen. */
export function withTyped(filters: Filters, typed: string): Filters {
  const found: Filters = { ...filters }
  const rest: string[] = []
  for (const word of typed.split(/\s+/).filter((each) => each !== '')) {
    const [, count, unit = ''] = DURATION.exec(word) ?? []
    const [, amount] = AMOUNT.exec(word) ?? []
    const [, name = '', value = ''] = NAMED.exec(word) ?? []
    const facet = FACET_NAMES.find((each) => each === name)
    if (count !== undefined) found.slower_ms = String(Math.round(Number(count) * (LENGTHS_MS[unit] ?? 1)))
    else if (amount !== undefined) found.above_usd = amount
    else if (facet) found[facet] = [...new Set([...valuesOf(found[facet]), ...valuesOf(value)])].join(',')
    else if (name === 'metadata') found.metadata = value
    else if (METADATA.test(word)) found.metadata = word
    else rest.push(word)
  }
  if (rest.length > 0) found.text = rest.join(' ')
  return found
}

/** The values of a filter that may have several. */
export function valuesOf(filter: string | undefined): string[] {
  return (filter ?? '').split(',').filter((value) => value !== '')
}

/** A filter with one more value, or without it if it was present; undefined if no value is left. */
export function toggled(filter: string | undefined, value: string): string | undefined {
  return [...new Set(valuesOf(filter)).symmetricDifference(new Set([value]))].join(',') || undefined
}
