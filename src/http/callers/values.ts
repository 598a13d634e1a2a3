// Reads the query and checks the body of an operation by its schemas. A schema may have its own error for what does not
// fit. An error must name the parameter, and nothing that was sent may be altered.

import { Kind, OptionalKind, type Static, type TObject, type TSchema, Type } from '@sinclair/typebox'
import { type GatewayError, invalidRequest } from '../../lib/errors'
import { createValidator, fits } from '../../lib/validate'

const REFUSAL = Symbol('refusal')
const MAX_SHOWN_LENGTH = 64

type Refusal = (value: unknown) => GatewayError

/** Gives a parameter or a field its own error for values that do not fit. */
export function refusing<Schema extends TSchema>(schema: Schema, refusal: Refusal): Schema {
  return { ...schema, [REFUSAL]: refusal }
}

/** A parameter that only some requests read: it is passed on as sent, and `readParameter` checks it where it counts. */
export const conditional = (schema: TSchema) => Type.Optional(Type.Unsafe<string>({ ...schema, [Kind]: RAW }))
const RAW = 'Raw'

/**
 * Reads the parameters that a schema names, the first of each name. Throws 400 for a value that does not fit, and, where
 * the schema is closed, for other parameters: a report would otherwise show more than was asked for, unnoticed.
 */
export function readQuery(schema: TObject | undefined, search: URLSearchParams): Record<string, unknown> {
  const properties = schema?.properties ?? {}
  if (schema?.additionalProperties === false) assertKnown(search, Object.keys(properties))
  const query: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(properties)) {
    const text = search.get(name)
    if (text !== null) query[name] = property[Kind] === RAW ? text : readParameter(name, property, text)
    else if (OptionalKind in property === false) query[name] = property.default
  }
  return query
}

/** The value of a parameter. Throws 400 for one that does not fit. */
export function readParameter<Schema extends TSchema>(
  name: string,
  schema: Schema,
  text: string,
): Static<Schema> {
  const value = schema.type === 'integer' ? Number(text) : text
  if (fits(schema, value)) return value as Static<Schema>
  const refusal: Refusal | undefined = schema[REFUSAL as never]
  throw refusal?.(text) ?? invalidRequest(name, `Invalid '${name}': ${expectedBy(schema)}`)
}

function expectedBy({ type, minimum, maximum, anyOf }: TSchema): string {
  if (type === 'integer') return `expected a whole number from ${minimum} to ${maximum}.`
  const words = (anyOf as TSchema[] | undefined)?.map((each) => each.const)
  return words ? `expected one of ${words.join(', ')}.` : 'too long, or no text.'
}

function assertKnown(search: URLSearchParams, names: readonly string[]): void {
  for (const name of search.keys()) {
    if (names.includes(name)) continue
    const shown = name.slice(0, MAX_SHOWN_LENGTH)
    throw invalidRequest(shown, `Unknown parameter '${shown}'. Known here are: ${names.join(', ')}.`)
  }
}

/** Throws 400 for a field that is missing or does not fit. Fields that the schema does not name are ignored. */
export function checkBody(schema: TObject, body: Readonly<Record<string, unknown>>): void {
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = body[name]
    const refusal: Refusal | undefined = property[REFUSAL as never]
    const isLeftOut = value === undefined && OptionalKind in property
    if (refusal && !isLeftOut && !fits(property, value)) throw refusal(value)
  }
  createValidator(schema)(body)
}
