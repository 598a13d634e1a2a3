// Fields that an operator sets in the bodies of an upstream. Fields that a family knows are set in the caller's request, before it
// is checked, held and priced; those that only the vendor knows are set in the vendor's body. A field that can cost money must
// never be set after the price is held.

import type { Call, Family, Model } from '../contract/family'
import type { OperatorFields, UpstreamKind } from '../contract/upstream'
import { stepsOf } from '../lib/field-names'
import type { JsonBody } from '../lib/json/body'
import type { Edit } from '../lib/json/json'

/** Names for the output limit in several APIs. */
const OUTPUT_LIMITS = ['max_completion_tokens', 'max_tokens', 'max_output_tokens']

const known = new WeakMap<Family, ReadonlySet<string>>()

/** Top-level fields that a family accepts from callers. */
function knownFieldsOf(family: Family): ReadonlySet<string> {
  let names = known.get(family)
  if (!names) {
    const { body, fields = [], fieldRules = [], bridge = [] } = family
    const ruled = fieldRules.filter((rule) => rule.in === undefined)
    const translated = bridge.filter(({ treatment }) => treatment === 'translated')
    const paths = [...fields, ...[...ruled, ...translated].map(({ field }) => field)]
    names = new Set([
      ...Object.keys(body.properties ?? {}),
      ...paths.map((path) => stepsOf(path)[0] as string),
    ])
    known.set(family, names)
  }
  return names
}

/** The family's own name of a field; undefined if it knows none. */
function ownNameOf(family: Family, field: string): string | undefined {
  const names = knownFieldsOf(family)
  if (names.has(field)) return field
  return OUTPUT_LIMITS.includes(field) ? OUTPUT_LIMITS.find((name) => names.has(name)) : undefined
}

/** The edit of a caller's request for a model; undefined if there is nothing to set. `has` says which fields the request has. */
export function operatorEditOf(
  { family, upstream: { operatorFields } }: Model,
  has: (field: string) => boolean,
): { set: Record<string, string>; drop: string[] } | undefined {
  if (!operatorFields) return undefined
  const set: Record<string, string> = {}
  const drop: string[] = []
  for (const [field, json] of Object.entries(operatorFields.defaults)) {
    const name = ownNameOf(family, field)
    if (name !== undefined && !rivalsOf(name).some(has)) set[name] = json
  }
  for (const [field, json] of Object.entries(operatorFields.forced)) {
    const name = ownNameOf(family, field)
    if (name === undefined) continue
    set[name] = json
    drop.push(...rivalsOf(name).filter((other) => other !== name && has(other)))
  }
  return Object.keys(set).length === 0 ? undefined : { set, drop }
}

/** All names under which a request may have set the same value. */
function rivalsOf(name: string): readonly string[] {
  return OUTPUT_LIMITS.includes(name) ? OUTPUT_LIMITS : [name]
}

/** A body with fields under the vendor's own names for them. `source` is the caller's text, if the call edits it. */
export function withVendorNames(
  body: Call['body'],
  renamed: UpstreamKind['renamed'],
  source: JsonBody | undefined,
): Call['body'] {
  if (!renamed || body === null) return body
  if ('form' in body) {
    const form = body.form.flatMap((part) => {
      const own = Object.hasOwn(renamed, part.name) ? renamed[part.name] : part.name
      return own == null ? [] : [{ ...part, name: own }]
    })
    return { form }
  }
  if ('json' in body) {
    const fields = Object.entries(body.json as object).flatMap(([name, value]) => {
      const own = Object.hasOwn(renamed, name) ? renamed[name] : name
      return own === null ? [] : [[own, value]]
    })
    return { json: Object.fromEntries(fields) }
  }
  const isSent = (name: string) => source?.scanned.members.has(name) || body.edit.set?.[name] !== undefined
  if (!Object.keys(renamed).some(isSent)) return body
  const set = { ...body.edit.set }
  const drop = [...(body.edit.drop ?? [])]
  for (const [name, own] of Object.entries(renamed)) {
    const member = source?.scanned.members.get(name)
    const value = set[name] ?? (member && source?.text.slice(member.valueStart, member.valueEnd))
    if (value === undefined || drop.includes(name)) continue
    delete set[name]
    drop.push(name)
    if (own !== null) set[own] = value
  }
  return { edit: { ...body.edit, set, drop } }
}

/** A call with the fields that only the vendor knows. `source` is the caller's text, if the call edits it. */
export function withVendorFields(
  body: Call['body'],
  { family, upstream: { operatorFields } }: Model,
  source: JsonBody | undefined,
): Call['body'] {
  if (!operatorFields || body === null) return body
  const { forced, defaults } = operatorFields
  const isVendors = ([field]: [string, string]) => ownNameOf(family, field) === undefined
  const always = Object.entries(forced).filter(isVendors)
  const otherwise = Object.entries(defaults).filter(isVendors)
  if (always.length + otherwise.length === 0) return body
  if ('edit' in body) {
    const missing = otherwise.filter(([field]) => !source?.scanned.members.has(field))
    return { edit: withSet(body.edit, [...missing, ...always]) }
  }
  if ('json' in body) {
    return { json: { ...parsed(otherwise), ...(body.json as object), ...parsed(always) } }
  }
  const named = new Set(body.form.map(({ name }) => name))
  const added = [...otherwise.filter(([field]) => !named.has(field)), ...always]
  const kept = body.form.filter(({ name }) => !always.some(([field]) => field === name))
  return { form: [...kept, ...added.map(([name, json]) => ({ name, value: textOf(json) }))] }
}

function withSet(edit: Edit, fields: readonly [string, string][]): Edit {
  return { ...edit, set: { ...edit.set, ...Object.fromEntries(fields) } }
}

function parsed(fields: readonly [string, string][]): Record<string, unknown> {
  return Object.fromEntries(fields.map(([field, json]) => [field, JSON.parse(json)]))
}

/** A value as the text of a form. */
function textOf(json: string): string {
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' ? value : json
}

/**
 * Whether a bridge can serve a model whose operator sets these fields: callers of the bridge must be able to send each field that
 * the vendor's own family checks or prices, or it must have no effect.
 */
export function canBeBridged(bridge: Family, native: Family, fields: OperatorFields | undefined): boolean {
  if (!fields) return true
  const all = Object.entries({ ...fields.defaults, ...fields.forced })
  return all.every(([field, json]) => {
    if (ownNameOf(bridge, field) !== undefined || !knownFieldsOf(native).has(field)) return true
    const value: unknown = JSON.parse(json)
    return native.fieldRules?.some(
      (rule) => rule.field === field && Array.isArray(rule.plain) && rule.plain.includes(value),
    )
  })
}

/** Whether a request that was made for one upstream may go to another: both set the same fields. */
export function setTheSame(one: OperatorFields | undefined, other: OperatorFields | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}
