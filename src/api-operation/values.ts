// Reads the query and checks the body of an operation by its schemas. A schema may have its own error for invalid values. An error
// must name the parameter, and nothing that was sent may be altered.

import { Kind, OptionalKind, type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { type GatewayError, invalidRequest } from '../lib/errors'
import { createValidator, fits, schemaError } from '../lib/validate'

const REFUSAL = Symbol('refusal')
const MAX_SHOWN_LENGTH = 64
/** Maximum length of a parameter's value, in characters. */
const MAX_LENGTH = 4_096

type Refusal = (value: unknown) => GatewayError

/** Gives a parameter or a field its own error for invalid values. */
export function refusing<Schema extends TSchema>(schema: Schema, refusal: Refusal): Schema {
  return { ...schema, [REFUSAL]: refusal }
}

/** A parameter that only some requests read: it is passed on as sent, and `readParameter` checks it when it is used. */
export const conditional = (schema: TSchema) => Type.Optional(Type.Unsafe<string>({ ...schema, [Kind]: RAW }))
const RAW = 'Raw'

/**
 * Reads the parameters that a schema names, the first of each name. Throws 400 for an invalid value, and, if the schema is closed,
 * for other parameters: otherwise a report would silently show more than was requested. `isStrict` refuses these under every
 * schema, and a repeated parameter.
 */
export function readQuery(
  schema: TObject | undefined,
  search: URLSearchParams,
  isStrict = false,
): Record<string, unknown> {
  const properties = schema?.properties ?? {}
  if (isStrict || schema?.additionalProperties === false) assertKnown(search, Object.keys(properties))
  const query: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const [text, ...others] = search.getAll(name)
    if (isStrict && others.length > 0) throw invalidRequest(name, `Invalid '${name}': it is given twice.`)
    if (text !== undefined) query[name] = property[Kind] === RAW ? text : readParameter(name, property, text)
    else if (property.default !== undefined) query[name] = property.default
    else if (!(OptionalKind in property)) throw refusalFor(name, property, undefined)
  }
  return query
}

/** The value of a parameter. Throws 400 for an invalid value. */
export function readParameter<Schema extends TSchema>(
  name: string,
  schema: Schema,
  text: string,
): Static<Schema> {
  const value = schema.type === 'integer' && WHOLE_NUMBER.test(text) ? Number(text) : text
  if (isKeepable(text) && fits(schema, value)) return value as Static<Schema>
  throw refusalFor(name, schema, value)
}

const WHOLE_NUMBER = /^-?\d{1,15}$/

/** Whether a database can store a text, or compare with it. */
function isKeepable(text: string): boolean {
  return text.length <= MAX_LENGTH && !text.includes('\0')
}

function refusalFor(name: string, schema: TSchema, value: string | number | undefined): GatewayError {
  const refusal: Refusal | undefined = schema[REFUSAL as never]
  if (refusal) return refusal(value)
  if (typeof value === 'string' && !isKeepable(value))
    return invalidRequest(
      name,
      `Invalid '${name}': expected at most ${MAX_LENGTH} characters, none of them NUL.`,
    )
  if (value === undefined || schema.type !== 'integer') return schemaError(schema, value, name)
  const { minimum, maximum } = schema
  const range = maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`
  return invalidRequest(name, `Invalid '${name}': expected a whole number ${range}.`)
}

function assertKnown(search: URLSearchParams, names: readonly string[]): void {
  for (const name of search.keys()) {
    if (names.includes(name)) continue
    const shown = name.slice(0, MAX_SHOWN_LENGTH)
    const known = names.length === 0 ? 'There are none here' : `Known here are: ${names.join(', ')}`
    throw invalidRequest(shown, `Unknown parameter '${shown}'. ${known}.`)
  }
}

/** Throws 400 for a missing or invalid field. Fields that the schema does not name are ignored. */
export function checkBody(schema: TObject, body: Readonly<Record<string, unknown>>): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = body[name]
    const refusal: Refusal | undefined = property[REFUSAL as never]
    const isLeftOut = value === undefined && OptionalKind in property
    if (refusal && !isLeftOut && !fits(property, value)) throw refusal(value)
  }
  createValidator(schema)(body)
}
