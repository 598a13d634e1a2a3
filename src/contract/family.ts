// The central types: what a payload contract is, and what a model is.
// Types only: nothing here may know a vendor, a database or HTTP.

import type { TSchema } from '@sinclair/typebox'
import type { Dialect } from '../lib/errors'
import type { Edit } from '../lib/json'
import type { PcmFormat } from '../lib/wav'
import type { OperationName } from './operations'
import type { PriceList, Tariff } from './prices'
import type { Reading } from './reading'
import type { Quantities, Unit } from './units'
import type { Upstream } from './upstream'

export type { Quantities, Unit } from './units'

/** A request to a vendor as a value. Path is relative to the vendor's base URL for that protocol. */
export interface Call {
  /** Default POST. */
  method?: 'GET' | 'POST' | 'DELETE'
  path: string
  /** Many vendors offer an OpenAI-compatible API beside their native one, under another prefix and other auth. */
  protocol: 'openai' | 'native'
  /** An edit of the caller's own text, a fresh JSON value, the parts of a form in their order, or nothing. */
  body: { edit: Edit } | { json: unknown } | { form: readonly FormPart[] } | null
  /** Beside those of the connection. */
  headers?: Readonly<Record<string, string>>
  /** Wants a stream of server-sent events as the answer. */
  stream: boolean
}

/** One part of a form: a text, or a file that the caller sent. */
export type FormPart = { name: string; value: string } | { name: string; upload: Upload }

/** A file of a form. Its bytes are on disk, or in memory where a tool made them; they are gone when the request has ended. */
export interface Upload {
  filename: string
  contentType: string
  bytes: Blob
  /** What its bytes say that it is; undefined for what is no picture that we know. */
  picture?: { format: 'png' | 'jpeg' | 'webp'; width: number; height: number } | undefined
  /** The same of audio, or of video that may have some; `seconds` is undefined where the length cannot be read. */
  audio?:
    | { format: 'wav' | 'mp3' | 'mp4' | 'ogg' | 'flac' | 'webm' | 'aac'; seconds: number | undefined }
    | undefined
}

/** What a caller asked: the parsed body, the size of the text in it, which bounds the tokens, and when. */
export interface Ask<Body = unknown> {
  body: Body
  byteLength: number
  /** Milliseconds since 1970. */
  at: number
  /** The vendor's ids of the earlier tasks that the body names, by the ids that stand there; only where it names any. */
  earlierTasks?: ReadonlyMap<string, string>
  /** Headers of the caller that vendors of this operation want to see. */
  headers?: Readonly<Record<string, string>>
}

/**
 * A field, or some of its values, that a request may not have: the vendor bills it beside the plain price, or the model
 * behind cannot be asked it. Data, so that the check, the API documentation and the tests say the same.
 */
export interface FieldRule {
  /** Where it stands: `service_tier`, `tools[].type`, `messages[].content[].type`; of a header, its name. */
  field: string
  in?: 'header'
  /** Values that ask for nothing more than its absence does; a pattern is for texts. Null is always one of them. */
  plain?: readonly unknown[] | RegExp
  /** What it does, as the end of a sentence. */
  why: string
  /** What to do in its place. Default: leave it out, or choose another model. */
  instead?: string
  /** A model that has this price takes it. */
  price?: Unit | 'service_tier'
  /** About more than money: a model that costs nothing does not take it either. */
  always?: true
  /**
   * It names what is kept in the vendor's account, which all callers share: taken only where the upstream says that its
   * account is not shared. A pattern in `plain` then judges texts only; what is no text is judged by what stands in it.
   */
  state?: true
  /** Models that it makes no difference to. */
  unless?(model: Model): boolean
  /** For programs, in the error: what clients of this dialect look at to go on by themselves. */
  details?: Readonly<Record<string, unknown>>
}

/** What becomes of a field where the model behind speaks another dialect. */
export interface BridgedField {
  field: string
  treatment: 'translated' | 'ignored' | 'refused'
  /** As what it is sent, or why it is not. */
  note: string
  /** Of a refused field: values that change nothing. */
  plain?: readonly unknown[] | RegExp
  details?: Readonly<Record<string, unknown>>
  /** Models that are not sent a refused field, and take it without an error. */
  unless?(model: Model): boolean
}

type BridgedRow = [field: string, note: string, plain?: BridgedField['plain']]

/** Rows of a bridge's table whose fields all fare alike. */
export function bridgedFields(
  treatment: BridgedField['treatment'],
  ...rows: readonly BridgedRow[]
): BridgedField[] {
  return rows.map(([field, note, plain]) => ({
    field,
    treatment,
    note,
    ...(plain !== undefined && { plain }),
  }))
}

/** What every payload contract has, whatever its kind. Pure: no clock, no fetch, no database. */
interface Contract<Body> {
  name: string
  operation: OperationName
  /** What a model of this family must have a price for: all units of one of these lists. */
  units: readonly (readonly Unit[])[]
  dialect: Dialect
  /** The family whose models this one serves too, in another dialect, without a word in the configuration. */
  over?: string
  /** Open objects: unknown fields pass. For a form: its fields by name, files as arrays of uploads. */
  body: TSchema
  /** Fields that a model which thinks does not read: whatever they hold, it is as if they were not there. */
  ignoredWhenReasoning?: readonly string[]
  /** Every field by which a vendor of this contract charges more than the plain price, or reaches what it keeps: priced, or refused. */
  fieldRules?: readonly FieldRule[]
  /** Fields of the dialect that the schema does not name, as paths such as `tools[].name`: models that take no others take these. */
  fields?: readonly string[]
  /** What becomes of each field where the model behind speaks another dialect. What is not named here is refused. */
  bridge?: readonly BridgedField[]
  /** Rules that a schema cannot say; throws invalidRequest with the field named. */
  check?(body: Body, model: Model): void
  /** The tier that the request is priced by: the field that decides it, and its names in a price list, the most exact first. */
  tier?(body: Body, model: Model): { field: string; names: readonly string[] }
  /** The most that the request can cost. */
  quote(ask: Ask<Body>, model: Model): Quantities
  /** Reads a whole reply (parsed JSON): its usage, or that it is an error in spite of its status. */
  read(reply: unknown, ask: Ask<Body>): Reading
  /** The texts of the request, to be counted when the vendor reports no usage. Absent, or undefined: the quote is paid then. */
  texts?(body: Body, model: Model): string[] | undefined
  /** How a request in plain words reads in this family's own: for commands and tools, which know no family. */
  plain?: PlainForm
}

/** The vendor's JSON is the answer: its bytes go to the caller, but for the name of the model. */
export interface JsonFamily<Body = unknown> extends Contract<Body> {
  kind: 'json'
  call(ask: Ask<Body>, model: Model): Call
  /** Absent: no request of this family is answered with a stream. */
  stream?: StreamContract<Body>
  /** Absent: every answer that is no stream is JSON. */
  text?: TextContract<Body>
  links?: FindLinks
  /** Asks the vendor how many tokens a request has, which costs nothing. Absent: its texts are counted here. */
  tokenCount?: { call(ask: Ask<Body>, model: Model): Call; read(reply: object): number | undefined }
}

/** The family makes the answer itself, of the vendor's answers to one call or to the parts of a batch. */
export interface MadeFamily<Body = unknown> extends Contract<Body> {
  kind: 'made'
  /** Several: parts of a batch, sent side by side. */
  call(ask: Ask<Body>, model: Model): Call | Call[]
  /** Makes the reply from the vendor's replies and what they were found to cost. May throw an error for the caller, as `read` may. */
  reply(replies: unknown[], ask: Ask<Body>, model: Model, usage: Quantities): unknown
  /** Absent: no request of this family is answered with a stream. */
  stream?: StreamContract<Body> & {
    /** The caller speaks another dialect than the vendor: writes each event anew. */
    translate(ask: Ask<Body>, model: Model): Translator
  }
  links?: FindLinks
}

/** The answer is an audio file that the gateway makes of the vendor's samples, and sends while it grows. */
export interface SpeechFamily<Body = unknown> extends Contract<Body> {
  kind: 'speech'
  call(ask: Ask<Body>, model: Model): Call
  audio: AudioContract<Body>
}

/** The vendor answers with the id of a task, and makes its result afterwards. */
export interface TaskFamily<Body = unknown> extends Contract<Body> {
  kind: 'task'
  call(ask: Ask<Body>, model: Model): Call
  task: TaskContract<Body>
  links?: FindLinks
}

/**
 * One payload contract: what is common to all, and by `kind` how its requests are answered. A new kind needs a case here
 * with what only that kind has, and an answerer for it, which the line calls; where either is missing, the compiler says
 * so. A family of a kind that is there needs a file, and its line in the list of families.
 */
export type Family<Body = unknown> =
  | JsonFamily<Body>
  | MadeFamily<Body>
  | SpeechFamily<Body>
  | TaskFamily<Body>

/** The addresses in a reply under which the vendor keeps results for a while. */
type FindLinks = (reply: unknown) => string[]

/** How an answer is read that is no JSON but a text, such as subtitles: its bytes go to the caller unchanged. */
interface TextContract<Body> {
  /** The media type of the answer; undefined where the request asks for JSON. */
  type(body: Body): string | undefined
  /** Reads the whole text: it has no figures of the vendor's, but what is in it may tell some. */
  read(text: string, ask: Ask<Body>): Reading
}

/** How a stream of events is read. */
interface StreamContract<Body> {
  /** Reads one event of a stream (parsed JSON). */
  read(event: unknown): Reading
  /** The `data` that closes a complete stream; null where the vendor just closes after its last event. */
  end: string | null
  /** True when the caller wants to see the usage event. */
  showsUsage(body: Body): boolean
}

/** The streams of a family; undefined where it has none. */
export function streamOf(family: Family): StreamContract<unknown> | undefined {
  return family.kind === 'json' || family.kind === 'made' ? family.stream : undefined
}

/** How the tasks of a family are followed; undefined where its requests begin none. */
export function taskOf(family: Family): TaskContract | undefined {
  return family.kind === 'task' ? family.task : undefined
}

/** How audio is read: each event of the vendor's stream, or its reply, holds a piece of it or says where it is. */
export interface AudioContract<Body = unknown> {
  format(body: Body, model: Model): AudioFormat
  /** What the pieces are where no header says it. */
  plain: PcmFormat
  read(json: unknown): { piece?: Uint8Array; url?: string }
  /** The HTTP status that an error in a successful answer stands for; `event` is what its data came in, or empty. */
  status?(json: unknown, event: string): number | undefined
}

export type AudioFormat = 'mp3' | 'wav'

/** Writes a vendor's events in another dialect; one for each stream. What it gives are whole events, or nothing. */
export interface Translator {
  /** `candidate` counts from zero where the answer has several; `reading` is what the family reads in the event. */
  push(event: object, candidate: number, reading: Reading): string
  /** The events that end an answer that is complete. */
  finish(): string
}

/** A request in plain words, the same for every family. */
export interface PlainRequest {
  /** A message, a text to embed or to speak, or what a picture or a video shall show. */
  text: string
  n?: number
  /** `1024x1536`, or a word such as `auto` or `2K`. */
  size?: string
  quality?: string
  resolution?: string
  /** Seconds. */
  duration?: number
  /** Addresses of reference images. */
  images?: readonly string[]
  /** The same where the request is a form. */
  uploads?: readonly Upload[]
}
export type PlainField = Exclude<keyof PlainRequest, 'text'>

export interface PlainForm {
  /** What it takes beside the text; a request in plain words has nothing else. */
  fields: readonly PlainField[]
  /** The body but for its model. */
  body(request: PlainRequest, model: Model): Record<string, unknown>
}

/** How a family's tasks are followed until they end. */
interface TaskContract<Body = unknown> {
  /** The status of our answer to a submit that the vendor accepted. */
  submittedStatus: 200 | 202
  /** The vendor's id of the task, in its answer to the submit; undefined where there is none. */
  id(reply: object): string | undefined
  /** What `outcome` needs to know of the request; stored with the task, so it is small. */
  memo(body: Body, model: Model): Memo
  /** The ids of earlier tasks that a request names, each with its place. Absent: it can name none. */
  earlier?(body: Body): { field: string; id: unknown }[]
  poll(upstreamId: string): Call
  /** Absent: the vendor cannot stop a task. */
  cancel?(upstreamId: string): Call
  /** Reads the vendor's answer to a poll; undefined where it says nothing about the task. An empty answer reads as an empty object. */
  outcome(reply: object, memo: Memo): TaskOutcome | undefined
}

export type Memo = Readonly<Record<string, unknown>>

/** How a task stands. `document` is the vendor's own task, with `content`, `usage` and `seed` where it has ended well. */
export type TaskOutcome =
  | { status: 'submitted'; document: object; progress?: number }
  /** `quantities` only where the vendor decides what there is to pay for; `serviceTier` where it says which it served. */
  | {
      status: 'succeeded'
      document: object
      videoUrl: string
      quantities?: Quantities
      serviceTier?: string
    }
  | { status: 'failed'; document: object; error: { code: string; message: string } }
  /** The vendor does not know the task, or no longer. */
  | { status: 'missing' }

/** A model as the catalogue has it, ready to use. */
export interface Model {
  id: string
  family: Family
  upstream: Upstream
  /** How often this connection is the first choice among its equals. */
  share: number
  /** The vendor's name for it. */
  upstreamModel: string
  ownedBy: string
  priceList: PriceList
  /** The price list where no size or the like makes a difference: the same for every request. */
  tariff: Tariff | undefined
  /** Refuses every field that its contract does not name. */
  strictFields: boolean
  /** Thinks before it answers, and refuses sampling parameters. */
  reasoning: boolean
  /** Output tokens that are held when the caller sets no limit. */
  reserveOutputTokens: number
  /** Most tokens that the model writes at once: what a vendor is told that wants a limit where the caller sets none. */
  maxOutputTokens: number | undefined
  /** Most tokens that a request can have: an upper bound of every hold on input. */
  contextTokens: number | undefined
  /** Dimensions that an embedding model accepts: a list, or every whole number of a range. */
  dimensions: readonly number[] | { min: number; max: number } | undefined
  /** Most inputs that the vendor takes in one call. */
  batchSize: number | undefined
  /** Most tokens that the vendor takes in one call. */
  batchTokens: number | undefined
  /** Sizes of images that may be asked for; undefined leaves it to the family. */
  sizes: readonly string[] | undefined
  /** How many reference images a request may have. */
  referenceImages: { min: number; max: number } | undefined
  /** False for a model that edits whole images only. */
  mask: boolean
  /** Seconds that a video may have. */
  durations: Durations | undefined
}

export interface Durations {
  min: number
  max: number
  /** What is held and billed where the request says nothing. */
  default: number
  /** True where -1 lets the vendor choose: the most is held, and what it reports is billed. */
  vendorMayChoose?: boolean
}
