// Translates a stream of chat completions to the events of a message. Blocks never overlap here, while a chat stream
// may mix pieces of several tool calls: pieces of a later block wait until the one before is whole. It must never
// throw, and never lose or repeat a piece.

import type { Model, ParsedRequest, Translator } from '../../../contract/family'
import { hasFailed } from '../../../contract/reading'
import { readErrorShape } from '../../../lib/error-shapes'
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
import { ReturnedReasoning } from '../../chat/returned-reasoning'
import { estimateInput, type MessagesBody } from '../caller-side'
import { cutEvents, messageEvent as eventOf, messageStart } from '../follower'
import { messageUsage } from '../usage'
import { generatedCallId, messageId, stopOf } from './reply'

/** A block that has not ended. The first of the queue is open, the others wait. */
interface Waiting {
  type: 'thinking' | 'text' | 'tool_use'
  /** Text that has arrived and was not sent yet. */
  unsent: string
  call?: PiecedCall
}

export function createMessageEvents(parsed: ParsedRequest<MessagesBody>, model: Model): Translator {
  const blocks = new Blocks(parsed, model)
  let started = false
  let failed = false
  let refusal = ''
  let ending: Record<string, unknown> = {}
  let thinkingTokens = 0

  function start(completion: object): string {
    if (started) return ''
    started = true
    const usage = messageUsage({ input_token: estimateInput(parsed) })
    return eventOf(messageStart(messageId(completion, parsed), model, usage))
  }

  return {
    push(chunk, _candidate, reading) {
      if (failed) return ''
      if (hasFailed(reading)) {
        failed = true
        return errorEvent(chunk)
      }
      const figures = reading.usage?.figures
      if (figures && figures !== 'invalid') thinkingTokens = reasoningTokens(chunk)
      const choice = choiceOf(chunk) ?? {}
      if (choice.finish_reason) ending = choice
      const part = partIn(choice.delta)
      refusal += part.refusal
      return start(chunk) + blocks.add(part)
    },
    finish(paid) {
      if (failed) return ''
      const opening = start({})
      const closing = blocks.close()
      const seen = { refusal, calls: blocks.callCount, stops: parsed.body.stop_sequences }
      const end = {
        type: 'message_delta',
        delta: stopOf(ending, seen),
        usage: messageUsage(paid, thinkingTokens),
      }
      return opening + closing + eventOf(end) + eventOf({ type: 'message_stop' })
    },
    cut(paid) {
      if (failed) return ''
      return start({}) + blocks.close() + cutEvents(paid)
    },
  }
}

/** The content of the message, block after block. */
class Blocks {
  private readonly queue: Waiting[] = []
  private readonly calls: PiecedCall[] = []
  private readonly returned: ReturnedReasoning
  private index = 0
  private isOpen = false

  constructor(
    private readonly parsed: ParsedRequest,
    model: Model,
  ) {
    this.returned = new ReturnedReasoning(parsed, model)
  }

  get callCount(): number {
    return this.calls.length
  }

  add(part: AnswerPart): string {
    const { thinking, text, refusal, calls } = part
    const needsCarrier = this.returned.take(part)
    this.append('thinking', thinking)
    if (needsCarrier) this.ensureThinking()
    this.append('text', text)
    this.append('text', refusal)
    for (const piece of calls) this.appendCall(piece)
    return this.advance(false)
  }

  close(): string {
    if (this.returned.isDue) this.ensureThinking()
    return this.advance(true)
  }

  /** A block of thinking at the end of the queue, in which reasoning without words goes to the caller. */
  private ensureThinking(): void {
    if (this.queue.at(-1)?.type !== 'thinking') this.queue.push({ type: 'thinking', unsent: '' })
  }

  private append(type: 'thinking' | 'text', piece: string): void {
    if (piece === '') return
    const last = this.queue.at(-1)
    if (last?.type === type) last.unsent += piece
    else this.queue.push({ type, unsent: piece })
  }

  private appendCall(piece: CallPiece): void {
    const known = callOf(this.calls, piece)
    const call = known ?? {
      index: piece.index,
      id: piece.id,
      name: '',
      arguments: '',
      partLength: 0,
      failedChecks: 0,
      extra: undefined,
    }
    call.id ||= piece.id
    call.name ||= piece.name
    call.arguments += piece.arguments
    if (!known) this.calls.push(call)
    if (piece.extra) this.returned.takeCall(this.idOf(call), piece.extra)
    if (!known) {
      this.queue.push({ type: 'tool_use', unsent: piece.arguments, call })
      return
    }
    // Only white space can follow complete arguments.
    const block = this.queue.find((waiting) => waiting.call === call)
    if (block) block.unsent += piece.arguments
  }

  /** Sends what can be sent: everything of the open block, and later blocks as far as those before them are whole. */
  private advance(atEnd: boolean): string {
    const { queue } = this
    let events = ''
    for (let block = queue[0]; block; block = queue[0]) {
      if (!this.isOpen && !atEnd && block.call?.name === '') return events
      if (block.type !== 'thinking' || block.unsent !== '') events += this.open(block)
      if (block.unsent !== '') events += deltaEvent(this.index, block.type, block.unsent)
      block.unsent = ''
      const mayEnd = atEnd || (queue.length > 1 && (!block.call || isWhole(block.call)))
      if (!mayEnd) return events
      const signature = block.type === 'thinking' ? this.returned.seal() : undefined
      if (signature !== undefined) events += this.open(block) + deltaEvent(this.index, 'signature', signature)
      queue.shift()
      if (!this.isOpen) continue
      events += eventOf({ type: 'content_block_stop', index: this.index })
      this.isOpen = false
      this.index++
    }
    return events
  }

  /** Opens a block, unless it is open. */
  private open({ type, call }: Waiting): string {
    if (this.isOpen) return ''
    const { index } = this
    this.isOpen = true
    if (type === 'thinking') return startEvent(index, { type: 'thinking', thinking: '', signature: '' })
    if (type === 'text') return startEvent(index, { type: 'text', text: '' })
    const { name } = call as PiecedCall
    const use = { type: 'tool_use', id: this.idOf(call as PiecedCall), name, input: {} }
    // Messages have an empty delta here, so that a call without arguments has a delta too.
    return startEvent(index, use) + deltaEvent(index, 'tool_use', '')
  }

  /** The id of a call as the caller knows it. */
  private idOf(call: PiecedCall): string {
    return call.id || generatedCallId(this.parsed, this.calls.indexOf(call))
  }
}

const deltas = {
  thinking: (thinking: string) => ({ type: 'thinking_delta', thinking }),
  text: (text: string) => ({ type: 'text_delta', text }),
  tool_use: (partial_json: string) => ({ type: 'input_json_delta', partial_json }),
  signature: (signature: string) => ({ type: 'signature_delta', signature }),
}

function startEvent(index: number, block: object): string {
  return eventOf({ type: 'content_block_start', index, content_block: block })
}

function deltaEvent(index: number, type: keyof typeof deltas, piece: string): string {
  return eventOf({ type: 'content_block_delta', index, delta: deltas[type](piece) })
}

/** Classes of errors that clients of messages know. */
const errorTypes = new Set([
  'invalid_request_error',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'rate_limit_error',
  'overloaded_error',
])

/** An error event with the vendor's own message. */
function errorEvent(chunk: object): string {
  const { type, code, message } = readErrorShape(chunk)
  const named = [type, code].find((word) => word !== null && errorTypes.has(word))
  return eventOf({ type: 'error', error: { type: named ?? 'api_error', message } })
}
