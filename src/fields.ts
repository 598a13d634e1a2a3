// Which fields a request may have: what a vendor bills beside the plain price needs a price of its own, what a model behind
// another dialect cannot be asked is refused, and a strict model takes no field that nobody has described.
// The rules are data of the families; nothing here may know one of them, or alter a request.

import type { Ask, BridgedField, Family, FieldRule, Model } from './family'
import { GatewayError } from './lib/errors'
import { stepsOf } from './lib/field-names'
import { isObject } from './lib/objects'
import { hasPrice, hasServiceTier } from './prices'
import { rowOf } from './units'

/** Most of a caller's own word that an error repeats. */
const MAX_SHOWN_LENGTH = 64

interface Rule extends FieldRule {
  /** The way from the top-level field to the value; `[]` is every item of a list. */
  steps: readonly string[]
}

interface Rules {
  /** By the top-level field that they begin with. */
  byField: ReadonlyMap<string, readonly Rule[]>
  ofHeaders: readonly FieldRule[]
  /** Every top-level field that the family's contract describes. */
  known: ReadonlySet<string>
}

/** Made with a family's first request. */
const compiled = new Map<Family, Rules>()

/** Throws 400 for a field that the request may not have, with its name and what to do. */
export function checkFields(model: Model, { body, headers }: Ask): void {
  const { family } = model
  const { byField, ofHeaders, known } = rulesOf(family)
  const fields = body as Record<string, unknown>
  const isClosed = model.strictFields || family.bridge !== undefined
  for (const field in fields) {
    const value = fields[field]
    if (isClosed && !known.has(field) && (model.strictFields || value !== null)) throw unknown(field, model)
    const rules = byField.get(field)
    if (!rules || value === null) continue
    for (const rule of rules) {
      const found = find(value, rule, 0)
      if (found && !isAllowed(rule, found.value, model))
        throw refusal(rule, `${field}${found.place}`, found.value, model)
    }
  }
  if (!headers) return
  for (const rule of ofHeaders) {
    const value = headers[rule.field]
    if (value === undefined || isPlain(value, rule) || isAllowed(rule, value, model)) continue
    throw refusal(rule, rule.field, value, model)
  }
}

function rulesOf(family: Family): Rules {
  const known = compiled.get(family)
  if (known) return known
  const rules = compile(family)
  compiled.set(family, rules)
  return rules
}

function compile({ body, surcharges = [], bridge = [], fields = [] }: Family): Rules {
  const all = [...surcharges, ...bridge.filter(({ fate }) => fate === 'refused').map(ruleOf)]
  const inBody = all.filter((rule) => rule.in === undefined)
  const rules = inBody.map((rule): Rule => ({ ...rule, steps: stepsOf(rule.field).slice(1) }))
  const heads = [...inBody, ...bridge].map(({ field }) => headOf(field))
  return {
    byField: Map.groupBy(rules, ({ field }) => headOf(field)),
    ofHeaders: all.filter((rule) => rule.in === 'header'),
    known: new Set([...Object.keys(body.properties ?? {}), ...fields.map(headOf), ...heads]),
  }
}

/** Behind another dialect a field is refused at any price. */
function ruleOf({ fate: _, note: why, ...rule }: BridgedField): FieldRule {
  return { ...rule, why, always: true }
}

function headOf(field: string): string {
  return stepsOf(field)[0] as string
}

/** All fields that are known beside those of the schema, as paths. */
export function pathsOf({ surcharges = [], bridge = [], fields = [] }: Family): string[] {
  const ruled = [...surcharges, ...bridge].filter((rule) => !('in' in rule) || rule.in === undefined)
  return [...fields, ...ruled.map(({ field }) => field)]
}

/** The first value that the rule is about, and its place behind the top-level field. */
function find(value: unknown, rule: Rule, depth: number): { place: string; value: unknown } | undefined {
  if (value === null || value === undefined) return undefined
  const step = rule.steps[depth]
  if (step === undefined) return isPlain(value, rule) ? undefined : { place: '', value }
  if (step !== '[]') {
    const found = isObject(value) ? find(value[step], rule, depth + 1) : undefined
    return found && { place: `.${step}${found.place}`, value: found.value }
  }
  if (!Array.isArray(value)) return undefined
  for (let index = 0; index < value.length; index++) {
    const found = find(value[index], rule, depth + 1)
    if (found) return { place: `[${index}]${found.place}`, value: found.value }
  }
  return undefined
}

/** Objects and lists are written as JSON among the plain values. */
function isPlain(value: unknown, { plain }: FieldRule): boolean {
  if (plain instanceof RegExp) return typeof value === 'string' && plain.test(value)
  return plain?.includes(typeof value === 'object' ? JSON.stringify(value) : value) === true
}

function isAllowed({ price, always, unless }: FieldRule, value: unknown, model: Model): boolean {
  const { priceList } = model
  if (unless?.(model) || (!always && priceList.isFree)) return true
  if (price === 'service_tier') return typeof value === 'string' && hasServiceTier(priceList, value)
  return price !== undefined && hasPrice(priceList, price)
}

function refusal(rule: FieldRule, place: string, value: unknown, model: Model): GatewayError {
  const { why, instead = 'Leave it out, or choose another model.', price, always, details } = rule
  const shown = typeof value === 'string' ? ` is '${value.slice(0, MAX_SHOWN_LENGTH)}'` : ' is set'
  const key = price === undefined || price === 'service_tier' ? '' : ` (${rowOf(price).key})`
  const lacking = always ? '' : `, and ${model.id} has no price for it${key}`
  return new GatewayError(400, {
    code: rule.plain === undefined ? 'unsupported_parameter' : 'unsupported_value',
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
