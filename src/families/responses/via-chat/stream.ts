// Translates a stream of chat completions to the events of a response. Pieces of several calls may come mixed; each goes
// to its own item. It must never throw, and never lose or repeat a piece.

import type { Model, ParsedRequest, Quantities, Translator } from '../../../contract/family'
import type { Reading } from '../../../contract/reading'
import { asObject, isObject } from '../../../lib/objects'
import {
  type CallPiece,
  callOf,
  choiceOf,
  isWhole,
  type PiecedCall,
  partIn,
  reasoningTokens,
} from '../../chat/answer-parts'
import { ReturnedReasoning } from '../../chat/returned-reasoning'
import type { ResponsesBody } from '../caller-side'
import type { OpenCall } from '../events'
import type { Fields } from '../response-object'
import { ResponseTranslator, type Shortfall } from '../translator'

export function createEventsOfChat(parsed: ParsedRequest<ResponsesBody>, model: Model): Translator {
  return new EventsOfChat(parsed, model)
}

/** A call as far as it has come. */
interface StreamedCall extends PiecedCall {
  /** The id by which the caller knows the call, once that is settled. */
  callId: string | undefined
  /** Undefined until the name of the tool is known. */
  open: OpenCall | undefined
  isClosed: boolean
}

/** The words of vendors for an answer that is not whole. */
const shortfalls: Record<string, Shortfall> = {
  length: 'max_output_tokens',
  max_tokens: 'max_output_tokens',
  model_length: 'max_output_tokens',
  content_filter: 'content_filter',
  safety: 'content_filter',
}

/** The word by which a caller asks for the probabilities of tokens. */
const LOGPROBS = 'message.output_text.logprobs'
const NO_LOGPROBS: readonly Fields[] = []

export class EventsOfChat extends ResponseTranslator {
  private readonly showsLogprobs = this.parsed.body.include?.includes(LOGPROBS) === true
  private readonly calls: StreamedCall[] = []
  private readonly openCalls = new Set<StreamedCall>()
  private readonly returned = new ReturnedReasoning(this.parsed, this.model)
  private hasRefused = false
  private finishReason = ''

  /** The response to a whole completion of one choice. */
  whole(choice: Record<string, unknown>, completion: unknown, usage: Quantities): Fields {
    const { service_tier: tier } = asObject(completion)
    if (typeof tier === 'string') this.serviceTier = tier
    this.reasoningTokens = reasoningTokens(completion)
    this.addChoice(choice, choice.message)
    return this.end(usage)
  }

  protected add(chunk: object, { usage }: Reading): void {
    if (usage && usage.figures !== 'invalid') this.reasoningTokens = reasoningTokens(chunk)
    const choice = choiceOf(chunk)
    if (choice) this.addChoice(choice, choice.delta)
  }

  private addChoice(choice: Record<string, unknown>, message: unknown): void {
    const { events } = this
    const { finish_reason: reason } = choice
    if (typeof reason === 'string' && reason !== '') this.finishReason = reason.toLowerCase()
    const part = partIn(message)
    const { thinking, text, refusal, calls } = part
    const needsCarrier = this.returned.take(part)
    if (this.openCalls.size > 0 && (thinking !== '' || text !== '' || refusal !== '')) this.closeWhole()
    events.append('reasoning', thinking)
    if (needsCarrier) events.openReasoning()
    events.append('text', text, this.showsLogprobs ? logprobsOf(choice.logprobs) : NO_LOGPROBS)
    events.append('refusal', refusal)
    this.hasRefused ||= refusal !== ''
    for (const piece of calls) this.addPiece(piece)
  }

  protected close(): void {
    for (const call of this.calls) if (!call.open) this.open(call)
    if (this.returned.isDue) this.events.openReasoning()
  }

  protected shortfall(): Shortfall {
    const shortfall = shortfalls[this.finishReason]
    // What a model says in refusing is whole.
    return this.hasRefused && shortfall === 'content_filter' ? undefined : shortfall
  }

  protected seal(): string | undefined {
    return this.returned.seal()
  }

  private addPiece(piece: CallPiece): void {
    let call = callOf(this.calls, piece)
    if (!call) {
      this.closeWhole()
      call = {
        ...piece,
        name: '',
        arguments: '',
        callId: undefined,
        partLength: 0,
        failedChecks: 0,
        open: undefined,
        isClosed: false,
      }
      this.calls.push(call)
    }
    call.id ||= piece.id
    if (piece.extra) this.returned.takeCall(this.idOf(call), piece.extra)
    // Only white space can follow complete arguments.
    if (call.isClosed) return
    call.name ||= piece.name
    call.arguments += piece.arguments
    if (call.open) this.events.appendArguments(call.open, piece.arguments)
    else if (call.name !== '') this.open(call)
  }

  private open(call: StreamedCall): void {
    call.open = this.events.openCall(this.originOf(call.name), this.idOf(call))
    this.openCalls.add(call)
    this.events.appendArguments(call.open, call.arguments)
  }

  private idOf(call: StreamedCall): string {
    call.callId ??= this.events.freeCallId(call.id)
    return call.callId
  }

  /** Ends calls that are whole: the next item begins. */
  private closeWhole(): void {
    for (const call of this.openCalls) {
      if (!call.open || !isWhole(call)) continue
      call.isClosed = true
      this.openCalls.delete(call)
      this.events.closeCall(call.open)
    }
  }
}

/** The probabilities of a piece's tokens. */
function logprobsOf(logprobs: unknown): readonly Fields[] {
  const { content } = asObject(logprobs)
  if (!Array.isArray(content)) return NO_LOGPROBS
  return content.filter(isObject).map(({ token, bytes, logprob, top_logprobs: top }) => ({
    token,
    bytes: bytes ?? [],
    logprob,
    top_logprobs: Array.isArray(top) ? top : [],
  }))
}
