// Converts schemas to the form of an OpenAPI 3.1 document. It must never alter a schema that requests are checked with:
// it works on copies.

import type { TSchema } from '@sinclair/typebox'

export type Schema = Readonly<Record<string, unknown>>
export type Examples = Record<string, { summary?: string; value: unknown }>
export interface Media {
  schema: Schema
  examples?: Examples
}
export interface DescribedAnswer {
  description: string
  headers?: Readonly<Record<string, object>>
  content?: Record<string, Media>
}
export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description: string
  schema: Schema
}

export const schemaOf = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` })
export const headerOf = (name: string): { $ref: string } => ({ $ref: `#/components/headers/${name}` })
export const headersOf = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, headerOf(name)]))

/** One of several schemas, or the only one. */
export function anyOf(schemas: readonly Schema[]): Schema {
  const [first, ...others] = schemas
  return first && others.length === 0 ? first : { anyOf: schemas }
}

/** A schema as plain JSON Schema: without marks of its maker, and a list of words as one `enum`. */
export function plainSchema(schema: TSchema): Schema {
  return simplify(JSON.parse(JSON.stringify(schema))) as Schema
}

function simplify(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(simplify)
  if (typeof part !== 'object' || part === null) return part
  const simple = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, simplify(value)]))
  const { anyOf, ...rest } = simple
  if (!Array.isArray(anyOf)) return simple
  const types = anyOf.map(typeOnly)
  if (types.every((type) => type !== undefined)) return { ...rest, type: types }
  const words = anyOf.map(wordsOf)
  return words.every((each) => each !== undefined) ? { ...rest, ...choice(words.flat()) } : simple
}

/** The type of a schema without other keywords; undefined for others. */
function typeOnly(schema: Record<string, unknown>): unknown {
  return Object.keys(schema).length === 1 ? schema.type : undefined
}

/** A choice of values with their type, which viewers need. */
function choice(values: unknown[]): Schema {
  const types = [...new Set(values.map((value) => (value === null ? 'null' : typeof value)))]
  return { type: types.length === 1 ? types[0] : types, enum: values }
}

/** The values of a schema that allows only listed ones; undefined for others. */
function wordsOf(schema: Record<string, unknown>): unknown[] | undefined {
  if ('const' in schema) return [schema.const]
  if (schema.type === 'null') return [null]
  return Array.isArray(schema.enum) ? schema.enum : undefined
}

/**
 * Schemas by name in which each part says its types, also where these follow from its values or alternatives: the viewer
 * takes a part without a type for a fault of the document.
 */
export function withTypes(schemas: Readonly<Record<string, Schema>>): Record<string, Schema> {
  const typed = (part: unknown): unknown => {
    if (!isSchema(part) || '$ref' in part) return part
    const inner = Object.entries(part).map(([keyword, value]) => {
      if (keyword === 'properties' && isSchema(value)) return [keyword, mapped(value, typed)]
      if (keyword === 'anyOf' && Array.isArray(value)) return [keyword, value.map(typed)]
      return [keyword, keyword === 'items' || keyword === 'additionalProperties' ? typed(value) : value]
    })
    const types = [...typesOf(part, schemas)]
    return { type: types.length === 1 ? types[0] : types, ...Object.fromEntries(inner) }
  }
  return mapped(schemas, typed) as Record<string, Schema>
}

/** The types that a schema accepts. */
function typesOf(schema: Schema, named: Readonly<Record<string, Schema>>): Set<unknown> {
  if (schema.type !== undefined) return new Set([schema.type].flat())
  const target = Object.entries(named).find(([name]) => schema.$ref === schemaOf(name).$ref)?.[1]
  if (target) return typesOf(target, named)
  const values = wordsOf(schema)
  if (values) return new Set([choice(values).type].flat())
  const alternatives = (schema.anyOf as Schema[] | undefined)?.flatMap((each) => [...typesOf(each, named)])
  return new Set(alternatives ?? EVERY_TYPE)
}

const EVERY_TYPE = ['string', 'number', 'boolean', 'object', 'array', 'null']

const isSchema = (part: unknown): part is Schema =>
  typeof part === 'object' && part !== null && !Array.isArray(part)

function mapped(parts: Schema, change: (part: unknown) => unknown): Schema {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, change(part)]))
}

/** The schema of a form, in which a field without a type is a file, or several of one name. */
export function formSchema(schema: Schema): Schema {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>).map(
    ([name, property]) => [name, isFile(property) ? { ...property, ...FILES } : property],
  )
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** The fields of a form that are files. */
export function fileFields(schema: Schema): string[] {
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>)
    .filter(([, property]) => isFile(property))
    .map(([name]) => name)
}

const FILES = { type: 'array', items: { type: 'string', format: 'binary' } }

const isFile = (property: Schema): boolean =>
  !('type' in property || 'anyOf' in property || 'enum' in property)
