// From a caller's bytes to a checked request: what it is, which model it is for, and what is wrong with it.
// It must never alter what the caller sent: the text itself goes on to the vendor.

import type { Key } from '../accounts/keys'
import { tariffOf } from '../billing/metering'
import { type Catalogue, resolveModels } from '../catalogue/models'
import type { Ask, Family, Model } from '../contract/family'
import { bodyOfForm, type Form, readPlaces } from '../contract/form'
import type { Operation } from '../contract/operations'
import { type Dialect, GatewayError, invalidRequest } from '../lib/errors'
import { findVariant, type KnownNames, knownNamesOf, type Variant } from '../lib/field-names'
import { fieldOf, type JsonBody, parseBody, scanBody } from '../lib/json-body'
import { createValidator } from '../lib/validate'
import { checkFields, pathsOf } from './fields'

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
  source: JsonBody | undefined
  /** What tells this request from another one of the same key: the body, or a hash of it. */
  fingerprint: string
}

/** Most of a caller's own word that an error repeats. */
const MAX_SHOWN_LENGTH = 128

const NONE: readonly Model[] = []

/** Made with a family's first request: all of them together would hold up the start. */
const contracts = new Map<Family, Contract>()

/**
 * For the first of the models that can take it. Throws a GatewayError that names the field at fault, as the first that is
 * asked refuses it, in the dialect of its family as soon as that is known.
 */
export function checkRequest(
  catalogue: Catalogue,
  key: Key,
  from: RequestSource,
  content: Uint8Array | Form,
  { now, random }: { now: number; random: () => number },
): CheckedRequest {
  const { operation } = from
  const json = ArrayBuffer.isView(content) ? scanBody(content) : undefined
  const form = json ? undefined : (content as Form)
  const named = json ? fieldOf(json, 'model') : form?.fields.get('model')
  // Before anything is built of the body, which may be large.
  const candidates = resolveModels(catalogue, key, operation, named, random)
  let refusal: unknown
  try {
    const given = form ? parseForm(form) : parseJson(json as JsonBody, (content as Uint8Array).byteLength)
    for (let place = 0; place < candidates.length; place++) {
      const model = candidates[place] as Model
      const asked = tryAsk(model, given, from, form, now)
      if (asked instanceof GatewayError) {
        refusal ??= asked
        continue
      }
      const { source, fingerprint, ask } = asked
      const others = othersOf(candidates, place + 1, ask, form)
      return { operation, key, model, family: model.family, others, ask, source, fingerprint }
    }
  } catch (error) {
    refusal = error
  }
  throw inDialect(refusal, candidates[0].family.dialect)
}

/** Where a request comes from, and in which words. */
interface RequestSource {
  operation: Operation
  headers: Readonly<Record<string, string>>
  reword?: Reword
}

interface Asked extends Pick<CheckedRequest, 'ask' | 'source' | 'fingerprint'> {}

/** The request as this model is asked it, or why it cannot be. */
function tryAsk(
  model: Model,
  given: Parsed,
  from: RequestSource,
  form: Form | undefined,
  now: number,
): Asked | GatewayError {
  try {
    const asked = from.reword ? reworded(given, from.reword(given.body, model)) : given
    const { body, byteLength, source, fingerprint } = asked
    const own = bodyFor(model, form ? bodyOfForm(form, model.family.body) : body)
    const ask = { body: own, byteLength, at: now, headers: from.headers }
    checkFor(model, ask, form !== undefined)
    return { ask, source, fingerprint }
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** Those behind a place that could take the request too. */
function othersOf(
  candidates: readonly Model[],
  from: number,
  ask: Ask,
  form: Form | undefined,
): readonly Model[] {
  if (from === candidates.length) return NONE
  return candidates.slice(from).filter((other) => fits(other, ask, form !== undefined))
}

function checkFor(model: Model, ask: Ask, isForm: boolean): void {
  const read = isForm ? asJson(ask, model.family) : ask
  validate(model.family, read.body)
  checkFields(model, read)
  model.family.check?.(ask.body, model)
  // Throws for a size or the like that has no price.
  tariffOf(ask, model)
}

/** A form with its names in brackets as the places that they mean: what goes to the vendor are the names as they came. */
function asJson(ask: Ask, family: Family): Ask {
  return { ...ask, body: readPlaces(ask.body as Record<string, unknown>, family.body) }
}

/** The body as far as the model reads it. */
function bodyFor({ reasoning, family }: Model, body: Record<string, unknown>): Record<string, unknown> {
  const ignored = reasoning ? family.ignoredWhenReasoning : undefined
  if (!ignored?.some((field) => field in body)) return body
  const read = { ...body }
  for (const field of ignored) delete read[field]
  return read
}

interface Contract {
  validate(body: unknown): void
  names: KnownNames | undefined
}

function validate(family: Family, body: unknown): void {
  let contract = contracts.get(family)
  if (!contract) {
    contract = { validate: createValidator(family.body), names: knownNamesOf(family.body, pathsOf(family)) }
    contracts.set(family, contract)
  }
  const variant = contract.names && findVariant(body, contract.names)
  if (variant) throw otherwiseWritten(variant)
  contract.validate(body)
}

function otherwiseWritten({ path, known }: Variant): GatewayError {
  const [shown, meant] = [path.slice(0, MAX_SHOWN_LENGTH), known.slice(0, MAX_SHOWN_LENGTH)]
  return invalidRequest(
    shown,
    `Unknown parameter: '${shown}'. It differs from '${meant}' only by case, and some upstreams would take the one for the other. Write '${meant}'.`,
    'unknown_parameter',
  )
}

/** Whether a further choice could take this request: one that could not is passed over, as it is when it comes first. */
function fits(model: Model, ask: Ask, isForm: boolean): boolean {
  try {
    checkFor(model, { ...ask, body: bodyFor(model, ask.body as Record<string, unknown>) }, isForm)
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
  const bytes = Buffer.from(JSON.stringify(body))
  return { ...parseJson(scanBody(bytes), bytes.byteLength), fingerprint: given.fingerprint }
}

interface Parsed {
  body: Record<string, unknown>
  byteLength: number
  source: JsonBody | undefined
  fingerprint: string
}

function parseJson(json: JsonBody, byteLength: number): Parsed {
  return { body: parseBody(json), byteLength, source: json, fingerprint: json.text }
}

function parseForm(form: Form): Parsed {
  const body = Object.fromEntries(form.fields)
  return { body, byteLength: form.textBytes, source: undefined, fingerprint: form.hash }
}
