// Translates the events of ConverseStream to those of a message. Texts begin without an event of their own there. It must never
// throw, and never lose or repeat a piece.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html.

import type { Model, ParsedRequest, Translator } from '../../../contract/family'
import { hasFailed, type Reading } from '../../../contract/reading'
import { readErrorShape } from '../../../lib/error-shapes'
import { asObject } from '../../../lib/objects'
import { estimateInput, type MessagesBody, readMessage, readMessageEvent } from '../caller-side'
import { followMessage, type MessageEvent, messageEvent, messageStart as startEvent } from '../follower'
import { messageUsage } from '../usage'
import { asReported, reportedUsage, stopReasonOf } from './reply'

type Fields = Record<string, unknown>

/** Reads one event; the last one has the figures. */
export function readConverseEvent(event: unknown): Reading {
  const { contentBlockStart, contentBlockDelta, messageStop, metadata } = asObject(event)
  if (metadata !== undefined) {
    const { usage: reported } = asObject(metadata)
    const { usage } = readMessage({ content: [], usage: reportedUsage(reported) }, { body: {} } as never)
    return { ...(usage && { usage: asReported(usage, reported) }), end: 'finished' }
  }
  if (messageStop !== undefined) {
    const delta = { stop_reason: stopReasonOf(asObject(messageStop).stopReason) }
    return readMessageEvent({ type: 'message_delta', delta })
  }
  if (contentBlockStart !== undefined) {
    const block = startedBlock(asObject(asObject(contentBlockStart).start))
    return block ? readMessageEvent({ type: 'content_block_start', content_block: block }) : {}
  }
  if (contentBlockDelta !== undefined) {
    const piece = pieceOf(asObject(asObject(contentBlockDelta).delta))
    if (piece?.block.type === 'redacted_thinking') {
      return readMessageEvent({ type: 'content_block_start', content_block: piece.block })
    }
    return piece ? readMessageEvent({ type: 'content_block_delta', delta: piece.delta }) : {}
  }
  return readMessageEvent(event)
}

export function createEventsOfConverse(parsed: ParsedRequest<MessagesBody>, model: Model): Translator {
  const source = new ConverseEvents(model, messageUsage({ input_token: estimateInput(parsed) }), parsed)
  const follower = followMessage(parsed, model)
  let ending = ENDED
  let failed = false
  return {
    push(event, _candidate, reading) {
      if (failed) return ''
      failed = hasFailed(reading)
      const events: MessageEvent[] = []
      for (const each of source.push(event)) {
        // The figures that are paid go with it.
        if (each.type === 'message_delta') ending = each
        else events.push(each)
      }
      for (const each of events) follower.push(each)
      return events.map(messageEvent).join('')
    },
    finish(usage) {
      if (failed) return ''
      return messageEvent({ ...ending, usage: messageUsage(usage) }) + messageEvent({ type: 'message_stop' })
    },
    cut: (usage) => (failed ? '' : follower.cut(usage)),
  }
}

/** The end of a message for which no reason is told. */
const ENDED: MessageEvent = { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null } }

/** The block that is open: the vendor's number for it, and its own in the message. */
interface OpenBlock {
  type: string
  vendorIndex: unknown
  index: number
}

/** The events of one answer as those of a message, except for the last, which ends every message. */
export class ConverseEvents {
  private open: OpenBlock | undefined
  private hasBegun = false
  private count = 0

  constructor(
    private readonly model: Model,
    private readonly usage: object,
    private readonly parsed: ParsedRequest,
  ) {}

  push(event: object): MessageEvent[] {
    const { messageStart, contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata } =
      asObject(event)
    if (messageStart !== undefined) return this.begin()
    if (contentBlockStart !== undefined) {
      const { start, contentBlockIndex } = asObject(contentBlockStart)
      const block = startedBlock(asObject(start))
      return block ? this.openBlock(contentBlockIndex, block) : []
    }
    if (contentBlockDelta !== undefined) return this.goOn(asObject(contentBlockDelta))
    if (contentBlockStop !== undefined) {
      return this.open?.vendorIndex === asObject(contentBlockStop).contentBlockIndex ? this.close() : []
    }
    if (messageStop !== undefined) {
      const delta = { stop_reason: stopReasonOf(asObject(messageStop).stopReason), stop_sequence: null }
      return [...this.begin(), ...this.close(), { type: 'message_delta', delta }]
    }
    if (metadata !== undefined) return [...this.begin(), ...this.close()]
    return hasFailed(readConverseEvent(event)) ? [failureOf(event)] : []
  }

  private begin(): MessageEvent[] {
    if (this.hasBegun) return []
    this.hasBegun = true
    return [startEvent(`msg_${this.parsed.at.toString(36)}`, this.model, this.usage)]
  }

  private openBlock(vendorIndex: unknown, block: MessageEvent): MessageEvent[] {
    const before = [...this.begin(), ...this.close()]
    const index = this.count++
    this.open = { type: block.type, vendorIndex, index }
    return [...before, { type: 'content_block_start', index, content_block: block }]
  }

  private goOn({ contentBlockIndex: vendorIndex, delta: content }: Fields): MessageEvent[] {
    const piece = pieceOf(asObject(content))
    if (!piece) return []
    const { block, delta } = piece
    const { open } = this
    const isOpen = open?.vendorIndex === vendorIndex && open?.type === block.type
    // A call begins with its name.
    if (!isOpen && block.type === 'tool_use') return []
    const opening = isOpen ? [] : this.openBlock(vendorIndex, block)
    if (!delta) return opening
    return [...opening, { type: 'content_block_delta', index: this.open?.index, delta }]
  }

  private close(): MessageEvent[] {
    if (!this.open) return []
    const { index } = this.open
    this.open = undefined
    return [{ type: 'content_block_stop', index }]
  }
}

/** The block that an event begins; undefined for kinds that a message has no place for. */
function startedBlock({ toolUse }: Fields): MessageEvent | undefined {
  if (toolUse === undefined) return undefined
  const { toolUseId, name } = asObject(toolUse)
  return { type: 'tool_use', id: String(toolUseId ?? ''), name: String(name ?? ''), input: {} }
}

/** A piece, and the block that it belongs to; undefined for kinds that a message has no place for. */
function pieceOf({
  text,
  toolUse,
  reasoningContent,
}: Fields): { block: MessageEvent; delta?: Fields } | undefined {
  if (typeof text === 'string')
    return { block: { type: 'text', text: '' }, delta: { type: 'text_delta', text } }
  const { input } = asObject(toolUse)
  if (typeof input === 'string') {
    return { block: { type: 'tool_use' }, delta: { type: 'input_json_delta', partial_json: input } }
  }
  const { text: thinking, signature, redactedContent: data } = asObject(reasoningContent)
  if (typeof data === 'string') return { block: { type: 'redacted_thinking', data } }
  const block = { type: 'thinking', thinking: '', signature: '' }
  if (typeof thinking === 'string') return { block, delta: { type: 'thinking_delta', thinking } }
  if (typeof signature === 'string') return { block, delta: { type: 'signature_delta', signature } }
  return undefined
}

function failureOf(event: object): MessageEvent {
  const { type, message } = readErrorShape(event)
  return { type: 'error', error: { type: type ?? 'api_error', message } }
}
