// Translates the events of a response to those of a message. Blocks never overlap here, while items may come mixed:
// pieces of a later one wait until the one before is done. It must never throw, and never lose or repeat a piece.

import type { Model, ParsedRequest, Quantities, Translator } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import {
  argumentsOf,
  BETWEEN_THOUGHTS,
  listOf,
  textOr,
  thoughtsOf,
  tokensOfThinking,
} from '../../chat/via-responses/reply'
import { estimateInput, type MessagesBody } from '../caller-side'
import { cutEvents, messageEvent, messageStart } from '../follower'
import { messageUsage } from '../usage'
import { endOf, idOfMessage, refusalIn, signatureOf } from './reply'

type Fields = Record<string, unknown>

/** A block that has not ended. The first of the queue may be open, the others wait. */
interface Block {
  type: 'thinking' | 'text' | 'tool_use'
  /** Text that has come and was not sent yet. */
  unsent: string
  hasText: boolean
  isDone: boolean
  /** The id and the name of a call. */
  use?: { id: string; name: string }
  signature: string
}

const types: ReadonlyMap<unknown, Block['type']> = new Map(
  Object.entries({
    reasoning: 'thinking',
    message: 'text',
    function_call: 'tool_use',
  }),
)

export function createEventsOfResponse(parsed: ParsedRequest<MessagesBody>, model: Model): Translator {
  return new MessageEvents(parsed, model)
}

class MessageEvents implements Translator {
  private readonly blocks = new Map<unknown, Block>()
  private readonly queue: Block[] = []
  private index = 0
  private isOpen = false
  private hasBegun = false
  private refusal = ''
  private isCalling = false
  private response: Fields = {}

  constructor(
    private readonly parsed: ParsedRequest<MessagesBody>,
    private readonly model: Model,
  ) {}

  push(event: object): string {
    const { type, response, item, output_index: place, delta } = event as Fields
    switch (type) {
      case 'response.created':
        return this.start(asObject(response))
      case 'response.output_item.added':
        this.blockOf(place, asObject(item))
        break
      case 'response.output_text.delta':
      case 'response.refusal.delta':
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
      case 'response.function_call_arguments.delta':
        this.append(place, textOr(delta))
        break
      case 'response.reasoning_summary_part.added':
        if (this.blocks.get(place)?.hasText) this.append(place, BETWEEN_THOUGHTS)
        break
      case 'response.output_item.done':
        this.done(place, asObject(item))
        break
      case 'response.completed':
      case 'response.incomplete':
        this.response = asObject(response)
        return ''
    }
    return this.advance(false)
  }

  finish(paid: Quantities): string {
    const { refusal, isCalling } = this
    const { stop_reason, stop_sequence, stop_details } = endOf(this.response, { refusal, isCalling })
    const delta = { stop_reason, stop_sequence, stop_details }
    const usage = messageUsage(paid, tokensOfThinking(this.response))
    return this.close() + messageEvent({ type: 'message_delta', delta, usage }) + STOP
  }

  cut(usage: Quantities): string {
    return this.close() + cutEvents(usage)
  }

  private close(): string {
    return this.start({}) + this.advance(true)
  }

  private start(response: Fields): string {
    if (this.hasBegun) return ''
    this.hasBegun = true
    const usage = messageUsage({ input_token: estimateInput(this.parsed) })
    return messageEvent(messageStart(idOfMessage(response, this.parsed), this.model, usage))
  }

  /** The block of an item, queued when it comes first; undefined for an item that a message has no place for. */
  private blockOf(place: unknown, item: Fields): Block | undefined {
    const known = this.blocks.get(place)
    const type = types.get(item.type)
    if (known || !type) return known
    const use = { id: textOr(item.call_id), name: textOr(item.name) }
    this.isCalling ||= type === 'tool_use'
    const block: Block = {
      type,
      unsent: '',
      hasText: false,
      isDone: false,
      ...(type === 'tool_use' && { use }),
      signature: '',
    }
    this.blocks.set(place, block)
    this.queue.push(block)
    return block
  }

  private append(place: unknown, piece: string): void {
    const block = this.blocks.get(place)
    if (!block || piece === '') return
    block.unsent += piece
    block.hasText = true
  }

  private done(place: unknown, item: Fields): void {
    const block = this.blockOf(place, item)
    if (!block) return
    this.refusal += refusalIn(item)
    if (block.type === 'thinking') block.signature = signatureOf(item, this.parsed, this.model)
    if (!block.hasText) this.append(place, wholeText(item))
    block.isDone = true
  }

  /** Sends what can be sent: everything of the open block, and later blocks as far as those before them are done. */
  private advance(atEnd: boolean): string {
    const { queue } = this
    let events = queue.length > 0 ? this.start({}) : ''
    for (let block = queue[0]; block; block = queue[0]) {
      const isEmpty = block.unsent === '' && block.signature === '' && block.type !== 'tool_use'
      if (!this.isOpen && !isEmpty) {
        events += messageEvent({
          type: 'content_block_start',
          index: this.index,
          content_block: empty(block),
        })
        this.isOpen = true
      }
      if (block.unsent !== '') events += this.delta(deltas[block.type](block.unsent))
      block.unsent = ''
      if (!block.isDone && !atEnd) return events
      if (block.signature !== '') {
        events += this.delta({ type: 'signature_delta', signature: block.signature })
      }
      queue.shift()
      if (!this.isOpen) continue
      events += messageEvent({ type: 'content_block_stop', index: this.index++ })
      this.isOpen = false
    }
    return events
  }

  private delta(delta: object): string {
    return messageEvent({ type: 'content_block_delta', index: this.index, delta })
  }
}

const STOP = messageEvent({ type: 'message_stop' })

const deltas = {
  thinking: (thinking: string) => ({ type: 'thinking_delta', thinking }),
  text: (text: string) => ({ type: 'text_delta', text }),
  tool_use: (partial_json: string) => ({ type: 'input_json_delta', partial_json }),
}

function empty({ type, use }: Block): object {
  if (type === 'thinking') return { type, thinking: '', signature: '' }
  return type === 'text' ? { type, text: '' } : { type, ...use, input: {} }
}

/** The text of an item that came without pieces. */
function wholeText(item: Fields): string {
  if (item.type === 'reasoning') return thoughtsOf(item).join(BETWEEN_THOUGHTS)
  if (item.type === 'function_call') return argumentsOf(item.arguments)
  return listOf(item.content)
    .map(({ text, refusal }) => textOr(text) || textOr(refusal))
    .join('')
}
