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
  /** The standard environment variable for this vendor's key. */
  secretVariable: string
  /** The paths of the protocols below the base URL. */
  prefix: { openai: string; native: string }
  headers(secret: string, protocol: Call['protocol']): Record<string, string>
  /** Hosts of results other than the vendor's own: `files.example.com`, or `.example.com` with all below it. */
  fileHosts: readonly string[]
  /** True if results at the API's own address need the key. It is never sent for files elsewhere. */
  keyOpensFiles?: true
  /**
   * Reads an error answer. It never throws: vendors have several forms. `header` finds a header of the answer; absent for an error
   * inside a successful answer.
   */
  error(status: number, body: unknown, header?: (name: string) => string | null): UpstreamError
  /** Settings that a connection needs. Absent: none. */
  needs?: readonly (keyof UpstreamPlace)[]
  /** True if servers of this kind need no key unless one is configured. */
  keyless?: true
  /** The base URL if the configuration has none; absent: always `baseUrl`. */
  baseUrlFor?(place: UpstreamPlace): string
  /** True if each path begins with the version of the API. A version at the end of a configured base URL is then omitted. */
  hasVersionInPaths?: true
  /** Advice to the operator about an address of the vendor, as the end of a sentence; undefined if it needs none. */
  advice?(address: string): string | undefined
  /**
   * A call in the vendor's form, if the model is named in the path and not in the body. Undefined for calls that the vendor does
   * not support. Absent: calls are sent as the families make them.
   */
  adapt?(call: Call, model: string, place: UpstreamPlace): Call | undefined
  /**
   * Fields in the bodies of its OpenAI-compatible API, with the vendor's name for each; null for a field that it refuses and that
   * nobody misses.
   */
  renamed?: Readonly<Record<string, string | null>>
  /** Whether the vendor serves responses for each model that it serves chat completions for. Absent: it does not. */
  servesResponses?(place: UpstreamPlace): boolean
  /** False if the vendor refuses `stream_options` and reports usage without it. */
  streamUsage?: false
  /**
   * Fields that callers may not set, whatever the family: their cost depends on more than a price list, or the vendor refuses them
   * and an answer without them would be a different one.
   */
  refused?: readonly FieldRule[]
  /** Headers that authenticate a request, made for each request, in addition to `headers`. Pure. */
  sign?(secret: string, request: SignedRequest, place: UpstreamPlace): Record<string, string>
  /** The secret parts of a key, if it consists of several. Absent: the key as a whole. */
  secretParts?(secret: string): string[]
  /** Settings that a key itself contains; those of the configuration take precedence. */
  placeOf?(secret: string): UpstreamPlace
  /** How a key is exchanged for tokens with a limited lifetime. Absent: the key itself is sent. */
  exchange?: TokenExchange
  /** How a stream that is not server-sent events is converted to one. Absent: every stream is one. */
  framing?: StreamFraming
  /** The default family for the vendor's conversations. Absent: that of its OpenAI-compatible API. */
  chatFamily?: string
  /** A free call that verifies the key; absent: the list of models of its OpenAI-compatible API. */
  probe?: Call
  /** How the vendor lists its models. Absent: it has no list that contains what a model needs here. */
  listing?: ModelListing
}

/** A vendor's list of models, as calls and their reading. Pure. */
interface ModelListing {
  /** Family of its models if all are free, so that they may be served without a review. */
  freeFamily?: string
  call: Call
  /** Calls for the details of each listed model, by name. Absent: the list contains everything. */
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

/** The exchange of a key for tokens. Pure: the connection sends the request and keeps the token until it expires. */
export interface TokenExchange {
  /** Undefined for a key that is a token itself. */
  request(
    secret: string,
    atMs: number,
  ): { url: string; headers: Record<string, string>; body: string } | undefined
  /** Undefined if the answer has no token. */
  read(reply: unknown): { token: string; lifeMs: number } | undefined
}

/** A stream framing, recognised by the media type of the answer. */
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

/** Settings that determine the address of a vendor. */
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
  /** The standard status for errors that have a special status at the vendor. */
  status?: number
  /** Seconds that the vendor asks to wait, if the body says so. */
  retryAfterSeconds?: number
  /** True if the vendor is only loading its model. */
  isLoading?: true
  /**
   * True if clients act on the vendor's message and class of error: both reach the caller unchanged, even for failures of the
   * vendor.
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
  /** True if several customers use the account: none of them may then refer to data stored in it. */
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
  /** Fields of a body with the vendor's names, or null, like `renamed` of its kind. */
  namesOfFields(protocol: Call['protocol']): UpstreamKind['renamed']
  refused: UpstreamKind['refused']
  /** True if there is a choice of keys. */
  readonly hasSeveralKeys: boolean
  /** A call for a model of the vendor, as it is sent. Throws a GatewayError for calls that the vendor does not support. */
  adapt(call: Call, model: string): Call
  /**
   * Sends one call. Resolves with a 2xx answer whose body is still to be read; otherwise throws a GatewayError. `done` must be
   * called once the body has been read or given up: it frees the slot of the request. `failed` is called for each attempt that is
   * followed by another one here, such as with another key.
   */
  send(
    call: Call,
    body: CallBody,
    signal: CancelSignal,
    sender: CallSender,
    failed?: (error: GatewayError) => void,
  ): Promise<SentCall & { done(): void }>
  fetchFile: FetchFile
  /** The error for a 200 with an error in the body; a status in the body takes precedence. */
  errorOf(status: number, body: unknown): GatewayError
  health(): UpstreamHealth
  /** Closes idle connections. */
  close(): void
}

/** The caller for whom a call is sent. */
export interface CallSender {
  /** No connection is passed from one account to another right after an answer. */
  account: string
  /** The hash of the session whose prompts a vendor may have cached; absent without a session. Its calls use the same key. */
  session?: number | undefined
}

export interface SentCall {
  response: HttpResponse
  /** The number of the key among several, counted from 1; null for a single key. */
  keyNumber: number | null
  /** Keys that the session prefers and that are resting, the most preferred first; null if none is resting. */
  restingKeys: readonly number[] | null
}

/** Fields of bodies by name, each as JSON text. */
export interface OperatorFields {
  /** Set if a request does not have them. */
  defaults: Readonly<Record<string, string>>
  /** Set whatever a request contains. */
  forced: Readonly<Record<string, string>>
}

/** The state of an upstream, for the operator. */
export interface UpstreamHealth {
  /** Open: the upstream failed to answer several times, and gets no requests for a while. Half-open: one request tries. */
  breaker: 'closed' | 'open' | 'half-open'
  /** Running calls, and how many may run. */
  running: number
  concurrency: number
}

/** A call's body, ready to be sent: JSON, a form, or nothing. */
export type CallBody = string | EncodedForm | null

/**
 * Fetches a file of a vendor. The body is still to be read; throws a GatewayError if it is unavailable. `part` are headers that
 * request a part of it: then the answer may also be 416.
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
  /** A new stream of the same bytes each time, because a request may be retried. */
  stream(): ReadableStream<Uint8Array>
}
