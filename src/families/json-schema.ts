// JSON schemas that callers give for tools and answers, as other vendors take them. It must never change what a schema
// allows: only keywords that are hints, or that mean something to one client, are left out.

import { isObject } from '../lib/objects'

/** Keywords that hold values, not schemas. */
const VALUES = new Set(['default', 'const', 'enum', 'examples', 'required'])
/** Keywords that hold schemas by names of the caller's own. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

/** Whether a keyword is left out. */
type Drops = (keyword: string, value: unknown) => boolean

/** A schema without some keywords, at any depth. A parameter of such a name stays. */
export function withoutKeywords(schema: unknown, drops: Drops): unknown {
  if (Array.isArray(schema)) return schema.map((part) => withoutKeywords(part, drops))
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !drops(keyword, value))
      .map(([keyword, value]) => [keyword, below(keyword, value, drops)]),
  )
}

function below(keyword: string, value: unknown, drops: Drops): unknown {
  if (VALUES.has(keyword)) return value
  return NAMED.has(keyword) && isObject(value) ? eachOf(value, drops) : withoutKeywords(value, drops)
}

function eachOf(schemas: Record<string, unknown>, drops: Drops): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, withoutKeywords(schema, drops)]),
  )
}

/** `$schema` and `format`, which some vendors refuse; both are hints only. */
export function isHint(keyword: string, value: unknown): boolean {
  return (keyword === '$schema' || keyword === 'format') && typeof value === 'string'
}
