// Translates an answer of Converse to a message: its blocks, stop reason and usage. It must never throw on blocks of kinds that a
// message has no place for: these are left out.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import type { Reading } from '../../../contract/reading'
import { asObject } from '../../../lib/objects'
import { type MessagesBody, readMessage } from '../caller-side'
import { messageUsage } from '../usage'

type Fields = Record<string, unknown>

/** The message in an answer, with the vendor's figures; its content is undefined if the vendor sent none. */
export function conversed(reply: unknown): Fields {
  const { output, stopReason, usage, ...rest } = asObject(reply)
  const { content } = asObject(asObject(output).message)
  return {
    type: rest.type === 'error' ? 'error' : 'message',
    role: 'assistant',
    content: Array.isArray(content) ? content.flatMap((block) => blockIn(asObject(block))) : undefined,
    stop_reason: stopReasonOf(stopReason),
    stop_sequence: null,
    usage: reportedUsage(usage),
  }
}

/** The whole message; `usage` is its measured usage. Throws if the vendor sent none. */
export function messageOfConverse(
  reply: unknown,
  parsed: ParsedRequest<MessagesBody>,
  model: Model,
  usage: Quantities,
): unknown {
  const { content, ...message } = conversed(reply)
  if (content === undefined) throw new Error('the vendor sent no content')
  const id = `msg_${parsed.at.toString(36)}`
  return { id, ...message, model: model.id, content, usage: messageUsage(usage) }
}

export function readConverse(reply: unknown, parsed: ParsedRequest<{ max_tokens?: number | null }>): Reading {
  const reading = readMessage(conversed(reply), parsed)
  return { ...reading, ...(reading.usage && { usage: asReported(reading.usage, asObject(reply).usage) }) }
}

/** Figures with the words of the vendor that they were read from. */
export function asReported(
  usage: NonNullable<Reading['usage']>,
  reported: unknown,
): NonNullable<Reading['usage']> {
  return { ...usage, reported }
}

function blockIn({ text, toolUse, reasoningContent, citationsContent }: Fields): Fields[] {
  if (typeof text === 'string') return [{ type: 'text', text }]
  if (toolUse !== undefined) {
    const { toolUseId: id, name, input } = asObject(toolUse)
    return [{ type: 'tool_use', id: textOr(id), name: textOr(name), input: input ?? {} }]
  }
  if (reasoningContent !== undefined) {
    const { reasoningText, redactedContent: data } = asObject(reasoningContent)
    if (typeof data === 'string') return [{ type: 'redacted_thinking', data }]
    const { text: thinking, signature } = asObject(reasoningText)
    return [{ type: 'thinking', thinking: textOr(thinking), signature: textOr(signature) }]
  }
  const { content } = asObject(citationsContent)
  return Array.isArray(content) ? content.flatMap((block) => blockIn({ text: asObject(block).text })) : []
}

/**
 * Usage in the terms of messages. In both, tokens of the cache are no part of the input:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html.
 */
export function reportedUsage(usage: unknown): Fields | undefined {
  if (usage === undefined || usage === null) return undefined
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheWriteInputTokens, cacheDetails } =
    asObject(usage)
  const details = Array.isArray(cacheDetails) ? cacheDetails.map(asObject) : []
  const long = details.find(({ ttl }) => ttl === '1h')
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_input_tokens: cacheReadInputTokens,
    cache_creation_input_tokens: cacheWriteInputTokens,
    ...(long && { cache_creation: { ephemeral_1h_input_tokens: long.inputTokens } }),
  }
}

/** Reasons that messages have by the same names. */
const SAME = new Set<unknown>([
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'model_context_window_exceeded',
])
const REFUSALS = new Set<unknown>(['guardrail_intervened', 'content_filtered'])

/** The reason in the terms of messages: an intervention of a guardrail is a refusal, a malformed end is an end. */
export function stopReasonOf(reason: unknown): string {
  if (REFUSALS.has(reason)) return 'refusal'
  return SAME.has(reason) ? String(reason) : 'end_turn'
}

function textOr(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
