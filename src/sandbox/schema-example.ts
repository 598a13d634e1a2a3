// A plausible value for a JSON schema: arguments of tool calls and answers in a demanded format. It must never validate
// a schema, nor recurse without a bound.

import { asArray, asNumber, asObject, asObjects, asString, type JsonObject } from './json'

const depthMax = 8

export function exampleOf(schema: unknown): unknown {
  return example(asObject(schema) ?? {}, asObject(schema) ?? {}, 'value', 0)
}

function example(schema: JsonObject, root: JsonObject, name: string, depth: number): unknown {
  if (depth > depthMax) return null
  const fixed = fixedValue(schema)
  if (fixed !== undefined) return fixed
  const branch = referenced(schema, root) ?? asObjects(schema.anyOf ?? schema.oneOf ?? schema.allOf)[0]
  if (branch) return example(branch, root, name, depth + 1)
  switch (typeOf(schema)) {
    case 'object':
      return exampleObject(schema, root, depth)
    case 'array':
      return exampleArray(schema, root, name, depth)
    case 'integer':
    case 'number':
      return asNumber(schema.minimum) ?? Math.min(1, asNumber(schema.maximum) ?? 1)
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return name
  }
}

function fixedValue(schema: JsonObject): unknown {
  const values = [schema.const, schema.default, asArray(schema.enum)?.[0], asArray(schema.examples)?.[0]]
  return values.find((value) => value !== undefined)
}

function typeOf(schema: JsonObject): string | undefined {
  if (schema.properties !== undefined) return 'object'
  const named = asString(schema.type) ?? asArray(schema.type)?.find((type) => type !== 'null')
  return asString(named)
}

function referenced(schema: JsonObject, root: JsonObject): JsonObject | undefined {
  const reference = asString(schema.$ref)
  if (reference === undefined || !reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of reference.slice(1).split('/').filter(Boolean)) found = asObject(found)?.[step]
  return asObject(found)
}

function exampleObject(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const properties = asObject(schema.properties) ?? {}
  const required = asArray(schema.required) ?? []
  const entries = Object.entries(properties)
    .filter(([name]) => required.includes(name))
    .map(([name, inner]) => [name, example(asObject(inner) ?? {}, root, name, depth + 1)])
  return Object.fromEntries(entries) as JsonObject
}

function exampleArray(schema: JsonObject, root: JsonObject, name: string, depth: number): unknown[] {
  const length = Math.min(asNumber(schema.minItems) ?? 1, 4)
  const item = asObject(schema.items) ?? {}
  return Array.from({ length }, () => example(item, root, name, depth + 1))
}
