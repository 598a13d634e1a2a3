// Serves requests of one dialect by models whose vendor speaks another protocol: the members of a family that are equal for all
// such pairs. Nothing here must know which dialect or protocol it connects.

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
import { hasFailed as isFailure, type Reading } from '../../contract/reading'
import type { Traits } from '../../contract/traits'
import { type ErrorShape, readErrorShape } from '../../lib/error-shapes'
import { type Dialect, type GatewayError, invalidRequest } from '../../lib/errors'
import { translatedOnce } from '../translation'
import type { AnswerReader, AnswerWriter } from './answer'
import { bridgedTable, type DialectField, type Expressions } from './concepts'
import type { Conversation, Opener, ProtocolName } from './conversation'
import {
  mediaTokensOfConversation,
  outputOfConversation,
  type QuoteRules,
  quoteConversation,
  textsOfConversation,
} from './quote'

/** The callers' side: reads their requests, and writes answers in their grammar. */
export interface ConversationDialect<Body extends object = object> {
  /** The beginning of the names of its bridges: `chat`. */
  name: string
  operation: OperationName
  errors: Dialect
  body: MadeFamily<Body>['body']
  fields: readonly DialectField[]
  /** Rules for fields that are sent and cost extra, or refer to property of others. */
  fieldRules(protocol: Pick<Protocol, 'name' | 'can'>): readonly FieldRule[]
  ignoredFor?(traits: Traits): readonly string[]
  ignoresUnknown?: true
  ignored?(body: Body, model: Model): readonly string[]
  /** True if it seals reasoning even though its answers are not stored. */
  seals?: true
  /** The tools and the effort of a request as its caller sent them, not yet checked: they may decide which protocol is used. */
  deciding(body: Readonly<Record<string, unknown>>): { tools: unknown; effort: unknown }
  /**
   * How many bytes longer than the caller's a request on a bridge may be, because of text that the bridge adds. Absent: it adds
   * none.
   */
  addedBytes?(body: Body): number
  /** Throws 400 for audio and video that the model does not read. For protocols that can send audio. */
  checkMedia?(body: Body, model: Model): void
  /** The request in the common form. Throws 400 with the place of anything that cannot be parsed. */
  read(body: Body, model: Model): Conversation
  /** Takes a whole answer. */
  whole(parsed: ParsedRequest<Body>, model: Model): WholeReply
  /** Takes a streamed answer. */
  stream(parsed: ParsedRequest<Body>, model: Model): StreamedAnswer
  plain: PlainForm
}

interface Candidates {
  /** One writer for each requested candidate. */
  writers: readonly AnswerWriter[]
}

export interface WholeReply extends Candidates {
  /** The answer, with its measured usage. May throw an error for the caller. */
  answer(usage: Quantities): unknown
}

export interface StreamedAnswer extends Candidates {
  /** The events written since the last call. */
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
export interface Protocol extends QuoteRules {
  /** The suffix of the names of its bridges. A dialect of this name is the protocol's own: it needs no bridge. */
  name: ProtocolName
  /** The family that the configuration names for models of this protocol. */
  family: string
  /** The dialect whose bridge is that family. Absent: callers speak the protocol too, and the family passes their requests on. */
  familyDialect?: string
  can: Expressions
  /**
   * The call for one candidate, fitted to the model by its traits. Throws 400 for values that the vendor has no form for; requests
   * with fields that `can` refuses were rejected before.
   */
  write(conversation: Conversation, model: Model, options: WriteOptions): Call
  /** The call that is tried once after a refusal; undefined if the refusal is final. */
  writeAfter?(refusal: GatewayError, call: Call): Call | undefined
  /** Tokens that a written request reserves for thinking, within its limit. Absent: it reserves none. */
  thinkingTokens?(call: Call): number
  /** Facts of a whole reply, by which it is charged. Its end is `finished`, or `failed` for anything other than an answer. */
  read(reply: unknown): Reading
  /** Facts of one event of a stream. */
  readEvent(event: unknown): Reading
  /** The `data` that closes a stream; null if the event that completes the answer is the last. */
  end: string | null
  /** Reads a whole reply into the writer. Throws if the vendor sent no answer. */
  readAnswer(reply: unknown, writer: AnswerWriter, model: Model): void
  /** Reads the events of one candidate's stream. */
  readEvents(writer: AnswerWriter, model: Model): AnswerReader
  /**
   * Whether a request should use this protocol although the model speaks another one too, judged by its tools and effort. Absent:
   * it is used only if the model speaks no other.
   */
  takes?(deciding: { tools: unknown; effort: unknown }, model: Model): boolean
  takesSome?(model: Model): boolean
}

/** Candidates that are streamed at once: each is a call of its own, held open until the longest ends. */
const MAX_STREAMS = 16

/** The family of a dialect for models of a protocol. */
export function bridge<Body extends object>(
  dialect: ConversationDialect<Body>,
  protocol: Protocol,
): MadeFamily<Body> {
  const { conversationOf, draftOf, callOf } = translations(dialect, protocol)
  const { takes, writeAfter } = protocol

  return {
    ...declared(dialect, protocol),
    ...(takes && { takes: (body, model) => takes(dialect.deciding(body), model) }),

    check(body, model) {
      const { stream, candidates } = conversationOf(body, model).settings
      if (stream && candidates > MAX_STREAMS) throw tooManyStreams(model)
      // The protocol refuses what it cannot express.
      draftOf(body, model)
    },

    quote(parsed, model) {
      const byteLength = parsed.byteLength + (dialect.addedBytes?.(parsed.body) ?? 0)
      return quoteConversation(conversationOf(parsed.body, model), { ...parsed, byteLength }, model, protocol)
    },

    output(body, model) {
      const conversation = conversationOf(body, model)
      const asked = conversation.settings.reasoning.budgetTokens ?? 0
      const thinkingTokens = protocol.thinkingTokens?.(draftOf(body, model)) ?? asked
      return outputOfConversation(conversation, model, protocol, thinkingTokens)
    },

    call(parsed, model) {
      const { candidates } = conversationOf(parsed.body, model).settings
      const call = callOf(parsed, model)
      return candidates === 1 ? call : Array.from({ length: candidates }, () => call)
    },

    ...(writeAfter && {
      callAfter: (refusal, parsed, model) => writeAfter(refusal, callOf(parsed, model)),
    }),

    reply(replies, parsed, model, usage) {
      const whole = dialect.whole(parsed, model)
      for (const [candidate, writer] of whole.writers.entries()) {
        protocol.readAnswer(replies[candidate], writer, model)
      }
      return whole.answer(usage)
    },
    read: protocol.read,

    stream: {
      end: protocol.end,
      // The dialect writes the figures, if its caller wants to see them.
      showsUsage: () => true,
      read: protocol.readEvent,
      translate: (parsed, model) => translatorOf(dialect.stream(parsed, model), protocol, model),
    },

    texts: (body, model) => textsOfConversation(conversationOf(body, model)),
    mediaTokens: (body, model) => mediaTokensOfConversation(conversationOf(body, model)),
    plain: dialect.plain,
  }
}

/** The request in each of its forms; the same body is translated once. */
function translations<Body extends object>(dialect: ConversationDialect<Body>, protocol: Protocol) {
  const conversationOf = translatedOnce((body: Body, model): Conversation => {
    if ('as' in protocol.can.audio) dialect.checkMedia?.(body, model)
    return dialect.read(body, model)
  })
  const draftOf = translatedOnce(
    (body: Body, model): Call => protocol.write(conversationOf(body, model), model, {}),
  )
  /** The call of one candidate. Most requests are sent exactly as they were checked. */
  function callOf({ body, answer, outputTokens }: ParsedRequest<Body>, model: Model): Call {
    const conversation = conversationOf(body, model)
    if (outputTokens === undefined && !holdsSealed(conversation)) return draftOf(body, model)
    return protocol.write(conversation, model, {
      ...(answer && { answer }),
      ...(outputTokens !== undefined && { outputTokens }),
    })
  }

  return { conversationOf, draftOf, callOf }
}

/** The members that describe which requests a family accepts. */
function declared<Body extends object>(dialect: ConversationDialect<Body>, protocol: Protocol) {
  const fieldRules = dialect.fieldRules(protocol)
  const isFamily = protocol.familyDialect === dialect.name
  return {
    kind: 'made' as const,
    name: isFamily ? protocol.family : `${dialect.name}-on-${protocol.name}`,
    operation: dialect.operation,
    units: [['input_token', 'output_token']] as const,
    dialect: dialect.errors,
    ...(!isFamily && { over: protocol.family }),
    ...(protocol.takesSome && { takesSome: protocol.takesSome }),
    ...(dialect.seals && { seals: true as const }),
    body: dialect.body,
    ...(dialect.ignoredFor && { ignoredFor: dialect.ignoredFor }),
    ...(fieldRules.length > 0 && { fieldRules }),
    bridge: bridgedTable(dialect.fields, protocol.can),
    ...(dialect.ignoresUnknown && { ignoresUnknown: true as const }),
    ...(dialect.ignored && { ignored: dialect.ignored }),
  }
}

/** Joins the readers of all candidates with the writer of the dialect. */
function translatorOf(answer: StreamedAnswer, protocol: Protocol, model: Model): Translator {
  const readers = answer.writers.map((writer) => protocol.readEvents(writer, model))
  let hasFailed = false
  const finished = (end: () => string): string => {
    if (hasFailed) return ''
    for (const reader of readers) reader.finish()
    return answer.take() + end()
  }
  return {
    push(event, candidate, reading) {
      if (hasFailed) return ''
      if (isFailure(reading)) {
        hasFailed = true
        answer.failWith(readErrorShape(event))
      } else readers[candidate]?.push(event, reading)
      return answer.take()
    },
    finish: (usage) => finished(() => answer.finish(usage)),
    cut: (usage) => finished(() => answer.cut(usage)),
    ...(answer.fail && {
      fail(error) {
        hasFailed = true
        return answer.fail?.(error) ?? ''
      },
    }),
    ...(answer.keepAlive && { keepAlive: () => answer.keepAlive?.() ?? '' }),
    ...(answer.answer && { answer: () => answer.answer?.() }),
  }
}

function holdsSealed({ turns }: Conversation): boolean {
  return turns.some(
    (turn) =>
      turn.side === 'assistant' &&
      turn.steps.some((step) => step.kind === 'reasoning' && step.sealed !== undefined),
  )
}

function tooManyStreams({ id }: Model): GatewayError {
  return invalidRequest(
    'n',
    `Invalid 'n': ${id} streams at most ${MAX_STREAMS} candidates at a time. Request fewer, or do not stream.`,
  )
}
