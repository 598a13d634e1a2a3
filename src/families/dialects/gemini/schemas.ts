// Reads Google's own schemas, which are a part of OpenAPI 3.0 in other letters, as JSON schemas. A schema must allow what it allowed.
// https://ai.google.dev/api/caching#Schema.

import { asObject, isObject } from '../../../lib/objects'

type Fields = Record<string, unknown>

/** Members that are the order of fields, or an example, and allow nothing. */
const HINTS = new Set(['propertyOrdering', 'property_ordering', 'example', 'nullable', 'type'])
/** Numbers that Google writes as texts, because JSON has no such integers. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'])
const MEMBERS: Readonly<Record<string, string>> = {
  any_of: 'anyOf',
  min_items: 'minItems',
  max_items: 'maxItems',
  min_length: 'minLength',
  max_length: 'maxLength',
  min_properties: 'minProperties',
  max_properties: 'maxProperties',
}

export function jsonSchemaOf(schema: unknown): Fields {
  const { type, nullable, format, ...rest } = asObject(schema)
  const named = typeof type === 'string' && !/^type_unspecified$/i.test(type) ? type.toLowerCase() : undefined
  const members = Object.entries({ ...rest, ...(format !== 'enum' && format !== undefined && { format }) })
  return {
    ...(named !== undefined && { type: nullable === true ? [named, 'null'] : named }),
    ...Object.fromEntries(
      members
        .filter(([name]) => !HINTS.has(name))
        .map(([name, value]) => memberOf(MEMBERS[name] ?? name, value)),
    ),
  }
}

function memberOf(name: string, value: unknown): [string, unknown] {
  if (name === 'properties' && isObject(value)) {
    return [name, Object.fromEntries(Object.entries(value).map(([key, each]) => [key, jsonSchemaOf(each)]))]
  }
  if (name === 'items' && isObject(value)) return [name, jsonSchemaOf(value)]
  if (name === 'anyOf' && Array.isArray(value)) return [name, value.map(jsonSchemaOf)]
  return [name, COUNTS.has(name) && typeof value === 'string' ? Number(value) : value]
}
