// Reads events of ConverseStream, where texts begin without an event of their own. It must never throw, and never lose or repeat a
// piece. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html.

import type { Reading } from '../../../contract/reading'
import { asObject, asText } from '../../../lib/objects'
import type { AnswerItem, AnswerReader, AnswerWriter } from '../../conversation/answer'
import { readMessage, readMessageEvent } from '../../messages/caller-side'
import { asReported, converseEnd, reportedUsage, stopOf } from './read'

type Fields = Record<string, unknown>

/** An open block: the vendor's number of it, and its signed part. */
interface OpenBlock {
  place: unknown
  kind: AnswerItem['kind'] | 'redacted'
  item: AnswerItem
  signed: { thinking: string; signature: string }
}

export class ConverseReader implements AnswerReader {
  private block: OpenBlock | undefined

  constructor(private readonly writer: AnswerWriter) {}

  push(event: object): void {
    const { messageStart, contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata } =
      asObject(event)
    if (messageStart !== undefined) this.writer.begin('')
    else if (contentBlockStart !== undefined) this.start(asObject(contentBlockStart))
    else if (contentBlockDelta !== undefined) this.goOn(asObject(contentBlockDelta))
    else if (contentBlockStop !== undefined) {
      if (this.block?.place === asObject(contentBlockStop).contentBlockIndex) this.close()
    } else if (messageStop !== undefined) {
      this.close()
      this.writer.end(converseEnd(asObject(messageStop).stopReason))
    } else if (metadata !== undefined) this.close()
  }

  finish(): void {
    this.close()
  }

  private start({ start, contentBlockIndex: place }: Fields): void {
    const { toolUse } = asObject(start)
    if (toolUse === undefined) return
    const { toolUseId, name } = asObject(toolUse)
    const item = { kind: 'call', id: asText(toolUseId), name: asText(name), form: 'function' } as const
    this.open(place, 'call', item)
  }

  private goOn({ contentBlockIndex: place, delta }: Fields): void {
    const { text, toolUse, reasoningContent } = asObject(delta)
    const { input } = asObject(toolUse)
    if (typeof text === 'string') this.add(place, 'text', text)
    else if (typeof input === 'string') {
      // A call begins with its name.
      const call = this.openOf(place, 'call')
      if (call) this.writer.add(call.item, input)
    } else this.think(place, asObject(reasoningContent))
  }

  private think(place: unknown, { text, signature, redactedContent: redacted }: Fields): void {
    if (typeof redacted === 'string') {
      if (this.openOf(place, 'redacted')) return
      const kept = { kind: 'messages', blocks: [{ redacted }] } as const
      // Nothing more is added to it.
      this.writer.close(this.open(place, 'redacted', { kind: 'thinking', kept }).item)
    } else if (typeof text === 'string') this.add(place, 'thinking', text).signed.thinking += text
    else if (typeof signature === 'string' && signature !== '') this.sign(place, signature)
  }

  /** Adds to a signature; an incomplete one is kept. Hidden thinking has nothing else. */
  private sign(place: unknown, signature: string): void {
    const { item, signed } =
      this.openOf(place, 'thinking') ?? this.open(place, 'thinking', { kind: 'thinking' })
    signed.signature += signature
    if (item.kind === 'thinking') item.kept = { kind: 'messages', blocks: [signed] }
    this.writer.add(item, '')
  }

  private add(place: unknown, kind: 'text' | 'thinking', piece: string): OpenBlock {
    const block = this.openOf(place, kind) ?? this.open(place, kind, { kind })
    this.writer.add(block.item, piece)
    return block
  }

  private openOf(place: unknown, kind: OpenBlock['kind']): OpenBlock | undefined {
    return this.block?.place === place && this.block?.kind === kind ? this.block : undefined
  }

  private open(place: unknown, kind: OpenBlock['kind'], item: AnswerItem): OpenBlock {
    this.close()
    const block = { place, kind, item, signed: { thinking: '', signature: '' } }
    this.block = block
    this.writer.open(item)
    return block
  }

  private close(): void {
    const { block } = this
    this.block = undefined
    if (block && block.kind !== 'redacted') this.writer.close(block.item)
  }
}

/** Reads one event; the last one contains the figures. */
export function readConverseEvent(event: unknown): Reading {
  const { contentBlockStart, contentBlockDelta, messageStop, metadata } = asObject(event)
  if (metadata !== undefined) {
    const { usage: reported } = asObject(metadata)
    const { usage } = readMessage({ content: [], usage: reportedUsage(reported) }, { body: {} } as never)
    return { ...(usage && { usage: asReported(usage, reported) }), end: 'finished' }
  }
  if (messageStop !== undefined) {
    const isRefused = stopOf(asObject(messageStop).stopReason) === 'filter'
    const isCut = asObject(messageStop).stopReason === 'max_tokens'
    const reason = isRefused ? 'refusal' : isCut ? 'max_tokens' : 'end_turn'
    return readMessageEvent({ type: 'message_delta', delta: { stop_reason: reason } })
  }
  if (contentBlockStart !== undefined) {
    const { toolUse } = asObject(asObject(contentBlockStart).start)
    if (toolUse === undefined) return {}
    const { toolUseId: id, name } = asObject(toolUse)
    const block = { type: 'tool_use', id: asText(id), name: asText(name), input: {} }
    return readMessageEvent({ type: 'content_block_start', content_block: block })
  }
  if (contentBlockDelta !== undefined) return readPiece(asObject(asObject(contentBlockDelta).delta))
  return readMessageEvent(event)
}

function readPiece({ text, toolUse, reasoningContent }: Fields): Reading {
  const { input } = asObject(toolUse)
  const { text: thinking, signature, redactedContent: data } = asObject(reasoningContent)
  if (typeof text === 'string') return readDelta({ type: 'text_delta', text })
  if (typeof input === 'string') return readDelta({ type: 'input_json_delta', partial_json: input })
  if (typeof data === 'string') {
    return readMessageEvent({
      type: 'content_block_start',
      content_block: { type: 'redacted_thinking', data },
    })
  }
  if (typeof thinking === 'string') return readDelta({ type: 'thinking_delta', thinking })
  return typeof signature === 'string' ? readDelta({ type: 'signature_delta', signature }) : {}
}

function readDelta(delta: Fields): Reading {
  return readMessageEvent({ type: 'content_block_delta', delta })
}
