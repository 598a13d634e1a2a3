// Finds the values of a field in a request, by its path in a family's table.

import type { FieldRule } from '../../../src/contract/family'
import type { Json } from '../scenario'

/** The values at a path of a body. */
export function valuesAt(value: Json, [step, ...rest]: readonly string[]): Json[] {
  if (step === undefined) return [value]
  if (typeof value !== 'object' || value === null) return []
  if (step === '[]') return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, rest)) : []
  return valuesAt(value[step], rest)
}

/** Whether a value changes nothing, although its field is refused. */
export function isPlain(value: Json, { plain }: Pick<FieldRule, 'plain'>): boolean {
  if (plain instanceof RegExp) return typeof value === 'string' && plain.test(value)
  return plain?.includes(typeof value === 'object' ? JSON.stringify(value) : value) === true
}
