// Writes an answer as a message, whole or as events: how it begins, ends, fails or is cut, and its usage. It must never write after
// a failure.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import type { ErrorShape } from '../../../lib/error-shapes'
import { callInput } from '../../chat/answer-parts'
import type { StreamedAnswer, WholeReply } from '../../conversation/bridge'
import { estimateInput, type MessagesBody } from '../../messages/caller-side'
import { cutEvents, messageEvent, messageStart } from '../../messages/follower'
import { messageUsage } from '../../messages/usage'
import { type BlockRow, MessageWriter, type PieceType } from './write-events'

type Fields = Record<string, unknown>

export function wholeMessage(parsed: ParsedRequest<MessagesBody>, model: Model): WholeReply {
  const content = new Content()
  const writer = new MessageWriter(parsed, model, content)
  return {
    writers: [writer],
    answer: (usage) => ({
      id: writer.id,
      type: 'message',
      role: 'assistant',
      model: model.id,
      content: content.blocks,
      ...writer.stop,
      usage: messageUsage(usage, writer.ending.thinkingTokens),
    }),
  }
}

/** The blocks of a whole message. */
class Content implements BlockRow {
  readonly blocks: Fields[] = []
  private input = ''

  begin(): void {}

  start(block: Fields): void {
    this.input = ''
    this.blocks.push({ ...block })
  }

  piece(type: PieceType, piece: string): void {
    const block = this.blocks.at(-1)
    if (type === 'tool_use') this.input += piece
    else if (block) block[type] = `${block[type]}${piece}`
  }

  stop(): void {
    const block = this.blocks.at(-1)
    if (block?.type === 'tool_use') block.input = callInput(this.input)
  }
}

export function streamedMessage(parsed: ParsedRequest<MessagesBody>, model: Model): StreamedAnswer {
  return new MessageEvents(parsed, model)
}

class MessageEvents implements StreamedAnswer, BlockRow {
  readonly writers: readonly [MessageWriter]
  private events = ''
  private hasBegun = false
  private index = 0

  constructor(
    private readonly parsed: ParsedRequest<MessagesBody>,
    private readonly model: Model,
  ) {
    this.writers = [new MessageWriter(parsed, model, this)]
  }

  begin(): void {
    if (this.hasBegun) return
    this.hasBegun = true
    const usage = messageUsage({ input_token: estimateInput(this.parsed) })
    this.events += messageEvent(messageStart(this.writers[0].id, this.model, usage))
  }

  start(content_block: Fields): void {
    this.events += messageEvent({ type: 'content_block_start', index: this.index, content_block })
  }

  piece(type: PieceType, piece: string): void {
    this.events += messageEvent({
      type: 'content_block_delta',
      index: this.index,
      delta: deltas[type](piece),
    })
  }

  stop(): void {
    this.events += messageEvent({ type: 'content_block_stop', index: this.index++ })
  }

  take(): string {
    const { events } = this
    this.events = ''
    return events
  }

  failWith({ type, code, message }: ErrorShape): void {
    const named = [type, code].find((word) => word !== null && errorTypes.has(word))
    this.events += messageEvent({ type: 'error', error: { type: named ?? 'api_error', message } })
  }

  finish(paid: Quantities): string {
    this.begin()
    const [writer] = this.writers
    const usage = messageUsage(paid, writer.ending.thinkingTokens)
    this.events += messageEvent({ type: 'message_delta', delta: writer.stop, usage })
    this.events += messageEvent({ type: 'message_stop' })
    return this.take()
  }

  cut(paid: Quantities): string {
    this.begin()
    return this.take() + cutEvents(paid)
  }
}

const deltas = {
  thinking: (thinking: string) => ({ type: 'thinking_delta', thinking }),
  text: (text: string) => ({ type: 'text_delta', text }),
  tool_use: (partial_json: string) => ({ type: 'input_json_delta', partial_json }),
  signature: (signature: string) => ({ type: 'signature_delta', signature }),
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
