// Follows a stream of messages that passes unchanged, to end it when the account cannot pay for more: open blocks end, and the
// reason is that of an answer at its limit. It must never throw, whatever a vendor sends.

import { ENDED_BY_BALANCE } from '../../contract/failures'
import type { Model, ParsedRequest, Quantities, StreamFollower } from '../../contract/family'
import { isObject } from '../../lib/objects'
import type { MessagesBody } from './caller-side'
import { messageUsage } from './usage'

const CUT_STOP = messageEvent({ type: 'message_stop', ...ENDED_BY_BALANCE })

export type MessageEvent = { type: string; [field: string]: unknown }

export function followMessage(parsed: ParsedRequest<MessagesBody>, model: Model): StreamFollower {
  let hasBegun = false
  /** Why the message ends, as the vendor reports it. */
  let reason: object | undefined
  const open = new Set<unknown>()
  return {
    push(event) {
      const { type, index, delta } = event as { type?: unknown; index?: unknown; delta?: unknown }
      if (type === 'message_start') hasBegun = true
      else if (type === 'content_block_start') open.add(index)
      else if (type === 'content_block_stop') open.delete(index)
      else if (type === 'message_delta') reason = isObject(delta) ? delta : (reason ?? END_TURN)
    },
    // Clients use the figures of the last of these events.
    usageEvent: (usage) => endEvent(reason ?? END_TURN, usage),
    cut(usage) {
      const start = hasBegun ? '' : startOf(parsed, model, usage)
      const stops = [...open].map((index) => messageEvent({ type: 'content_block_stop', index }))
      const end = reason ? CUT_STOP : cutEvents(usage)
      return `${start}${stops.join('')}${end}`
    },
  }
}

function startOf(parsed: ParsedRequest, model: Model, usage: Quantities): string {
  const id = `msg_${parsed.at.toString(36)}`
  return messageEvent(messageStart(id, model, { ...messageUsage(usage), output_tokens: 0 }))
}

/** The event that begins a message. No translated vendor reports counts before the end, so `usage` is an estimate. */
export function messageStart(id: string, model: Model, usage: object): MessageEvent {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model: model.id,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  }
  return { type: 'message_start', message }
}

const END_TURN = { stop_reason: 'end_turn', stop_sequence: null }
const AT_LIMIT = { stop_reason: 'max_tokens', stop_sequence: null }

/** The events that say why the message ends, and that it ends. */
export function cutEvents(usage: Quantities): string {
  return endEvent(AT_LIMIT, usage, ENDED_BY_BALANCE) + CUT_STOP
}

function endEvent(delta: object, usage: Quantities, note: object = {}): string {
  return messageEvent({ type: 'message_delta', delta, usage: messageUsage(usage), ...note })
}

export function messageEvent(event: MessageEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
