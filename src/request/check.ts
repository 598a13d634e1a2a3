// Turns a caller's bytes into a checked request with its model, or finds its faults. It must never alter the caller's text, because
// the text itself goes to the vendor.

import type { Key } from '../accounts/keys'
import { tariffOf } from '../billing/ledger/metering'
import { type Catalogue, type ModelRoute, resolveModels, routeOf } from '../catalogue/models'
import { operatorEditOf, setTheSame } from '../catalogue/operator-fields'
import type { AnswerContext, EarlierVideo, Family, Model, ParsedRequest } from '../contract/family'
import { bodyOfForm, type Form, readPlaces } from '../contract/form'
import type { Operation } from '../contract/operations'
import { edited } from '../families/traits/edit'
import type { ResponseToKeep } from '../kept-responses/keep'
import { type Dialect, GatewayError, invalidRequest } from '../lib/errors'
import { findVariant, type KnownNames, knownNamesOf, type Variant } from '../lib/field-names'
import { fieldOf, type JsonBody, parseBody, scanBody } from '../lib/json/body'
import { editObject } from '../lib/json/json'
import type { System } from '../lib/system'
import { createValidator } from '../lib/validate'
import type { RequestLogRow } from '../request-log/row'
import type { CacheUse } from './cache/response-cache'
import type { Deferral } from './deferral'
import { checkFields, pathsOf } from './fields'
import { inOwnPlaces } from './recalled-places'
import type { RequestSession } from './session'

export interface CheckedRequest {
  operation: Operation
  key: Key
  /** The model that is tried first. */
  model: Model
  family: Family
  /** Models to try if it cannot answer. */
  others: readonly Model[]
  /** The requested route; absent for a model. */
  route?: ModelRoute | undefined
  parsed: ParsedRequest
  /** The body as received, with the positions of its members; undefined for a form. */
  source: JsonBody | undefined
  /** Identifies the request among those with the same key: the body, or a hash of it. */
  fingerprint: string
  /** The metadata that its usage counts under, as JSON; absent if the request has none, or none is configured. */
  metadata?: string | undefined
  /** The answer that is stored for later requests; absent if it is not stored. */
  toKeep?: ResponseToKeep | undefined
  /** The session that its calls belong to; absent without a session, or without a choice of keys and upstreams. */
  session?: RequestSession | undefined
  /** Absent unless the answer is made later, as a task. */
  deferral?: Deferral | undefined
  /** Use of the response cache; absent if the model has none. */
  cacheUse?: CacheUse | undefined
  /** Absent unless the answer is made in the background: whether the caller follows its events anyway. */
  background?: { isFollowed: boolean } | undefined
}

/** Maximum length of the caller's text that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

const NONE: readonly Model[] = []

/** Compiled with a family's first request: compiling all would slow down the start. */
const contracts = new Map<Family, Contract>()

/** A request that is parsed, and not yet checked for any model. */
export interface ReadRequest {
  operation: Operation
  key: Key
  given: Parsed
  form: Form | undefined
  /** Models that may answer, the first choice first, once their order is known. */
  candidates: readonly [Model, ...Model[]]
  /** The requested route; absent for a model. */
  route?: ModelRoute | undefined
  /** Absent without a session, or without a choice. */
  session?: RequestSession | undefined
  /** The answer in progress, for an operation that stores its answers. */
  answer?: AnswerContext
  /** Items of the input before the caller's own, which are stored here; absent if nothing was recalled. */
  recalledItems?: number
  /** The field that named those items. Default `previous_response_id`. */
  recalledBy?: 'conversation'
  /** Checks of the request per model, because a route asks several times. Absent for a single model. */
  checks?: Map<Model, ModelCheck | GatewayError> | undefined
}

/** Parses a request and finds its models. Throws a GatewayError in the dialect of the first of them. */
export function readRequest(
  catalogue: Catalogue,
  key: Key,
  operation: Operation,
  content: Uint8Array | Form,
  system: Pick<System, 'now'>,
  logRow?: Pick<RequestLogRow, 'requestedModel'>,
): ReadRequest {
  const json = ArrayBuffer.isView(content) ? scanBody(content) : undefined
  const form = json ? undefined : (content as Form)
  const named = json ? fieldOf(json, 'model') : form?.fields.get('model')
  if (logRow && typeof named === 'string') logRow.requestedModel = named
  // Done before the body, which may be large, is parsed.
  const candidates = resolveModels(catalogue, key, operation, named, system)
  try {
    const given = form ? parseForm(form) : parseJson(json as JsonBody, (content as Uint8Array).byteLength)
    const checks = candidates.length > 1 ? new Map() : undefined
    return { operation, key, given, form, candidates, route: routeOf(catalogue, named), checks }
  } catch (error) {
    throw inDialect(error, candidates[0].family.dialect)
  }
}

/**
 * Checks a request for the first of the models that accepts it. Throws a GatewayError that names the faulty field, as the first
 * model refuses it, in the dialect of its family.
 */
export function checkRequest(read: ReadRequest, from: RequestSource, now: number): CheckedRequest {
  const { operation, key, route, session } = read
  const candidates = inOneFamily(read.candidates, from.reword ? undefined : read.given.body)
  let refusal: unknown
  try {
    for (let place = 0; place < candidates.length; place++) {
      const model = candidates[place] as Model
      const check = checkOf(model, read, from, now)
      if (check instanceof GatewayError) {
        refusal ??= check
        continue
      }
      const { source, fingerprint, parsed } = check
      const others = othersOf(candidates, place, { parsed, read, from, now })
      const { family } = model
      return { operation, key, model, family, others, route, parsed, source, fingerprint, session }
    }
  } catch (error) {
    refusal = error
  }
  throw inDialect(
    inOwnPlaces(refusal, read.recalledItems ?? 0, read.recalledBy ?? 'previous_response_id'),
    candidates[0].family.dialect,
  )
}

/**
 * The candidates with one family each, for models that serve the operation with two: the one that claims the request, otherwise the
 * one that accepts any. A reworded request, which has no body here, has the form of the latter.
 */
function inOneFamily(
  candidates: readonly [Model, ...Model[]],
  body: Record<string, unknown> | undefined,
): readonly [Model, ...Model[]] {
  if (candidates.length === 1) return candidates
  const takers = candidates.filter((model) => body && takes(model, body))
  const isChosen = (model: Model) => {
    const isSame = (other: Model) => other.id === model.id && other.upstream === model.upstream
    if (takers.some(isSame)) return takers.includes(model)
    return !model.family.takes || candidates.filter(isSame).length === 1
  }
  const [first, ...others] = candidates.filter(isChosen)
  return first ? [first, ...others] : candidates
}

/** Whether a family claims a request, with the fields that the operator of the model's upstream sets in it. */
function takes(model: Model, body: Record<string, unknown>): boolean {
  const { family } = model
  if (!family.takes) return false
  const edit = operatorEditOf(model, (field) => field in body)
  return family.takes(edit ? edited(body, edit) : body, model)
}

/** The source of a request, and its form. */
export interface RequestSource {
  headers: Readonly<Record<string, string>>
  reword?: Reword
  remixOf?: EarlierVideo
}

interface ModelCheck extends Pick<CheckedRequest, 'parsed' | 'source' | 'fingerprint'> {}

/** The check of a request for a model, made once for the model and its equals. */
function checkOf(
  model: Model,
  read: ReadRequest,
  from: RequestSource,
  now: number,
): ModelCheck | GatewayError {
  // Each model of a reworded request has its own body.
  if (!read.checks || from.reword) return tryModel(model, read, from, now)
  for (const [other, check] of read.checks) if (other === model || areEqual(other, model)) return check
  const check = tryModel(model, read, from, now)
  read.checks.set(model, check)
  return check
}

/** The request for one model, or the reason why the model cannot serve it. */
function tryModel(
  model: Model,
  { given, form, answer }: ReadRequest,
  from: RequestSource,
  now: number,
): ModelCheck | GatewayError {
  try {
    const worded = from.reword ? reworded(given, from.reword(given.body, model)) : given
    const { body, byteLength, source, fingerprint } = withOperatorFields(worded, model)
    const own = bodyFor(model, form ? formFor(model, form) : body)
    const parsed: ParsedRequest = { body: own, byteLength, at: now, headers: from.headers }
    if (answer) parsed.answer = answer
    if (from.remixOf) parsed.remixOf = from.remixOf
    checkFor(model, parsed, form !== undefined)
    return { parsed, source, fingerprint }
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
}

/** Later models that could serve the same request too. */
function othersOf(
  candidates: readonly Model[],
  index: number,
  checked: { parsed: ParsedRequest; read: ReadRequest; from: RequestSource; now: number },
): readonly Model[] {
  if (index + 1 === candidates.length) return NONE
  const first = candidates[index] as Model
  return candidates
    .slice(index + 1)
    .filter((other) => areEqual(first, other) || takesToo(other, first, checked))
}

/** Whether a model accepts a request in the form sent to the first one. */
function takesToo(
  other: Model,
  { upstream: { operatorFields } }: Model,
  { parsed, read, from, now }: { parsed: ParsedRequest; read: ReadRequest; from: RequestSource; now: number },
): boolean {
  if (!setTheSame(other.upstream.operatorFields, operatorFields)) return false
  // Without fields of an operator or rewording, its body is the caller's, as for the first model.
  if (!operatorFields && !from.reword) return !(checkOf(other, read, from, now) instanceof GatewayError)
  return fits(other, parsed, read.form !== undefined)
}

/** Pairs of models that were compared, by the first. */
const comparisons = new WeakMap<Model, WeakMap<Model, boolean>>()

/** Whether two connections of a model accept the same requests at the same price, so that one check is enough. */
export function areEqual(one: Model, other: Model): boolean {
  if (one.id !== other.id || one.family !== other.family) return false
  const known = comparisons.get(one) ?? new WeakMap<Model, boolean>()
  comparisons.set(one, known)
  const found = known.get(other)
  if (found !== undefined) return found
  const facts = ({ traits, priceList, costList, upstream: of }: Model) => [
    ...[traits, priceList, costList],
    ...[of.kind, of.operatorFields, of.streamUsage, of.servesResponses],
    ...[of.sharedAccount, of.allowPrivateAddresses, of.taskDeadlineMs],
  ]
  const areSame = Bun.deepEquals(facts(one), facts(other))
  known.set(other, areSame)
  return areSame
}

function checkFor(model: Model, parsed: ParsedRequest, isForm: boolean): void {
  const read = isForm ? asJson(parsed, model.family) : parsed
  validate(model.family, read.body)
  checkFields(model, read)
  model.family.check?.(parsed.body, model)
  // Throws for a size or the like that has no price.
  tariffOf(parsed, model)
}

/** A form with its bracketed names resolved to places. The vendor gets the names as received. */
function asJson(parsed: ParsedRequest, family: Family): ParsedRequest {
  return { ...parsed, body: readPlaces(parsed.body as Record<string, unknown>, family.body) }
}

/** The part of the body that the model reads. */
function bodyFor({ traits, family }: Model, body: Record<string, unknown>): Record<string, unknown> {
  const ignored = family.ignoredFor?.(traits)
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
    `Unknown parameter: '${shown}'. It differs from '${meant}' only by case, and some upstreams would confuse the two. Write '${meant}'.`,
    'unknown_parameter',
  )
}

/** Whether another model could serve this request. */
function fits(model: Model, parsed: ParsedRequest, isForm: boolean): boolean {
  try {
    checkFor(model, { ...parsed, body: bodyFor(model, parsed.body as Record<string, unknown>) }, isForm)
    return true
  } catch (error) {
    if (error instanceof GatewayError) return false
    throw error
  }
}

/** An error with the dialect that its reader expects. */
export function inDialect(error: unknown, dialect: Dialect): unknown {
  if (error instanceof GatewayError) error.dialect = dialect
  return error
}

/** Rewrites a request from a form that all families share to the model's own. */
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

/** The request with the fields that the operator of the model's upstream sets. For a form, they are set in its body. */
function withOperatorFields(given: Parsed, model: Model): Parsed {
  const { source } = given
  const edit = source && operatorEditOf(model, (field) => source.scanned.members.has(field))
  if (!edit) return given
  const bytes = Buffer.from(editObject(source.text, source.scanned, edit))
  return { ...parseJson(scanBody(bytes), bytes.byteLength), fingerprint: given.fingerprint }
}

/** The body of a form, with the fields that the operator of the model's upstream sets. */
function formFor(model: Model, form: Form): Record<string, unknown> {
  const body = bodyOfForm(form, model.family.body)
  const edit = operatorEditOf(model, (field) => field in body)
  return edit ? edited(body, edit) : body
}

function parseJson(json: JsonBody, byteLength: number): Parsed {
  return { body: parseBody(json), byteLength, source: json, fingerprint: json.text }
}

/** Removes fields of the gateway from a parsed request. */
export function withoutFields(read: ReadRequest, names: readonly string[]): void {
  const { given, form } = read
  if (form) {
    const fields = new Map([...form.fields].filter(([name]) => !names.includes(name)))
    read.form = { ...form, fields }
    read.given = parseForm(read.form)
    return
  }
  if (!given.source) return
  const { text, scanned } = given.source
  const bytes = Buffer.from(editObject(text, scanned, { drop: names }))
  read.given = { ...parseJson(scanBody(bytes), bytes.byteLength), fingerprint: given.fingerprint }
}

function parseForm(form: Form): Parsed {
  const body = Object.fromEntries(form.fields)
  return { body, byteLength: form.textBytes, source: undefined, fingerprint: form.hash }
}
