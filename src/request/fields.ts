// Checks which fields a request may have. Extra charges of a vendor need their own price. Fields that refer to another caller's
// data, or that a model of another dialect does not support, are refused, and a strict model accepts no unknown field. The rules
// are data of the families; nothing here must know a family, or alter a request.

import type { BridgedField, Family, FieldRule, Model, ParsedRequest } from '../contract/family'
import { hasPrice, hasServiceTier } from '../contract/prices'
import { rowOf } from '../contract/units'
import { GatewayError } from '../lib/errors'
import { stepsOf } from '../lib/field-names'
import { isPrivatePlace } from '../lib/network'

/** Maximum length of the caller's text that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 64

/** A place in a request, with its rules and the places below it that have rules. */
interface Place {
  rules: FieldRule[]
  items: Place | undefined
  members: Map<string, Place>
}

interface Rules {
  /** The request as a whole. */
  body: Place
  ofHeaders: readonly FieldRule[]
  /** Top-level fields of the family's contract. */
  known: ReadonlySet<string>
}

const PRIVATE_ADDRESS = 'it points to this machine, to a private network or to a file of the server'

/** Compiled with a family's first request. */
const compiled = new Map<Family, Rules>()

/** The rules of kinds of upstreams, compiled with the first request to one. */
const compiledOfKinds = new Map<readonly FieldRule[], Place>()

/** Throws 400 for a forbidden field, with its name and what to do. */
export function checkFields(model: Model, { body, headers }: ParsedRequest): void {
  const { family } = model
  const { body: outermost, ofHeaders, known } = rulesOf(family)
  const fields = body as Record<string, unknown>
  const isClosed = model.strictFields || (family.bridge !== undefined && !family.ignoresUnknown)
  if (model.upstream.refused) checkMembers(fields, placeOfKind(model.upstream.refused), model)
  for (const field in fields) {
    const value = fields[field]
    if (isClosed && !known.has(field) && (model.strictFields || value !== null)) throw unknown(field, model)
    const place = outermost.members.get(field)
    const fault = place && faultAt(value, place, model)
    if (fault) throw refusal(fault.rule, field + fault.place, fault.value, model)
  }
  if (!headers) return
  for (const rule of ofHeaders) {
    const value = headers[rule.field]
    if (value === undefined || isAllowed(rule, value, model) || isPlain(value, rule)) continue
    throw refusal(rule, rule.field, value, model)
  }
}

function checkMembers(fields: Record<string, unknown>, { members }: Place, model: Model): void {
  for (const [field, place] of members) {
    const fault = faultAt(fields[field], place, model)
    if (fault) throw refusal(fault.rule, field + fault.place, fault.value, model)
  }
}

function placeOfKind(rules: readonly FieldRule[]): Place {
  let place = compiledOfKinds.get(rules)
  if (!place) {
    place = emptyPlace()
    for (const rule of rules) placeOf(place, stepsOf(rule.field)).rules.push(rule)
    compiledOfKinds.set(rules, place)
  }
  return place
}

function rulesOf(family: Family): Rules {
  const known = compiled.get(family)
  if (known) return known
  const rules = compile(family)
  compiled.set(family, rules)
  return rules
}

function compile({ body: schema, fieldRules = [], bridge = [], fields = [] }: Family): Rules {
  const all = [...fieldRules, ...bridge.filter(({ treatment }) => treatment === 'refused').map(ruleOf)]
  const body: Place = emptyPlace()
  const inBody = all.filter((rule) => rule.in === undefined)
  for (const rule of inBody) placeOf(body, stepsOf(rule.field)).rules.push(rule)
  const heads = [...inBody, ...bridge].map(({ field }) => headOf(field))
  return {
    body,
    ofHeaders: all.filter((rule) => rule.in === 'header'),
    known: new Set([...Object.keys(schema.properties ?? {}), ...fields.map(headOf), ...heads]),
  }
}

function emptyPlace(): Place {
  return { rules: [], items: undefined, members: new Map() }
}

/** The place at the end of the steps, created if absent. */
function placeOf(from: Place, steps: readonly string[]): Place {
  let place = from
  for (const step of steps) {
    let next = step === '[]' ? place.items : place.members.get(step)
    if (!next) {
      next = emptyPlace()
      if (step === '[]') place.items = next
      else place.members.set(step, next)
    }
    place = next
  }
  return place
}

/** The rule of a field in another dialect, which is refused at any price. */
function ruleOf({ treatment: _, note: why, ...rule }: BridgedField): FieldRule {
  return { ...rule, why, always: true }
}

function headOf(field: string): string {
  return stepsOf(field)[0] as string
}

/** Paths of all known fields other than those of the schema. */
export function pathsOf({ fieldRules = [], bridge = [], fields = [] }: Family): string[] {
  const ruled = [...fieldRules, ...bridge].filter((rule) => !('in' in rule) || rule.in === undefined)
  return [...fields, ...ruled.map(({ field }) => field)]
}

interface Fault {
  rule: FieldRule
  /** The place, relative to the start of the search. */
  place: string
  value: unknown
}

/** The first value that breaks a rule of its place, in one walk for all rules. */
function faultAt(value: unknown, { rules, items, members }: Place, model: Model): Fault | undefined {
  if (value === null || value === undefined) return undefined
  for (const rule of rules) {
    const broken = brokenRule(rule, value, model)
    if (broken) return { rule: broken, place: '', value }
  }
  if (typeof value !== 'object') return undefined
  if (!Array.isArray(value)) return faultInMembers(value as Record<string, unknown>, members, model)
  if (!items) return undefined
  for (let index = 0; index < value.length; index++) {
    const fault = faultAt(value[index], items, model)
    if (fault) return { ...fault, place: `[${index}]${fault.place}` }
  }
  return undefined
}

function faultInMembers(value: Record<string, unknown>, members: Place['members'], model: Model) {
  if (members.size === 0) return undefined
  for (const name in value) {
    const place = members.get(name)
    const fault = place && faultAt(value[name], place, model)
    if (fault) return { ...fault, place: `.${name}${fault.place}` }
  }
  return undefined
}

/** The rule that a value breaks: the given one, or that of private addresses. */
function brokenRule(rule: FieldRule, value: unknown, model: Model): FieldRule | undefined {
  const isPrivate = rule.address === true && typeof value === 'string' && isPrivatePlace(value)
  if (isPrivate && !model.upstream.allowPrivateAddresses) return { ...rule, why: PRIVATE_ADDRESS }
  return isAllowed(rule, value, model) || isPlain(value, rule) ? undefined : rule
}

/** Whether a value is plain. Objects and lists among the plain values are written as JSON. */
function isPlain(value: unknown, { plain, state }: FieldRule): boolean {
  if (plain instanceof RegExp) return typeof value === 'string' ? plain.test(value) : state === true
  return plain?.includes(typeof value === 'object' ? JSON.stringify(value) : value) === true
}

function isAllowed(
  { price, orPrice, always, state, unless }: FieldRule,
  value: unknown,
  model: Model,
): boolean {
  const { priceList, upstream } = model
  if (state) return !upstream.sharedAccount || unless?.(model) === true
  if (unless?.(model) || (!always && priceList.isFree)) return true
  if (price === 'service_tier') return typeof value === 'string' && hasServiceTier(priceList, value)
  return [price, orPrice].some((unit) => unit !== undefined && hasPrice(priceList, unit))
}

function refusal(rule: FieldRule, place: string, value: unknown, model: Model): GatewayError {
  const { why, instead = 'Leave it out, or choose another model.', price, always, state, details } = rule
  const { code = rule.plain === undefined ? 'unsupported_parameter' : 'unsupported_value' } = rule
  const shown = typeof value === 'string' ? ` is '${value.slice(0, MAX_SHOWN_LENGTH)}'` : ' is set'
  const keys = [price, rule.orPrice].flatMap((unit) =>
    unit === undefined || unit === 'service_tier' ? [] : [rowOf(unit).key],
  )
  const key = keys.length > 0 ? ` (${keys.join(' or ')})` : ''
  const unpriced =
    price === undefined ? 'a price list has no price for it' : `${model.id} has no price for it${key}`
  const lacking = always || state ? '' : `, and ${unpriced}`
  return new GatewayError(400, {
    code,
    message: `Unsupported value: '${place}'${shown}: ${why}${lacking}. ${instead}`,
    param: place,
    details,
  })
}

function unknown(field: string, model: Model): GatewayError {
  const shown = field.slice(0, MAX_SHOWN_LENGTH)
  const why = model.strictFields
    ? 'takes only the fields that its documentation names'
    : 'is served through another API, which has no such field'
  return new GatewayError(400, {
    code: 'unknown_parameter',
    message: `Unknown parameter: '${shown}'. ${model.id} ${why}: leave it out.`,
    param: shown,
  })
}
