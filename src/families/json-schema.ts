// JSON schemas that callers give for tools and answers, in the form that other vendors accept. It must never change what a schema
// allows: only hints, and keywords that have a meaning for one client only, are omitted.

import { isObject } from '../lib/objects'

/** Keywords whose values are not schemas. */
const VALUES = new Set(['default', 'const', 'enum', 'examples', 'required'])
/** Keywords that hold schemas under names chosen by the caller. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Whether a keyword is omitted. */
type Drops = (keyword: string, value: unknown) => boolean

/** A schema without some keywords, at any depth; the same value if it has none. A parameter with such a name stays. */
export function withoutKeywords(schema: unknown, drops: Drops): unknown {
  if (Array.isArray(schema)) return changed(schema, (part) => withoutKeywords(part, drops))
  if (!isObject(schema)) return schema
  let isChanged = false
  const kept: [string, unknown][] = []
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword]
    if (drops(keyword, value)) {
      isChanged = true
      continue
    }
    const left = below(keyword, value, drops)
    isChanged ||= left !== value
    kept.push([keyword, left])
  }
  return isChanged ? Object.fromEntries(kept) : schema
}

function below(keyword: string, value: unknown, drops: Drops): unknown {
  if (typeof value !== 'object' || value === null || VALUES.has(keyword)) return value
  return NAMED.has(keyword) && isObject(value) ? eachOf(value, drops) : withoutKeywords(value, drops)
}

function eachOf(schemas: Record<string, unknown>, drops: Drops): Record<string, unknown> {
  const names = Object.keys(schemas)
  const values = Object.values(schemas)
  const left = changed(values, (schema) => withoutKeywords(schema, drops))
  return left === values ? schemas : Object.fromEntries(names.map((name, index) => [name, left[index]]))
}

/** The changed values; the same list if no value has changed. */
function changed(values: unknown[], change: (value: unknown) => unknown): unknown[] {
  const left = values.map(change)
  return left.every((value, index) => value === values[index]) ? values : left
}

/** `$schema` and `format`, which some vendors refuse; both are hints only. */
export function isHint(keyword: string, value: unknown): boolean {
  return (keyword === '$schema' || keyword === 'format') && typeof value === 'string'
}
