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
  const words = anyOf.map(wordsOf)
  return words.every((each) => each !== undefined) ? { ...rest, ...choice(words.flat()) } : simple
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
