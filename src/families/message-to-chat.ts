// A message as a chat completion: its texts, tool calls, the reason of its end, and what it used.
// Lenient: blocks of kinds that a chat completion has no place for are passed over.

import type { Ask, Model } from '../family'
import type { ChatBody } from './chat-completions'

/** One message for each candidate; several are the answers to calls side by side. */
export function completionOf(messages: readonly unknown[], ask: Ask<ChatBody>, model: Model): unknown {
  return {
    id: completionId(messages[0]),
    object: 'chat.completion',
    created: Math.floor(ask.at / 1000),
    model: model.id,
    choices: messages.map(choiceOf),
    usage: sumOf(messages.map((message) => chatUsage(asObject(asObject(message).usage)))),
  }
}

function choiceOf(message: unknown, index: number): unknown {
  const { content, stop_reason: reason } = asObject(message)
  const blocks = Array.isArray(content) ? content.map(asObject) : []
  const join = (type: string, field: string) =>
    blocks.flatMap((block) => (block.type === type ? [textOf(block[field])] : [])).join('')
  const calls = blocks.filter(({ type }) => type === 'tool_use').map(toolCall)
  const thinking = join('thinking', 'thinking')
  const text = join('text', 'text')
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
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }
}

export function completionId(message: unknown): string {
  return `chatcmpl-${textOf(asObject(message).id).replace(/^msg_/, '') || 'message'}`
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
  return reasons[textOf(reason)] ?? 'stop'
}

export interface ChatUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number; cache_write_tokens: number }
  completion_tokens_details: { reasoning_tokens: number }
}

/** The prompt is all input here: what was read from a cache and written to it stands beside the rest in a message. */
export function chatUsage(usage: Record<string, unknown>): ChatUsage {
  const cached = countOf(usage.cache_read_input_tokens)
  const written = countOf(usage.cache_creation_input_tokens)
  const prompt = countOf(usage.input_tokens) + cached + written
  const completion = countOf(usage.output_tokens)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: {
      reasoning_tokens: countOf(asObject(usage.output_tokens_details).thinking_tokens),
    },
  }
}

function sumOf(usages: ChatUsage[]): ChatUsage {
  const sum = (figure: (usage: ChatUsage) => number) =>
    usages.reduce((total, usage) => total + figure(usage), 0)
  return {
    prompt_tokens: sum((usage) => usage.prompt_tokens),
    completion_tokens: sum((usage) => usage.completion_tokens),
    total_tokens: sum((usage) => usage.total_tokens),
    prompt_tokens_details: {
      cached_tokens: sum((usage) => usage.prompt_tokens_details.cached_tokens),
      cache_write_tokens: sum((usage) => usage.prompt_tokens_details.cache_write_tokens),
    },
    completion_tokens_details: {
      reasoning_tokens: sum((usage) => usage.completion_tokens_details.reasoning_tokens),
    },
  }
}

function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0
}

export function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
