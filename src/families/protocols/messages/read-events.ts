// Reads messages and their events: each block is an item. It must never throw, and never lose or repeat a piece; events and blocks
// of unknown kinds are omitted.

import type { Model } from '../../../contract/family'
import { asObject, asText } from '../../../lib/objects'
import { demandsReasoning } from '../../chat/returned-reasoning'
import type {
  AnswerItem,
  AnswerReader,
  AnswerStop,
  AnswerWriter,
  CallItem,
  ThinkingItem,
} from '../../conversation/answer'
import { isJson } from '../../responses/events'
import { reportedCount } from '../../shared-schemas'

type Fields = Record<string, unknown>

/** A block that has begun. */
type Block =
  | { item: Exclude<AnswerItem, ThinkingItem | CallItem> }
  | { item: ThinkingItem; signed: { thinking: string; signature: string } }
  /** `whole` is the input that arrived at the beginning, until pieces replace it; `json` holds those pieces. */
  | { item: CallItem; whole: string | null; json: string }

const stops = new Map<unknown, AnswerStop>([
  ['tool_use', 'calls'],
  ['max_tokens', 'limit'],
  ['model_context_window_exceeded', 'limit'],
  ['stop_sequence', 'stop_sequence'],
  ['refusal', 'refusal'],
])

export class MessageReader implements AnswerReader {
  private readonly blocks = new Map<unknown, Block>()
  /** Calls that ended before their input was complete, by the index of their block. */
  private readonly unfinished = new Set<unknown>()

  constructor(
    private readonly writer: AnswerWriter,
    private readonly model: Model,
  ) {}

  push(event: object): void {
    const { type, message, index, content_block: block, delta } = asObject(event)
    switch (type) {
      case 'message_start':
        this.writer.begin(asText(asObject(message).id))
        this.readContent(asObject(message).content)
        break
      case 'content_block_start':
        this.start(index, asObject(block))
        break
      case 'content_block_delta':
        this.goOn(this.blockFor(index, asObject(delta)), asObject(delta))
        break
      case 'content_block_stop':
        this.stop(index, true)
        break
      case 'message_delta':
        this.noteEnd(asObject(delta), asObject(asObject(event).usage))
    }
  }

  finish(): void {
    for (const index of [...this.blocks.keys()]) this.stop(index)
  }

  readContent(content: unknown): void {
    if (!Array.isArray(content)) return
    for (const [index, block] of content.entries()) {
      this.start(index, asObject(block))
      this.stop(index)
    }
  }

  noteEnd(
    { stop_reason: reason, stop_sequence: sequence, stop_details: details }: Fields,
    usage: Fields,
  ): void {
    const explanation = asText(asObject(details).explanation)
    const thinkingTokens = reportedCount(asObject(usage.output_tokens_details).thinking_tokens)
    const tier = usage.speed === 'fast' ? usage.speed : usage.service_tier
    this.writer.end({
      ...(typeof reason === 'string' && { stop: stops.get(reason) ?? 'stop' }),
      ...(typeof sequence === 'string' && { stopSequence: sequence }),
      ...(explanation !== '' && { explanation }),
      ...(thinkingTokens > 0 && { thinkingTokens }),
      ...(typeof tier === 'string' && { serviceTier: tier }),
    })
  }

  private start(index: unknown, block: Fields): void {
    this.stop(index)
    for (const each of this.unfinished) this.stop(each)
    switch (block.type) {
      case 'text': {
        const item = { kind: 'text' } as const
        this.open(index, { item })
        this.writer.add(item, asText(block.text))
        break
      }
      case 'thinking': {
        const begun: Block = { item: { kind: 'thinking' }, signed: { thinking: '', signature: '' } }
        this.open(index, begun)
        this.goOn(begun, { type: 'thinking_delta', thinking: block.thinking })
        this.goOn(begun, { type: 'signature_delta', signature: block.signature })
        break
      }
      case 'redacted_thinking': {
        const blocks = [{ redacted: asText(block.data) }]
        const item: ThinkingItem = { kind: 'thinking', kept: { kind: 'messages', blocks } }
        this.writer.open(item)
        this.writer.close(item)
        break
      }
      case 'tool_use': {
        const item: CallItem = {
          kind: 'call',
          id: asText(block.id),
          name: asText(block.name),
          form: 'function',
        }
        // Some vendors send the whole input at once.
        const input = asObject(block.input)
        const whole = Object.keys(input).length > 0 ? JSON.stringify(input) : null
        this.open(index, { item, whole, json: '' })
      }
    }
  }

  private open(index: unknown, block: Block): void {
    this.blocks.set(index, block)
    this.writer.open(block.item)
  }

  /** The block of a piece. A piece for a block that never began, or has ended, begins a new one. */
  private blockFor(index: unknown, { type, text, thinking }: Fields): Block | undefined {
    const known = this.blocks.get(index)
    const words = type === 'text_delta' ? asText(text) : type === 'thinking_delta' ? asText(thinking) : ''
    if (known || words === '') return known
    this.start(index, { type: type === 'text_delta' ? 'text' : 'thinking' })
    return this.blocks.get(index)
  }

  private goOn(block: Block | undefined, piece: Fields): void {
    if (!block) return
    if ('signed' in block) {
      const thinking = piece.type === 'thinking_delta' ? asText(piece.thinking) : ''
      block.signed.thinking += thinking
      if (piece.type === 'signature_delta') block.signed.signature += asText(piece.signature)
      this.keep(block.item, block.signed)
      this.writer.add(block.item, thinking)
    } else if ('whole' in block) {
      const json = piece.type === 'input_json_delta' ? asText(piece.partial_json) : ''
      if (json !== '') block.whole = null
      block.json += json
      this.writer.add(block.item, json)
    } else if (piece.type === 'text_delta') this.writer.add(block.item, asText(piece.text))
  }

  /** Ends a block. An incomplete call may get the rest of its input after its end, until another block begins. */
  private stop(index: unknown, mayGoOn = false): void {
    const block = this.blocks.get(index)
    if (!block) return
    if (mayGoOn && 'whole' in block && block.whole === null && !isJson(block.json)) {
      this.unfinished.add(index)
      return
    }
    this.unfinished.delete(index)
    this.blocks.delete(index)
    if ('whole' in block && block.whole !== null) this.writer.add(block.item, block.whole)
    this.writer.close(block.item)
  }

  /** Keeps thinking that is useful to the vendor, even if it is incomplete. */
  private keep(item: ThinkingItem, signed: { thinking: string; signature: string }): void {
    if (item.kept) return
    const isOfUse = signed.signature !== '' || (signed.thinking !== '' && demandsReasoning(this.model))
    if (isOfUse) item.kept = { kind: 'messages', blocks: [signed] }
  }
}

/** Reads a whole message. Throws if the vendor sent no content. */
export function readMessageAnswer(reply: unknown, writer: AnswerWriter, model: Model): void {
  const message = asObject(reply)
  if (!Array.isArray(message.content)) throw new Error('the vendor sent no content')
  writer.begin(asText(message.id))
  const reader = new MessageReader(writer, model)
  reader.readContent(message.content)
  reader.noteEnd(message, asObject(message.usage))
}
