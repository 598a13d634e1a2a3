// The fields that requests have, by the paths of a family's tables, so that no field is left without a request.

import type { BridgedField, FieldRule } from '../../../src/contract/family'
import { stepsOf } from '../../../src/lib/field-names'
import type { Json } from '../scenario'

/** Rows of tables without a request that has the field; of refused fields one with a value that is refused. */
export function uncoveredRows(
  rows: readonly (BridgedField | FieldRule)[],
  bodies: readonly Json[],
): string[] {
  return rows.flatMap((row) => {
    if ('in' in row && row.in === 'header') return []
    const [path = '', type] = row.field.split(' ')
    const values = bodies.flatMap((body) => valuesAt(body, stepsOf(path)))
    const found = values.filter((value) => value !== undefined && value !== null)
    const isRefused = !('treatment' in row) || row.treatment === 'refused'
    if (type !== undefined) return found.some((value) => value.type === type) ? [] : [row.field]
    const isCovered = isRefused ? found.some((value) => !isPlain(value, row)) : found.length > 0
    return isCovered ? [] : [row.field]
  })
}

/** The values at a path of a body. */
export function valuesAt(value: Json, [step, ...rest]: readonly string[]): Json[] {
  if (step === undefined) return [value]
  if (typeof value !== 'object' || value === null) return []
  if (step === '[]') return Array.isArray(value) ? value.flatMap((item) => valuesAt(item, rest)) : []
  return valuesAt(value[step], rest)
}

/** Whether a value changes nothing, though its field is refused. */
export function isPlain(value: Json, { plain }: Pick<FieldRule, 'plain'>): boolean {
  if (plain instanceof RegExp) return typeof value === 'string' && plain.test(value)
  return plain?.includes(typeof value === 'object' ? JSON.stringify(value) : value) === true
}
