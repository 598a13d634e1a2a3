// A plausible value for a JSON schema: arguments of tool calls, and answers in a required format. It must never validate a schema,
// or recurse without a limit.

import { asArray, asNumber, asObject, asObjects, asString, type JsonObject } from './json'
import { exampleText } from './text-example'

/** Maximum depth of values; below it a schema that contains itself has its simplest value. */
const depthMax = 6
const lengthMax = 100
const valuesMax = 2_000
/** Maximum number of references and choices that add no depth. */
const stepsMax = 32

export function exampleOf(schema: unknown): unknown {
  const root = asObject(schema) ?? {}
  return example(root, { root, name: 'value', index: 0, depth: 0, budget: { values: valuesMax } })
}

/** The position of a value. */
interface Place {
  root: JsonObject
  name: string
  /** Place in a list, for values that must differ. */
  index: number
  depth: number
  /** How many more values may be made. */
  budget: { values: number }
}

function example(given: JsonObject, place: Place): unknown {
  // No value fits a schema that always contains itself.
  if (place.depth > 2 * depthMax || place.budget.values-- <= 0) return null
  const schema = settled(given, place)
  const fixed = fixedValue(schema, place)
  if (fixed !== undefined) return fixed
  switch (typeOf(schema)) {
    case 'object':
      return exampleObject(schema, place)
    case 'array':
      return exampleArray(schema, place)
    case 'integer':
    case 'number':
      return exampleNumber(schema, place)
    case 'boolean':
      return place.index % 2 === 0
    case 'null':
      return null
    default:
      return exampleText(schema, place.name, place.index)
  }
}

/** The schema with its references followed, its parts joined, and the first of its choices that ends. */
function settled(given: JsonObject, { root, depth }: Place): JsonObject {
  let schema = given
  for (let steps = 0; steps < stepsMax; steps++) {
    const { $ref: _, allOf, anyOf, oneOf, ...own } = schema
    const target = referenced(schema, root)
    const choices = asObjects(anyOf ?? oneOf)
    const chosen = depth >= depthMax ? (choices.find(isSimple) ?? choices[0]) : choices[0]
    const parts = [target, ...asObjects(allOf), chosen].filter((part) => part !== undefined)
    if (parts.length === 0) return schema
    schema = parts.reduce(joined, own)
  }
  return {}
}

function isSimple(schema: JsonObject): boolean {
  return schema.$ref === undefined && !['object', 'array'].includes(typeOf(schema) ?? 'object')
}

/** Both schemas in one: the rules of the second added to those of the first. */
function joined(one: JsonObject, other: JsonObject): JsonObject {
  const properties = { ...asObject(one.properties), ...asObject(other.properties) }
  const required = [...(asArray(one.required) ?? []), ...(asArray(other.required) ?? [])]
  const parts = [...(asArray(one.allOf) ?? []), ...(asArray(other.allOf) ?? [])]
  return {
    ...one,
    ...other,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
    ...(parts.length > 0 && { allOf: parts }),
  }
}

function fixedValue(
  { const: only, default: usual, enum: list, examples }: JsonObject,
  { index }: Place,
): unknown {
  const named = asArray(list)
  const values = [only, usual, named?.[index % Math.max(1, named.length)], asArray(examples)?.[index]]
  return values.find((value) => value !== undefined)
}

function typeOf(schema: JsonObject): string | undefined {
  const named = asString(schema.type) ?? asArray(schema.type)?.find((type) => type !== 'null')
  if (named !== undefined) return asString(named)
  if (schema.properties !== undefined || schema.required !== undefined) return 'object'
  if (schema.items !== undefined || schema.prefixItems !== undefined) return 'array'
  const isNumber = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'].some(
    (rule) => rule in schema,
  )
  return isNumber ? 'number' : undefined
}

function referenced(schema: JsonObject, root: JsonObject): JsonObject | undefined {
  const reference = asString(schema.$ref)
  if (reference === undefined || !reference.startsWith('#')) return undefined
  let found: unknown = root
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    found = asObject(found)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return asObject(found)
}

function exampleNumber(schema: JsonObject, { index }: Place): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const isWhole = schema.type === 'integer'
  const step = asNumber(multipleOf) ?? (isWhole ? 1 : 0.5)
  const above = asNumber(exclusiveMinimum)
  const below = asNumber(exclusiveMaximum)
  const least = Math.max(asNumber(minimum) ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY)
  const most = Math.min(asNumber(maximum) ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY)
  const first = Math.max(1, least) <= most ? Math.max(1, least) : Math.max(least, most)
  const whole = Math.ceil(first / step) * step
  const started = whole <= most ? whole : Math.floor(most / step) * step
  const fits = (value: number) => value >= least && value <= most && value !== above && value !== below
  const near = [started + index * step, started + step, started, started - step, started - index * step]
  const between = (Math.max(least, -1e6) + Math.min(most, 1e6)) / 2
  return near.find(fits) ?? (isWhole || multipleOf !== undefined ? started : between)
}

function exampleObject(schema: JsonObject, place: Place): JsonObject {
  const properties = asObject(schema.properties) ?? {}
  const required = (asArray(schema.required) ?? []).filter((name) => typeof name === 'string')
  const least = Math.min(asNumber(schema.minProperties) ?? 0, lengthMax)
  const optional = Object.keys(properties).filter((name) => !required.includes(name))
  const named = [...new Set([...required, ...optional.slice(0, Math.max(0, least - required.length))])]
  const free = Array.from({ length: Math.max(0, least - named.length) }, (_none, index) => `key_${index + 1}`)
  const open = asObject(schema.additionalProperties) ?? {}
  const entries = [...named, ...free].map((name) => [
    name,
    example(asObject(properties[name]) ?? open, { ...place, name, index: 0, depth: place.depth + 1 }),
  ])
  return Object.fromEntries(entries) as JsonObject
}

function exampleArray(schema: JsonObject, place: Place): unknown[] {
  const first = asObjects(schema.prefixItems)
  const least = asNumber(schema.minItems) ?? (place.depth >= depthMax ? 0 : Math.max(1, first.length))
  const length = Math.min(Math.max(0, least), asNumber(schema.maxItems) ?? lengthMax, lengthMax)
  const item = asObject(schema.items) ?? {}
  const differ = schema.uniqueItems === true
  return Array.from({ length }, (_none, index) =>
    example(first[index] ?? item, { ...place, index: differ ? index : 0, depth: place.depth + 1 }),
  )
}
