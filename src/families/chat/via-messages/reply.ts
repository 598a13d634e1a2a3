// Translates a message to a chat completion: its texts, tool calls, end reason and usage. It must never throw on blocks
// of kinds that a chat completion has no place for: these are left out.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import type { ChatBody } from '../caller-side'
import { chatUsage } from '../usage'

/**
 * One completion of several messages, one for each candidate; `usage` is their measured usage. Throws if the vendor
 * sent none.
 */
export function completionOf(
  messages: readonly unknown[],
  parsed: ParsedRequest<ChatBody>,
  model: Model,
  usage: Quantities,
): unknown {
  return {
    id: completionId(messages[0], parsed),
    object: 'chat.completion',
    created: Math.floor(parsed.at / 1000),
    model: model.id,
    choices: messages.map(choiceOf),
    usage: chatUsage(usage, sumOf(messages.map(thinkingTokens))),
  }
}

function choiceOf(message: unknown, index: number): unknown {
  const { content, stop_reason: reason } = asObject(message)
  if (!Array.isArray(content)) throw new Error('the vendor sent no content')
  const blocks = content.map(asObject)
  const join = (type: string) =>
    blocks.flatMap((block) => (block.type === type ? [textOrEmpty(block[type])] : [])).join('')
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCall)
  const thinking = join('thinking')
  const text = join('text')
  return {
    index,
    message: {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      refusal: null,
      ...(thinking !== '' && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
    logprobs: null,
    finish_reason: finishReason(reason),
  }
}

function toolCall({ id, name, input }: Record<string, unknown>): unknown {
  const called = { name: textOrEmpty(name), arguments: JSON.stringify(input ?? {}) }
  return { id: textOrEmpty(id), type: 'function', function: called }
}

/** The vendor's own id, in the form of a completion's. */
export function completionId(message: unknown, parsed: ParsedRequest): string {
  return `chatcmpl-${textOrEmpty(asObject(message).id).replace(/^msg_/, '') || parsed.at.toString(36)}`
}

const reasons: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

export function finishReason(reason: unknown): string {
  return reasons[textOrEmpty(reason)] ?? 'stop'
}

export function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Thinking tokens in the output of a message, or of an event, if the vendor reports them. */
export function thinkingTokens(message: unknown): number {
  return countOf(asObject(asObject(asObject(message).usage).output_tokens_details).thinking_tokens)
}

export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0
}

export function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
