// Reads chat completions, whole and in chunks, into a writer. Pieces of several calls may arrive mixed, and names of calls may
// arrive late. It must never throw, and never lose or repeat a piece.

import type { Model } from '../../../contract/family'
import type { Reading } from '../../../contract/reading'
import { asObject, isObject } from '../../../lib/objects'
import {
  type AnswerPart,
  type CallPiece,
  callOf,
  choiceOf,
  isWhole,
  type PiecedCall,
  partIn,
  reasoningTokens,
} from '../../chat/answer-parts'
import type { AnswerItem, AnswerReader, AnswerStop, AnswerWriter, CallItem } from '../../conversation/answer'
import type { ChatReasoning } from '../../sealed-reasoning'
import { KeptReasoning } from './kept-reasoning'

type Fields = Readonly<Record<string, unknown>>

/** A call, as much of it as has arrived. */
interface StreamedCall extends PiecedCall {
  item: CallItem
  /** Arguments that the writer has not received. */
  unsent: string
  state: 'waiting' | 'open' | 'closed'
}

/** The empty list of calls, as in nearly all events. */
const NO_CALLS: ReadonlySet<StreamedCall> = new Set()

/** Vendors' values for the finish reason, in lower case. Any other value is a normal end. */
const stops = new Map<string, AnswerStop>([
  ['length', 'limit'],
  ['max_tokens', 'limit'],
  ['model_length', 'limit'],
  ['tool_calls', 'calls'],
  ['function_call', 'calls'],
  ['content_filter', 'filter'],
  ['safety', 'filter'],
])

export class ChatReader implements AnswerReader {
  private readonly calls: StreamedCall[] = []
  /** The last call, with nothing after it yet: it may continue although its arguments are complete. */
  private lastCall: StreamedCall | undefined
  /** The text or the thinking that continues; undefined once another item has begun. */
  private last: Exclude<AnswerItem, CallItem> | undefined
  private readonly kept: KeptReasoning
  /** The tier of the last event: vendors repeat it in every one. */
  private serviceTier: string | undefined

  constructor(
    private readonly writer: AnswerWriter,
    model: Model,
  ) {
    this.kept = new KeptReasoning(model)
  }

  push(chunk: object, { usage, serviceTier }: Reading): void {
    this.begin(chunk)
    if (usage && usage.figures !== 'invalid') this.writer.end({ thinkingTokens: reasoningTokens(chunk) })
    if (serviceTier !== undefined && serviceTier !== this.serviceTier) {
      this.serviceTier = serviceTier
      this.writer.end({ serviceTier })
    }
    const choice = choiceOf(chunk)
    if (choice) this.addChoice(choice, partIn(choice.delta))
  }

  /** Receives a whole completion. Throws if the vendor sent no answer. */
  readWhole(completion: unknown): void {
    const choice = choiceOf(completion)
    if (!choice) throw new Error('the vendor sent no choice')
    const { service_tier: tier } = asObject(completion)
    const part = partIn(choice.message)
    this.begin(completion)
    this.writer.end({
      thinkingTokens: reasoningTokens(completion),
      ...(typeof tier === 'string' && { serviceTier: tier }),
    })
    // Calls that arrived whole are complete, however many there are.
    this.addChoice(choice, { ...part, calls: part.calls.map((call, index) => ({ ...call, index })) })
    this.finish()
  }

  finish(): void {
    if (this.kept.isDue) this.carry()
    this.closeLast()
    for (const call of this.calls) this.close(call)
  }

  private begin(completion: unknown): void {
    const { id } = asObject(completion)
    this.writer.begin(typeof id === 'string' ? id : '')
  }

  private addChoice(choice: Fields, part: AnswerPart): void {
    const { thinking, text, refusal, calls } = part
    this.noteEnd(choice)
    const needsCarrier = this.kept.take(part)
    // The text of an event with a call is kept before the call, in the thinking that led to it.
    const pieced = calls.length === 0 ? NO_CALLS : new Set(calls.map((piece) => this.addPiece(piece)))
    this.say('thinking', thinking)
    if (needsCarrier) this.carry()
    this.keepWithThinking(this.kept.soFar)
    this.say('text', text, logprobsOf(choice.logprobs))
    this.say('refusal', refusal)
    for (const call of pieced) this.send(call)
    for (const call of pieced) if (call !== this.lastCall) this.closeIfWhole(call)
  }

  private noteEnd({ finish_reason: reason, stop_reason: matched }: Fields): void {
    if (typeof reason !== 'string' || reason === '') return
    const stop = stops.get(reason.toLowerCase()) ?? 'stop'
    // Some servers name the stop sequence.
    const isNamed = stop === 'stop' && typeof matched === 'string' && matched !== ''
    this.writer.end(isNamed ? { stop: 'stop_sequence', stopSequence: matched } : { stop })
  }

  private say(kind: 'thinking' | 'text' | 'refusal', piece: string, logprobs?: readonly Fields[]): void {
    if (piece === '') return
    this.writer.add(this.itemOf(kind), piece, logprobs)
  }

  /** Adds an item that carries reasoning without text to the caller. */
  private carry(): void {
    this.itemOf('thinking')
  }

  /** The open item of a kind, or a new one. */
  private itemOf(kind: 'thinking' | 'text' | 'refusal'): AnswerItem {
    const { last } = this
    if (last?.kind === kind) return last
    this.closeLast()
    this.endLastCall()
    const item = { kind } as Exclude<AnswerItem, CallItem>
    this.last = item
    this.keepWithThinking(this.kept.soFar)
    this.writer.open(item)
    return item
  }

  private closeLast(): void {
    const { last } = this
    if (!last) return
    if (last.kind === 'thinking') this.keepWithThinking(this.kept.give())
    this.last = undefined
    this.writer.close(last)
  }

  /** An open thought holds all text so far, because an answer may break off. */
  private keepWithThinking(kept: ChatReasoning | undefined): void {
    if (kept && this.last?.kind === 'thinking') this.last.kept = kept
  }

  /** The call of a piece, together with the piece, which is not sent yet. */
  private addPiece(piece: CallPiece): StreamedCall {
    const call = callOf(this.calls, piece) ?? this.newCall(piece)
    call.id ||= piece.id
    call.name ||= piece.name
    call.arguments += piece.arguments
    call.unsent += piece.arguments
    call.item.id ||= call.id
    if (piece.extra) {
      this.writer.nameCall(call.item)
      this.kept.takeCall(call.item.id, piece.extra)
    }
    return call
  }

  private newCall({ index, id }: CallPiece): StreamedCall {
    const item: CallItem = { kind: 'call', id, name: '', form: 'function' }
    const call: StreamedCall = {
      index,
      id,
      name: '',
      arguments: '',
      extra: undefined,
      partLength: 0,
      failedChecks: 0,
      item,
      unsent: '',
      state: 'waiting',
    }
    this.calls.push(call)
    return call
  }

  /** Sends the part of a call that has arrived. Only white space can follow complete arguments. */
  private send(call: StreamedCall): void {
    if (call.state === 'closed') return
    const { item, unsent } = call
    item.name = call.name
    if (call.state === 'waiting') {
      this.closeLast()
      this.endLastCall()
      this.lastCall = call
      call.state = 'open'
      this.writer.open(item)
    }
    call.unsent = ''
    this.writer.add(item, unsent)
  }

  private close(call: StreamedCall): void {
    if (call.state === 'closed') return
    this.send(call)
    call.state = 'closed'
    this.writer.close(call.item)
  }

  /** A later item begins. */
  private endLastCall(): void {
    const { lastCall } = this
    this.lastCall = undefined
    if (lastCall) this.closeIfWhole(lastCall)
  }

  /** Ends a call that a later item has followed, if its arguments are complete. */
  private closeIfWhole(call: StreamedCall): void {
    if (call.state === 'open' && isWhole(call)) this.close(call)
  }
}

/** The probabilities of a piece's tokens, in the form of the responses API; undefined if there are none. */
function logprobsOf(logprobs: unknown): readonly Fields[] | undefined {
  const { content } = asObject(logprobs)
  if (!Array.isArray(content)) return undefined
  return content.filter(isObject).map(({ token, bytes, logprob, top_logprobs: top }) => ({
    token,
    bytes: bytes ?? [],
    logprob,
    top_logprobs: Array.isArray(top) ? top : [],
  }))
}
