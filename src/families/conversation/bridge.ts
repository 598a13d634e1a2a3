// Serves requests of one dialect by models whose vendor speaks another protocol: the members of a family that are the same for all
// such pairs, written once. Nothing here must know which dialect or protocol it joins.

import type {
  Call,
  FieldRule,
  MadeFamily,
  Model,
  ParsedRequest,
  PlainForm,
  Quantities,
  Translator,
} from '../../contract/family'
import type { OperationName } from '../../contract/operations'
import { hasFailed, type Reading } from '../../contract/reading'
import type { Traits } from '../../contract/traits'
import { type ErrorShape, readErrorShape } from '../../lib/error-shapes'
import type { Dialect as ErrorDialect, GatewayError } from '../../lib/errors'
import { translatedOnce } from '../translation'
import type { AnswerReader, AnswerWriter } from './answer'
import { bridgedTable, type DialectField, type Expressions } from './concepts'
import type { Conversation, Opener, ProtocolName } from './conversation'
import { mediaTokensOfConversation, outputOfConversation, quoteConversation, textsOfConversation } from './quote'

/** The callers' side: reads their requests, and writes answers in their grammar. */
export interface Dialect<Body extends object = object> {
  /** The beginning of the names of its bridges: `chat`. */
  name: string
  operation: OperationName
  errors: ErrorDialect
  body: MadeFamily<Body>['body']
  fields: readonly DialectField[]
  fieldRules(protocol: ProtocolName): readonly FieldRule[]
  ignoredFor?(traits: Traits): readonly string[]
  ignoresUnknown?: true
  ignored?(body: Body, model: Model): readonly string[]
  /** True if it seals reasoning though its answers are not kept. */
  seals?: true
  /** The request in common words. Throws 400 for what nobody could read, with its place. */
  read(body: Body, model: Model): Conversation
  /** Takes a whole answer. */
  whole(parsed: ParsedRequest<Body>, model: Model): WholeAnswer
  /** Takes a streamed answer. */
  stream(parsed: ParsedRequest<Body>, model: Model): StreamedAnswer
  plain: PlainForm
}

interface Candidates {
  /** One for each candidate that was asked for. */
  writers: readonly AnswerWriter[]
}

export interface WholeAnswer extends Candidates {
  /** The answer, with its measured usage. May throw an error for the caller. */
  answer(usage: Quantities): unknown
}

export interface StreamedAnswer extends Candidates {
  /** The events that were written since the last time. */
  take(): string
  /** Writes the event for a failure that the vendor reports; nothing is written after it. */
  failWith(error: ErrorShape): void
  finish(usage: Quantities): string
  cut(usage: Quantities): string
  fail?(error: GatewayError): string
  keepAlive?(): string
  answer?(): object | undefined
}

export interface WriteOptions extends Partial<Opener> {
  /** Output tokens of each candidate that are sent as the limit, if fewer than the request's own. */
  outputTokens?: number
}

/** The vendors' side: writes requests, and reads answers. */
export interface Protocol {
  name: ProtocolName
  /** The end of the names of its bridges: `messages`; and the family whose models it serves. */
  family: string
  can: Expressions
  /** The call for one candidate, fitted to the model by its traits. Throws 400 for what the vendor has no form for. */
  write(conversation: Conversation, model: Model, options: WriteOptions): Call
  /** The call that is tried once in place of a refused one; undefined if the refusal is final. */
  writeAfter?(refusal: GatewayError, call: Call): Call | undefined
  read(reply: unknown): Reading
  readEvent(event: unknown): Reading
  /** The `data` that closes a stream; null if the event that completes the answer is the last. */
  end: string | null
  /** Reads a whole reply into the writer. Throws if the vendor sent no answer. */
  readAnswer(reply: unknown, writer: AnswerWriter, model: Model): void
  /** Reads the events of one candidate's stream. */
  readEvents(writer: AnswerWriter, model: Model): AnswerReader
  /** Whether a request is for this protocol where the model has another one too. Absent: no model has. */
  takes?(conversation: Conversation, model: Model): boolean
  takesSome?(model: Model): boolean
}
