// The types of an upstream: the properties of a vendor, and the connection that the request line uses. Types only.
// Nothing here must depend on how a connection works.

import type { HttpResponse } from '../http-client/response'
import type { CancelSignal } from '../lib/cancel-token'
import type { GatewayError } from '../lib/errors'
import type { Call, FieldRule } from './family'
import type { Traits } from './traits'

/** The properties of a vendor, in one file each under upstreams/kinds/. */
export interface UpstreamKind {
  kind: string
  baseUrl: string
  /** The usual environment variable for this vendor's key. */
  secretVariable: string
  /** The paths of the protocols below the base URL. */
  prefix: { openai: string; native: string }
  headers(secret: string, protocol: Call['protocol']): Record<string, string>
  /** Hosts of results besides the vendor's own: `files.example.com`, or `.example.com` with all below it. */
  fileHosts: readonly string[]
  /** True if results at the address of the API are opened by the key. Files elsewhere are never sent it. */
  keyOpensFiles?: true
  /**
   * Reads an error answer. It never throws: vendors have several forms. `header` finds a header of the answer; absent for an
   * error that came in a successful one.
   */
  error(status: number, body: unknown, header?: (name: string) => string | null): UpstreamError
  /** Settings that a connection needs. Absent: none. */
  needs?: readonly (keyof UpstreamPlace)[]
  /** True if servers of this kind want no key unless one is configured. */
  keyless?: true
  /** The base URL where the configuration has none; absent: always `baseUrl`. */
  baseUrlFor?(place: UpstreamPlace): string
  /** True if each path begins with the version of its API. A version at the end of a configured base URL is then left out. */
  hasVersionInPaths?: true
  /** Advice of the vendor about an address, for its operator, as the end of a sentence; undefined for none. */
  advice?(address: string): string | undefined
  /**
   * A call as this vendor takes it, where the model is named in the path and not in the body. Undefined for what the
   * vendor does not serve. Absent: calls are sent as the families make them.
   */
  adapt?(call: Call, model: string, place: UpstreamPlace): Call | undefined
  /**
   * Fields in the bodies of its OpenAI-compatible API by the name that this vendor has for them; null for one that it refuses
   * and nobody misses.
   */
  renamed?: Readonly<Record<string, string | null>>
  /** Whether the vendor serves responses for each model that it serves chat completions for. Absent: it does not. */
  servesResponses?(place: UpstreamPlace): boolean
  /** False if the vendor refuses `stream_options` and reports usage without. */
  streamUsage?: false
  /**
   * Fields that callers may not set, whatever the family: what they cost depends on more than a price list, or the vendor
   * refuses them and an answer without would be another one.
   */
  refused?: readonly FieldRule[]
  /** Headers that prove who sends a request, made again for each, besides `headers`. Pure. */
  sign?(secret: string, request: SignedRequest, place: UpstreamPlace): Record<string, string>
  /** The parts of a key that are secret by themselves, where it is made of several. Absent: the key as a whole. */
  secretParts?(secret: string): string[]
  /** Settings that a key itself names; those of the configuration win. */
  placeOf?(secret: string): UpstreamPlace
  /** How a key is exchanged for tokens of limited life. Absent: the key itself is sent. */
  exchange?: TokenExchange
  /** How a stream that is not server-sent events becomes one. Absent: every stream is one. */
  framing?: StreamFraming
  /** Family by which the vendor's conversations are usually served. Absent: the one of its OpenAI-compatible API. */
  chatFamily?: string
  /** A call that costs nothing and proves the key; absent: the list of models of its OpenAI-compatible API. */
  probe?: Call
  /** How the vendor lists its models. Absent: it has no list that says what a model needs here. */
  listing?: ModelListing
}

/** A vendor's list of models, as calls and their reading. Pure. */
interface ModelListing {
  /** Family of its models where all are free, so that they may be served without a review. */
  freeFamily?: string
  call: Call
  /** Calls for the details of each listed model, by its name. Absent: the list says everything. */
  details?(list: unknown): ReadonlyMap<string, Call>
  /** Reads the list, with the details by name. It never throws. */
  read(list: unknown, details: ReadonlyMap<string, unknown>): ListedModels
}

export interface ListedModels {
  /** Settings of models in the terms of the configuration, by the vendor's name. */
  models: Record<string, ListedSettings>
  /** Why a listed model cannot be served, by name. */
  refused: Record<string, string>
}

export interface ListedSettings {
  /** Families of the model; absent if the configuration names them. */
  family?: string[]
  free?: true
  /** A price list in the form of the configuration. */
  price?: Readonly<Record<string, unknown>>
  contextTokens?: number
  maxOutputTokens?: number
  inputModalities?: string[]
  traits?: Partial<Traits>
  /** The day from which the vendor no longer serves the model: `2026-12-11`. */
  retires?: string
}

/** A request as it is sent. */
export interface SignedRequest {
  method: string
  host: string
  /** Path with the query. */
  path: string
  headers: Readonly<Record<string, string>>
  body: string
  /** Time in UTC: `2026-11-22T16:50:00.000Z`. */
  at: string
}

/** The exchange of a key for tokens. Pure: the connection sends the request and keeps the token while it lives. */
export interface TokenExchange {
  /** Undefined for a key that is a token itself. */
  request(
    secret: string,
    atMs: number,
  ): { url: string; headers: Record<string, string>; body: string } | undefined
  /** Undefined if the answer has no token. */
  read(reply: unknown): { token: string; lifeMs: number } | undefined
}

/** A framing of streams, known by the type of the answer. */
export interface StreamFraming {
  contentType: string
  createDecoder(): StreamDecoder
}

/** Turns pieces of a stream into server-sent events. Throws if the bytes are not such a stream. */
export interface StreamDecoder {
  push(bytes: Uint8Array): string
  /** Ends the stream; throws if a frame is cut off. */
  end(): void
}

/** Settings that say where a vendor is asked. */
export interface UpstreamPlace {
  baseUrl?: string
  region?: string
  project?: string
  apiVersion?: string
}

/** The content of a vendor's error answer. */
export interface UpstreamError {
  message: string
  code: string | null
  type: string | null
  param: string | null
  /** Operator: about the operator's account with the vendor, never shown as the caller's own 401 or 402. */
  whose: 'caller' | 'operator'
  /** The usual status of what the vendor has a status of its own for. */
  status?: number
  /** Seconds that the vendor asks to wait, if the body says so. */
  retryAfterSeconds?: number
  /** True if the vendor is only loading its model. */
  isLoading?: true
  /**
   * True if clients act on the vendor's message and class of error: both reach the caller as they are, even for
   * failures of the vendor.
   */
  verbatim?: true
  /** The vendor's own body, for callers who know it, returned next to the error. */
  relayed?: Record<string, unknown>
}

export interface Upstream {
  name: string
  /** Name of the vendor's kind. */
  kind: string
  onAbort: 'cancel' | 'drain'
  streamUsage: boolean
  /** True if responses are served for each model that serves chat completions. */
  servesResponses: boolean
  /** True if several customers use the account: none of them may then name what is kept in it. */
  sharedAccount: boolean
  /** True if callers may have it read pictures and files on its own machine and in private networks. */
  allowPrivateAddresses: boolean
  timeoutMs: number
  idleTimeoutMs: number
  maxDurationMs: number
  pollsPerSecond: number
  taskDeadlineMs: number
  /** Fields that the operator sets in every body; absent: none. */
  operatorFields?: OperatorFields
  /** Fields of a body by the name that the vendor has for them, or null, as `renamed` of its kind. */
  namesOfFields(protocol: Call['protocol']): UpstreamKind['renamed']
  refused: UpstreamKind['refused']
  /** True if there is a choice of keys. */
  readonly hasSeveralKeys: boolean
  /** A call for a model of the vendor, as it is sent. Throws a GatewayError for what the vendor does not serve. */
  adapt(call: Call, model: string): Call
  /**
   * Sends one call. Resolves with a 2xx answer whose body is still to be read; throws a GatewayError otherwise. `done`
   * must be called once the body has been read or given up: it frees the slot of the request. `failed` hears of each
   * attempt after which another one follows here, as with another key.
   */
  send(
    call: Call,
    body: CallBody,
    signal: CancelSignal,
    sender: CallSender,
    failed?: (error: GatewayError) => void,
  ): Promise<SentCall & { done(): void }>
  fetchFile: FetchFile
  /** The error for a 200 with an error in the body; a status that the body names wins. */
  errorOf(status: number, body: unknown): GatewayError
  health(): UpstreamHealth
  /** Closes idle connections. */
  close(): void
}

/** The caller for whom a call is sent. */
export interface CallSender {
  /** No connection goes from one account to another right after an answer. */
  account: string
  /** The hash of the session whose prompts a vendor may have cached; absent for none. Its calls keep to one key. */
  session?: number | undefined
}

export interface SentCall {
  response: HttpResponse
  /** The place of the key among several, from 1; null for a single one. */
  keyNumber: number | null
  /** Keys that the session prefers and that rested, the most preferred first; null for none. */
  restingKeys: readonly number[] | null
}

/** Fields of bodies by their names, each as JSON text. */
export interface OperatorFields {
  /** Set where a request does not have them. */
  defaults: Readonly<Record<string, string>>
  /** Set whatever a request has. */
  forced: Readonly<Record<string, string>>
}

/** How an upstream is, for the operator. */
export interface UpstreamHealth {
  /** Open: it did not answer several times, and is left alone for a while. Half-open: one request tries. */
  breaker: 'closed' | 'open' | 'half-open'
  /** Calls that run, and how many may. */
  running: number
  concurrency: number
}

/** A call's body, ready to be sent: JSON, a form, or nothing. */
export type CallBody = string | EncodedForm | null

/**
 * Fetches a file of a vendor. The body is still to be read; throws a GatewayError if it is unavailable. `part` are
 * headers that ask for a part of it: then the answer may also be 416.
 */
export type FetchFile = (
  url: string,
  signal: CancelSignal,
  part?: Readonly<Record<string, string>>,
) => Promise<HttpResponse>

export interface EncodedForm {
  contentType: string
  /** Known before the first byte is sent: vendors refuse bodies of unknown length. */
  byteLength: number
  /** A new stream of the same bytes each time, because a request may be tried again. */
  stream(): ReadableStream<Uint8Array>
}
