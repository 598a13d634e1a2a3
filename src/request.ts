// From a caller's bytes to a checked request: what it is, which model it is for, and what is wrong with it.
// It must never alter what the caller sent: the text itself goes on to the vendor.

import type { Ask, Family, Model } from './family'
import { checkFields } from './fields'
import { bodyOfForm, type Form } from './form'
import type { Key } from './keys'
import { type Dialect, GatewayError, invalidRequest } from './lib/errors'
import { MAX_DEPTH, type ScannedObject, scanObject } from './lib/json'
import { createValidator } from './lib/validate'
import { tariffOf } from './metering'
import { type Catalogue, resolveModels } from './models'
import type { Operation } from './operations'

export interface CheckedRequest {
  operation: Operation
  key: Key
  /** The first to be tried, and what serves it. */
  model: Model
  family: Family
  /** What may be tried when it cannot answer. */
  others: readonly Model[]
  ask: Ask
  /** The body as it came and where its members stand; undefined for a form. */
  source: { text: string; scanned: ScannedObject } | undefined
  /** What tells this request from another one of the same key: the body, or a hash of it. */
  fingerprint: string
}

/** Most of a caller's own word that an error repeats. */
const MAX_SHOWN_LENGTH = 128

const NONE: readonly Model[] = []

const decoder = new TextDecoder('utf-8', { fatal: true })
/** Made with a family's first request: all of them together would hold up the start. */
const validators = new Map<Family, (body: unknown) => void>()

/** Throws a GatewayError that names the field at fault, in the dialect of its family as soon as that is known. */
export function checkRequest(
  catalogue: Catalogue,
  key: Key,
  from: { operation: Operation; headers: Readonly<Record<string, string>>; reword?: Reword },
  content: Uint8Array | Form,
  { now, random }: { now: number; random: () => number },
): CheckedRequest {
  const { operation, headers } = from
  const given = ArrayBuffer.isView(content) ? parseJson(content) : parseForm(content)
  const candidates = resolveModels(catalogue, key, operation, given.body.model, random)
  const [model] = candidates
  const parsed = from.reword ? reworded(given, from.reword(given.body, model)) : given
  const { family } = model
  const body = ArrayBuffer.isView(content) ? parsed.body : bodyOfForm(content, family.body)
  const ask: Ask = { body, byteLength: parsed.byteLength, at: now, headers }
  try {
    checkFor(model, ask)
  } catch (error) {
    throw inDialect(error, family.dialect)
  }
  const others = candidates.length === 1 ? NONE : candidates.slice(1).filter((other) => fits(other, ask))
  return {
    operation,
    key,
    model,
    family,
    others,
    ask,
    source: parsed.source,
    fingerprint: parsed.fingerprint,
  }
}

function checkFor(model: Model, ask: Ask): void {
  validate(model.family, ask.body)
  checkFields(model, ask)
  model.family.check?.(ask.body, model)
  // Throws for a size or the like that has no price.
  tariffOf(ask, model)
}

function validate(family: Family, body: unknown): void {
  let validator = validators.get(family)
  if (!validator) {
    validator = createValidator(family.body)
    validators.set(family, validator)
  }
  validator(body)
}

/** Whether a further choice could take this request: one that could not is passed over. */
function fits(model: Model, ask: Ask): boolean {
  try {
    checkFor(model, ask)
    return true
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

/** An error whose reader expects this form of it. */
export function inDialect(error: unknown, dialect: Dialect): unknown {
  if (error instanceof GatewayError) error.dialect = dialect
  return error
}

/** The request was written in other words, the same for every family: as the model's own takes it. */
export type Reword = (body: Record<string, unknown>, model: Model) => Record<string, unknown>

function reworded(given: Parsed, body: Record<string, unknown>): Parsed {
  return { ...parseJson(Buffer.from(JSON.stringify(body))), fingerprint: given.fingerprint }
}

interface Parsed {
  body: Record<string, unknown>
  byteLength: number
  source: CheckedRequest['source']
  fingerprint: string
}

function parseJson(bytes: Uint8Array): Parsed {
  const text = decode(bytes)
  const scanned = scan(text)
  return { body: parse(text), byteLength: bytes.byteLength, source: { text, scanned }, fingerprint: text }
}

function parseForm(form: Form): Parsed {
  const body = Object.fromEntries(form.fields)
  return { body, byteLength: form.textBytes, source: undefined, fingerprint: form.hash }
}

function decode(bytes: Uint8Array): string {
  if (bytes.byteLength === 0) throw notJson('The body is empty: send a JSON object.')
  try {
    return decoder.decode(bytes)
  } catch {
    throw notJson('The body is not valid UTF-8.')
  }
}

function scan(text: string): ScannedObject {
  const scanned = scanObject(text)
  if ('members' in scanned) return scanned
  const field = scanned.key?.slice(0, MAX_SHOWN_LENGTH) ?? null
  if (scanned.fault === 'too deep') {
    throw invalidRequest(field, `The field '${field}' nests more than ${MAX_DEPTH} levels deep.`, 'too_deep')
  }
  if (scanned.fault === 'duplicate key') {
    throw invalidRequest(field, `The body has the field '${field}' twice.`, 'duplicate_field')
  }
  throw notJson('The body is not a JSON object.')
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw notJson('The body is not valid JSON.')
  }
}

function notJson(message: string): GatewayError {
  return invalidRequest(null, message, 'invalid_json')
}
