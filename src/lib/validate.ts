// Checks a caller's body against a schema and names the faulty field in one sentence. It must never alter the body:
// unknown fields and odd numbers go to the vendor as sent.

import { Kind, type TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler, type ValueError } from '@sinclair/typebox/compiler'
import type { ErrorCode } from './error-codes'
import { type GatewayError, invalidRequest } from './errors'
import { isObject } from './objects'

/**
 * The returned function throws a 400 for a body that does not fit. It compiles the schema when it is first called, so that a start
 * does not wait for schemas that may never be used.
 */
export function createValidator(schema: TSchema): (body: unknown) => void {
  let compiled: TypeCheck<TSchema> | undefined
  return (body) => {
    compiled ??= compile(schema)
    if (!compiled.Check(body)) throw schemaError(schema, body)
  }
}

/** The error for a value that does not fit its schema, in a field of this name. */
export function schemaError(schema: TSchema, value: unknown, name = ''): GatewayError {
  const fault = value === undefined ? { path: '', schema, value } : faultOf(schema, value)
  return describe(parameterOf(name && `/${name}`) + parameterOf(fault.path), fault.schema, fault.value)
}

/** Whether a value fits a schema. */
export function fits(schema: TSchema, value: unknown): boolean {
  return compile(schema).Check(value)
}

type Fault = Pick<ValueError, 'path' | 'schema' | 'value'>

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>()

function compile(schema: TSchema): TypeCheck<TSchema> {
  const known = checks.get(schema)
  if (known) return known
  const compiled = TypeCompiler.Compile(schema)
  checks.set(schema, compiled)
  return compiled
}

/**
 * The library takes a hundred times as long to explain an item as to reject it, so only short lists are explained as a
 * whole.
 */
const LONG_LIST = 500

/** Why a value does not fit. Long lists are searched for the faulty item first, and only that item is explained. */
function faultOf(schema: TSchema, value: unknown): Fault {
  const short: Record<string, unknown> = {}
  if (isLong(value)) {
    const fault = faultInList(schema, value)
    if (fault) return fault
  } else if (isObject(value)) {
    const members = variantsOf(schema).flatMap(({ properties }) =>
      Object.entries((properties ?? {}) as object),
    )
    for (const [name, member] of members) {
      const list = value[name]
      if (!isLong(list)) continue
      const fault = faultInList(member, list)
      if (fault)
        return { ...fault, path: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}${fault.path}` }
      short[name] = list.slice(0, 1)
    }
  }
  const fault = compile(schema)
    .Errors(isObject(value) ? { ...value, ...short } : value)
    .First()
  if (!fault) throw new Error('a schema refused a body without saying why')
  return innermost(fault)
}

function isLong(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > LONG_LIST
}

/** The fault in a list; undefined if the list fits, or the schema has no list. */
function faultInList(schema: TSchema, list: unknown[]): Fault | undefined {
  let furthest: { index: number; items: TSchema } | undefined
  for (const form of variantsOf(schema)) {
    if (form.type !== 'array') continue
    const items = form.items as TSchema
    const check = compile(items)
    const index = list.findIndex((item) => !check.Check(item))
    if (index === -1) {
      return list.length > (form.maxItems ?? list.length)
        ? { path: '', schema: form, value: list }
        : undefined
    }
    if (!furthest || index > furthest.index) furthest = { index, items }
  }
  if (!furthest) return undefined
  const fault = faultOf(furthest.items, list[furthest.index])
  return { ...fault, path: `/${furthest.index}${fault.path}` }
}

/** The fault of the alternative that matches the value furthest, if it matches none. */
function innermost(fault: ValueError): ValueError {
  let furthest = fault
  for (const form of fault.errors) {
    const [first, second] = form
    // All items are valid and only their number is wrong, so this alternative was meant.
    const isLength = first?.path === fault.path && first.schema.type === 'array' && Array.isArray(fault.value)
    if (isLength && !second) return first
    const inner = first && innermost(first)
    if (inner && isFurther(inner.path, furthest.path)) furthest = inner
  }
  return furthest
}

function isFurther(path: string, than: string): boolean {
  const [parts, others] = [path.split('/'), than.split('/')]
  const differs = parts.findIndex((part, index) => part !== others[index])
  return differs !== -1 && (differs >= others.length || Number(parts[differs]) > Number(others[differs]))
}

/** A JSON pointer in readable form: `/messages/0/role` is `messages[0].role`. */
function parameterOf(path: string): string {
  return path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce(
      (whole, part) => (/^\d+$/.test(part) ? `${whole}[${part}]` : whole ? `${whole}.${part}` : part),
      '',
    )
}

function describe(name: string, schema: TSchema, value: unknown): GatewayError {
  const param = name || null
  const shown = name ? `'${name}'` : 'the body'
  if (value === undefined) {
    const advice = schema.description ? ` ${schema.description}` : ''
    return invalidRequest(
      param,
      `Missing required parameter: ${shown}.${advice}`,
      'missing_required_parameter',
    )
  }
  const variants = variantsOf(schema)
  if (variants.every((variant) => variant.const !== undefined || variant.type === 'null')) {
    const values = variants.flatMap(({ const: word }) => (word === undefined ? [] : [`'${word}'`]))
    return invalidRequest(param, `Invalid value for ${shown}. Supported values are: ${values.join(', ')}.`)
  }
  const fitting = variants.find(
    (variant) => typeOf(variant) === typeName(value) || isNumberFor(variant, value),
  )
  if (!fitting) {
    const expected = [...new Set(variants.map(typeOf))].filter((type) => type !== 'null').map(article)
    const got = article(typeName(value))
    return invalidRequest(
      param,
      `Invalid type for ${shown}: expected ${expected.join(' or ')}, but got ${got} instead.`,
      'invalid_type',
    )
  }
  return invalidRequest(param, `Invalid ${shown}: ${boundOf(fitting, value)}`, boundCode(fitting, value))
}

/** The simple alternatives of a schema, including those of nested unions. */
function variantsOf(schema: TSchema): TSchema[] {
  return schema[Kind] === 'Union' ? (schema.anyOf as TSchema[]).flatMap(variantsOf) : [schema]
}

function boundOf(schema: TSchema, value: unknown): string {
  if (typeof value === 'number') {
    if (schema.minimum !== undefined && value < schema.minimum) {
      return `${schema.type} below minimum value. Expected a value >= ${schema.minimum}, but got ${value} instead.`
    }
    return `${schema.type} above maximum value. Expected a value <= ${schema.maximum}, but got ${value} instead.`
  }
  if (value === '') return 'empty string. Expected a text with at least one character.'
  if (typeof value === 'string' && value.length > (schema.maxLength ?? Number.POSITIVE_INFINITY))
    return `string too long. Expected at most ${schema.maxLength} characters, but got ${value.length} instead.`
  if (schema.pattern !== undefined)
    return `expected a text such as ${schema.pattern.replaceAll(/[\^$()]/g, '').replaceAll('|', ' or ')}.`
  if (Array.isArray(value)) {
    if (value.length === 0) return 'empty array. Expected an array with at least one item.'
    if (schema.maxItems !== undefined && value.length > schema.maxItems) {
      return `array too long. Expected at most ${schema.maxItems} items, but got ${value.length} instead.`
    }
    return 'an item of the array is not of the expected form.'
  }
  return 'the value is not of the expected form.'
}

function boundCode(schema: TSchema, value: unknown): ErrorCode {
  if (typeof value === 'number') {
    const kind = schema.type === 'integer' ? 'integer' : 'decimal'
    return value < (schema.minimum ?? Number.NEGATIVE_INFINITY)
      ? `${kind}_below_min_value`
      : `${kind}_above_max_value`
  }
  if (Array.isArray(value) && value.length === 0) return 'empty_array'
  return value === '' ? 'empty_string' : 'invalid_value'
}

function isNumberFor(schema: TSchema, value: unknown): boolean {
  return schema.type === 'integer' && typeof value === 'number' && Number.isInteger(value)
}

function typeOf(schema: TSchema): string {
  return schema.type ?? (schema.const === undefined ? 'value' : typeof schema.const)
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function article(type: string): string {
  if (type === 'null') return 'null'
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`
}
