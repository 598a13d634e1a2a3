// The central types: payload contracts and models. Types only. Nothing here must know a vendor, a database or HTTP.

import type { TSchema } from '@sinclair/typebox'
import type { Dialect, GatewayError } from '../lib/errors'
import type { AudioFileContract, SamplesContract } from './audio'
import type { Call } from './call'
import type { BridgedField, FieldRule } from './field-rules'
import type { OperationName } from './operations'
import type { PriceList, Tariff } from './prices'
import type { Reading } from './reading'
import type { Retirement } from './retirement'
import type { Durations, EarlierVideo, TaskContract } from './task'
import type { Traits } from './traits'
import type { Quantities, Unit } from './units'
import type { DataUrls, Upload } from './upload'
import type { Upstream } from './upstream'

export type { Call } from './call'
export { type BridgedField, bridgedFields, type FieldRule, redefinedFields } from './field-rules'
export type {
  Durations,
  EarlierVideo,
  OwnTaskForm,
  PollContext,
  ResultAnswer,
  TaskOutcome,
  TaskResult,
} from './task'
export type { Quantities, Unit } from './units'
export type { DataUrls, FormPart, Upload } from './upload'

/** A caller's request: the parsed body, the size of its text, which bounds the tokens, and the time. */
export interface ParsedRequest<Body = unknown> {
  body: Body
  byteLength: number
  /** Milliseconds since 1970. */
  at: number
  /** The vendor's ids of the earlier tasks that the body names, by the ids in the body; absent if it names none. */
  earlierTasks?: ReadonlyMap<string, string>
  /** The video that the request continues or edits; absent: it makes a new one. */
  remixOf?: EarlierVideo
  /** Headers of the caller that are sent to vendors of this operation. */
  headers?: Readonly<Record<string, string>>
  /**
   * Output tokens of each candidate that are quoted and sent as the limit, if fewer than the request's own limit; absent: its own
   * limit.
   */
  outputTokens?: number
  /** How the request is held if its account cannot pay for the usual hold; absent: by its bytes. */
  lean?: LeanHold
  /** Names of tools that were removed from the body because their hold could not be paid; absent if none was removed. */
  leftOut?: readonly string[]
  /** The answer in progress; absent unless the operation stores its answers, or a family seals its reasoning. */
  answer?: AnswerContext
}

/** A smaller hold than the usual one. The price is the same. */
export interface LeanHold {
  /** The size that is quoted instead of the request's own: a count of its texts, and the bytes around them. */
  byteLength: number
  /** Tokens of the texts by the gateway's count; undefined if they were not counted. */
  textTokens: number | undefined
  /** Maximum number of output tokens per candidate that a stream holds before it begins. */
  firstTokens: number
}

/** Facts about an answer that is stored or partly sealed, made before the vendor is called. */
export interface AnswerContext {
  /** Id of the answer, from which the ids of its parts are derived: a prefix, and random hexadecimal digits that cannot be guessed. */
  id: string
  /** True if the answer is stored for later requests of the account. */
  isKept: boolean
  /** Id of the conversation that the answer is appended to; absent outside a conversation. */
  conversationId?: string
  /** True if the answer is made in the background. */
  isInBackground: boolean
  /** The messages of the user, if the answer is a compaction of the conversation. */
  compacted?: readonly Readonly<Record<string, unknown>>[]
  /** The time in milliseconds since 1970, at which the answer says it was completed. */
  now(): number
  /** Seals a text for the account of the caller, which sends it back but cannot read or change it. */
  seal(text: string): string
  /** The text that was sealed for this account; undefined for anything else. */
  open(sealed: string): string | undefined
}

/** Members of every payload contract, whatever its kind. Pure: no clock, no fetch, no database. */
interface Contract<Body> {
  name: string
  operation: OperationName
  /** Units that a model of this family must have a price for: all units in one of these lists. */
  units: readonly (readonly Unit[])[]
  dialect: Dialect
  /** The family whose models this one serves too, in another dialect, without any configuration. */
  over?: string
  /** True if the family seals reasoning for callers that send it back, although its answers are not stored. */
  seals?: true
  /** Whether a model of that family can be asked in this dialect. Absent: every model can. */
  serves?(model: Model): boolean
  /**
   * Whether a request is for this family if the model serves the operation by another one too. Absent: models serve the operation
   * by this family only if they have no other.
   */
  takes?(body: Readonly<Record<string, unknown>>, model: Model): boolean
  /** Whether `takes` can be true for a model. Absent: it is true for every model. */
  takesSome?(model: Model): boolean
  /** Another family of the vendor for requests that this one cannot serve. A model's configuration need not name it. */
  additional?: { family: string; isNeeded(model: Model): boolean }
  /** The schema. Objects are open: unknown fields pass. For a form: its fields by name, files as arrays of uploads. */
  body: TSchema
  /** Fields of the dialect that have no effect with a model of these traits, whatever their values. Absent: none. */
  ignoredFor?(traits: Traits): readonly string[]
  /**
   * Rules for every field by which a vendor of this contract charges extra, or accesses stored data: priced or refused.
   */
  fieldRules?: readonly FieldRule[]
  /**
   * Paths of the dialect that the schema does not name, such as `tools[].name`, for models that accept no unknown fields.
   */
  fields?: readonly string[]
  /** How a model that speaks another dialect treats each field. Other fields are refused. */
  bridge?: readonly BridgedField[]
  /** True if a bridge omits top-level fields that its table does not name: clients add their own notes. */
  ignoresUnknown?: true
  /** Names of fields and tools that clients send by default and the model does not get: a response header lists them. */
  ignored?(body: Body, model: Model): readonly string[]
  /** The body without tools that clients offer by default, for an account that cannot hold their price; undefined if it has none. */
  withoutOffers?(body: Body): { body: Body; leftOut: readonly string[] } | undefined
  /** Rules that a schema cannot express; throws invalidRequest with the name of the field. */
  check?(body: Body, model: Model): void
  /**
   * The tier that the request is priced by: the field that decides it, and its names in a price list, most specific first.
   */
  tier?(body: Body, model: Model): { field: string; names: readonly string[] }
  /** The maximum that the request can use, with at most `outputTokens` of the parsed request. */
  quote(parsed: ParsedRequest<Body>, model: Model): Quantities
  /**
   * The output tokens of a request, if they can be held in parts and the answer can be cut between them. Absent or undefined: the
   * whole quote is held.
   */
  output?(body: Body, model: Model): OutputTokens | undefined
  /** Reads a whole reply (parsed JSON): its usage, or that it is an error despite its status. */
  read(reply: unknown, parsed: ParsedRequest<Body>, model: Model): Reading
  /** Asks the vendor for the number of tokens of a request, which is free. Absent: its texts are counted here. */
  tokenCount?: {
    call(parsed: ParsedRequest<Body>, model: Model): Call
    read(reply: object): number | undefined
  }
  /**
   * Whether a request edits pictures, for a family whose vendor accepts them in JSON: such requests are also accepted at the path
   * for forms.
   */
  edits?(body: Body): boolean
  /** The texts of the request, which are counted when the vendor reports no usage. Absent or undefined: the quote is charged then. */
  texts?(body: Body, model: Model): string[] | undefined
  /** Tokens of content without text, such as pictures: an estimate for a requested token count. Absent: none. */
  mediaTokens?(body: Body, model: Model): number
  /** The family's form of a plain request, for commands and tools that know no family. */
  plain: PlainForm
}

/** Answers with the vendor's JSON: its bytes go to the caller, except for the name of the model. */
export interface JsonFamily<Body = unknown> extends Contract<Body> {
  kind: 'json'
  call(parsed: ParsedRequest<Body>, model: Model): Call
  /** Absent: the family has no streams. */
  stream?: StreamContract<Body> & {
    /** Absent: the whole quote is held before a stream begins. */
    follow?(parsed: ParsedRequest<Body>, model: Model): StreamFollower
  }
  /**
   * The usage of an answer in the form for callers. With `reported`, the vendor's own: the same object if it contains the figures
   * that were read from it. Undefined for figures that this form cannot express. Absent: callers see what the vendor reports.
   */
  usage?(figures: Quantities, reported?: Readonly<Record<string, unknown>>): object | undefined
  /**
   * An answer, or an event of a stream, in the form of the contract, for vendors with another form. The same object if it needs no
   * change. Absent: the vendors of this family have no other form.
   */
  plainAnswer?(answer: object): object
  /** Absent: every answer that is not a stream is JSON. */
  text?: TextContract<Body>
  links?: FindLinks<Body>
}

/** Makes the answer itself, from the vendor's answers to one call or to the parts of a batch. */
export interface MadeFamily<Body = unknown> extends Contract<Body> {
  kind: 'made'
  /** Files of the request that are read for the call, because the vendor accepts them only inside JSON. Absent: none. */
  uploads?(body: Body): readonly Upload[]
  /**
   * The call, or several for the parts of a batch, which are sent in parallel. `dataUrls` are the files of `uploads`; without them
   * the call has placeholders.
   */
  call(parsed: ParsedRequest<Body>, model: Model, dataUrls?: DataUrls): Call | Call[]
  /** The call that is tried once after a refusal; undefined if the refusal is final. Absent: it is always final. */
  callAfter?(refusal: GatewayError, parsed: ParsedRequest<Body>, model: Model): Call | undefined
  /** True if each reply is a result by itself: the answer is made from those that arrived, even if other calls failed. */
  isSeparable?: true
  /** URLs in the vendor's replies whose files the answer contains as base64. Absent: none. */
  files?(replies: readonly unknown[], body: Body): readonly string[]
  /**
   * Builds the answer from the vendor's replies and their measured usage. May throw an error for the caller, as `read` may.
   * `base64` are the files of `files`, by URL.
   */
  reply(
    replies: unknown[],
    parsed: ParsedRequest<Body>,
    model: Model,
    usage: Quantities,
    base64: ReadonlyMap<string, string>,
  ): unknown
  /** Absent: the family has no streams. */
  stream?: StreamContract<Body> & {
    /** Translates events for a caller who speaks another dialect than the vendor. */
    translate(parsed: ParsedRequest<Body>, model: Model): Translator
  }
  links?: FindLinks<Body>
}

/** Answers with an audio file, which is sent while it grows. */
export interface SpeechFamily<Body = unknown> extends Contract<Body> {
  kind: 'speech'
  call(parsed: ParsedRequest<Body>, model: Model): Call
  audio: SamplesContract<Body> | AudioFileContract<Body>
  /** The voices of a model that every caller may use, by the names in requests. */
  voices(model: Model): readonly string[]
}

/** Answers with a task: the vendor sends its id, and makes the result afterwards. */
export interface TaskFamily<Body = unknown> extends Contract<Body> {
  kind: 'task'
  call(parsed: ParsedRequest<Body>, model: Model): Call
  task: TaskContract<Body>
  /** Finds the URLs in the vendor's task at which it stores results for a while. */
  links?(document: unknown): string[]
}

/**
 * One payload contract: common members, and by `kind` how its requests are answered. A new kind needs a case here with
 * its own members, and an answerer that the request line calls; the compiler names what is missing. A family of an existing kind
 * needs a file, and a line in the list of families.
 */
export type Family<Body = unknown> =
  | JsonFamily<Body>
  | MadeFamily<Body>
  | SpeechFamily<Body>
  | TaskFamily<Body>

/** The output tokens that each candidate of a request can use. */
export interface OutputTokens {
  /** Maximum number of tokens per candidate, by the request or the model; Infinity if neither sets one. */
  most: number
  /** Minimum number of tokens per candidate for a useful answer, including those of its thinking. */
  least: number
  candidates: number
}

/** Finds the URLs in a reply at which the vendor stores results for a while. */
type FindLinks<Body> = (reply: unknown, body: Body) => string[]

/** Reads an answer that is not JSON but a text, such as subtitles, whose bytes pass to the caller unchanged. */
interface TextContract<Body> {
  /** The media type of the answer; undefined if the request asks for JSON. */
  type(body: Body): string | undefined
  /** Reads the whole text: it has no figures of the vendor, but its content may show some. */
  read(text: string, parsed: ParsedRequest<Body>): Reading
}

/** Reads a stream of events. */
interface StreamContract<Body> {
  /** Reads one event of a stream (parsed JSON). */
  read(event: unknown): Reading
  /** The `data` that closes a complete stream; null if the event that completes the answer is the last. */
  end: string | null
  /** True if the caller wants to see the usage event. */
  showsUsage(body: Body): boolean
}

/** Ends a stream before the vendor does. */
interface StreamCut {
  /** The events that end an answer at its limit when the account cannot pay for more output. `usage` is the charged usage. */
  cut(usage: Quantities): string
}

/** Follows a stream whose events pass unchanged; one per stream. It must never throw. */
export interface StreamFollower extends StreamCut {
  /** Receives an event that was passed on. */
  push(event: object): void
  /**
   * The event with the charged usage, for a caller that requested one when the vendor sent none, or no plausible one; empty if the
   * caller did not. Absent: the dialect has no such event.
   */
  usageEvent?(usage: Quantities): string
  /**
   * An event that reports usage, as its caller sees it: with the accepted figures, or without any while there are none. The same
   * object if it already has that form. Absent: it is shown unchanged, and `usageEvent` corrects it.
   */
  withUsage?(event: object, figures: Quantities | undefined): object
}

/** The streams of a family; undefined if it has none. */
export function streamOf(family: Family): StreamContract<unknown> | undefined {
  return family.kind === 'json' || family.kind === 'made' ? family.stream : undefined
}

/** The tasks of a family; undefined if its requests start none. */
export function taskOf(family: Family): TaskContract | undefined {
  return family.kind === 'task' ? family.task : undefined
}

/** Translates a vendor's events to another dialect; one per stream. It returns whole events, or nothing. */
export interface Translator extends StreamCut {
  /** `candidate` counts from zero if the answer has several; `reading` is what the family reads in the event. */
  push(event: object, candidate: number, reading: Reading): string
  /** The events that end a complete answer. `usage` is the charged usage. */
  finish(usage: Quantities): string
  /** The events that end a broken answer. Absent: the error event of the dialect. */
  fail?(error: GatewayError): string
  /** The keep-alive event. Absent: that of the dialect. */
  keepAlive?(): string
  /** The whole answer, for an operation that stores its answers; undefined before its end. */
  answer?(): object | undefined
}

/** A plain request, in the same form for every family. */
export interface PlainRequest {
  /** A message, a text to embed or to speak, or the description of a picture or a video. */
  text: string
  n?: number
  /** Size such as `1024x1536`, or a name such as `auto` or `2K`. */
  size?: string
  quality?: string
  resolution?: string
  /** Length in seconds. */
  duration?: number
  /** URLs of reference images. */
  images?: readonly string[]
  /** Reference images as files, for a request that is a form. */
  uploads?: readonly Upload[]
}
export type PlainField = Exclude<keyof PlainRequest, 'text'>

export interface PlainForm {
  /** Fields that the family accepts in addition to the text; a plain request has no others. */
  fields: readonly PlainField[]
  /** Shapes of the pictures that a model makes, such as `16:9` or `1664*928`. Absent: those of its sizes, otherwise any. */
  shapes?(model: Model): readonly string[]
  /** The body without its model. */
  body(request: PlainRequest, model: Model): Record<string, unknown>
}

/** A model of the catalogue, ready to use. */
/** The response cache of a model. */
export interface ResponseCaching {
  /** How long an answer may be repeated, in milliseconds. */
  ttlMs: number
  /** The share of its price that a repeated answer costs, in millionths. */
  share: number
}

export interface Model {
  id: string
  family: Family
  upstream: Upstream
  /** The weight of this connection as the first choice among its equals. */
  share: number
  /** The vendor's name of the model. */
  upstreamModel: string
  ownedBy: string
  /** Absent: the vendor has not announced the end of the model. */
  retirement?: Retirement
  priceList: PriceList
  /** The vendor's prices at this upstream; absent if unknown. Callers must never see them. */
  costList?: PriceList | undefined
  /** True if the price is the vendor's list price, because it names the vendor's page. */
  isListPrice?: boolean
  /** The price of every request, if it does not depend on a size or the like. */
  tariff: Tariff | undefined
  /** How its answers are cached; undefined if they are not. */
  cache: ResponseCaching | undefined
  /** True if fields that the contract does not name are refused. */
  strictFields: boolean
  /** The model's rules for requests. */
  traits: Traits
  /** Output tokens that are held if the caller sets no limit. */
  reserveOutputTokens: number
  /** Maximum number of tokens that the model writes at once: the limit for vendors that require one, if the caller sets none. */
  maxOutputTokens: number | undefined
  /** Maximum number of tokens that a request can have: an upper bound of every hold on input. */
  contextTokens: number | undefined
  /** Kinds of input other than text that a chat model reads. */
  inputModalities: readonly string[] | undefined
  /** Dimensions that an embedding model accepts: a list, or every integer in a range. */
  dimensions: readonly number[] | { min: number; max: number } | undefined
  /** Maximum number of inputs that the vendor accepts per call. */
  batchSize: number | undefined
  /** Maximum number of tokens that the vendor accepts per call. */
  batchTokens: number | undefined
  /** Sizes of images that may be requested; undefined leaves it to the family. */
  sizes: readonly string[] | undefined
  /** Maximum number of reference images in a request. */
  referenceImages: { min: number; max: number } | undefined
  /** False for a model that edits whole images only. */
  mask: boolean
  /** Supported durations of a video, in seconds. */
  durations: Durations | undefined
  /** Maximum total length of the input videos, in seconds; undefined leaves it to the family. */
  maxInputSeconds: number | undefined
  /** Voices of a speech model; undefined leaves them to the family. */
  voices: readonly string[] | undefined
}
