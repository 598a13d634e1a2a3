// Reads a whole Converse answer. It must never throw on blocks of unknown kinds: these are omitted.

import type { Reading } from '../../../contract/reading'
import { asObject, asText } from '../../../lib/objects'
import type { AnswerEnd, AnswerItem, AnswerStop, AnswerWriter, ThinkingItem } from '../../conversation/answer'
import { readMessage } from '../../messages/caller-side'
import type { ThinkingBlock } from '../../sealed-reasoning'

type Fields = Record<string, unknown>

/** Reads the reply. Throws if the vendor sent no content. */
export function readConverseAnswer(reply: unknown, writer: AnswerWriter): void {
  const { output, stopReason } = asObject(reply)
  const { content } = asObject(asObject(output).message)
  if (!Array.isArray(content)) throw new Error('the vendor sent no content')
  writer.begin('')
  for (const block of content) readBlock(asObject(block), writer)
  writer.end(converseEnd(stopReason))
}

function readBlock(
  { text, toolUse, reasoningContent, citationsContent }: Fields,
  writer: AnswerWriter,
): void {
  if (typeof text === 'string') write(writer, { kind: 'text' }, text)
  else if (toolUse !== undefined) {
    const { toolUseId, name, input } = asObject(toolUse)
    const call = { kind: 'call', id: asText(toolUseId), name: asText(name), form: 'function' } as const
    // A missing input was cut off.
    write(writer, call, (input ?? null) === null ? '' : JSON.stringify(input))
  } else if (reasoningContent !== undefined) {
    const { reasoningText, redactedContent: redacted } = asObject(reasoningContent)
    const { text: thinking, signature } = asObject(reasoningText)
    if (typeof redacted === 'string') think(writer, { redacted })
    else think(writer, { thinking: asText(thinking), signature: asText(signature) })
  } else {
    const { content } = asObject(citationsContent)
    for (const block of Array.isArray(content) ? content : []) {
      readBlock({ text: asObject(block).text }, writer)
    }
  }
}

function write(writer: AnswerWriter, item: AnswerItem, text: string): void {
  writer.open(item)
  writer.add(item, text)
  writer.close(item)
}

/** Writes thinking, if there is any, and keeps its signed part. */
function think(writer: AnswerWriter, block: ThinkingBlock): void {
  const thinking = 'redacted' in block ? '' : block.thinking
  const isKept = 'redacted' in block || block.signature !== ''
  if (thinking === '' && !isKept) return
  const item: ThinkingItem = { kind: 'thinking' }
  writer.open(item)
  writer.add(item, thinking)
  if (isKept) item.kept = { kind: 'messages', blocks: [block] }
  writer.close(item)
}

export function readConverse(reply: unknown): Reading {
  const { output, stopReason, usage, type } = asObject(reply)
  const { content } = asObject(asObject(output).message)
  const message = {
    type: type === 'error' ? 'error' : 'message',
    content: Array.isArray(content) ? content.flatMap((block) => seenBlock(asObject(block))) : undefined,
    stop_reason: stopOf(stopReason) === 'filter' ? 'refusal' : stopReason,
    usage: reportedUsage(usage),
  }
  const reading = readMessage(message, { body: {} } as never)
  return { ...reading, ...(reading.usage && { usage: asReported(reading.usage, usage) }) }
}

/** A block in the form of messages, in which answers are judged. */
function seenBlock({ text, toolUse, reasoningContent, citationsContent }: Fields): Fields[] {
  if (typeof text === 'string') return [{ type: 'text', text }]
  if (toolUse !== undefined) {
    const { name, input } = asObject(toolUse)
    return [{ type: 'tool_use', name: asText(name), input: input ?? {} }]
  }
  if (reasoningContent !== undefined) {
    const { reasoningText, redactedContent: data } = asObject(reasoningContent)
    if (typeof data === 'string') return [{ type: 'redacted_thinking', data }]
    const { text: thinking, signature } = asObject(reasoningText)
    return [{ type: 'thinking', thinking: asText(thinking), signature: asText(signature) }]
  }
  const { content } = asObject(citationsContent)
  return Array.isArray(content) ? content.flatMap((each) => seenBlock({ text: asObject(each).text })) : []
}

/** Figures in the terms of the vendor that reported them. */
export function asReported(
  usage: NonNullable<Reading['usage']>,
  reported: unknown,
): NonNullable<Reading['usage']> {
  return { ...usage, reported }
}

/**
 * Usage in the terms of messages. In both, the input excludes cached tokens:
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

const stops = new Map<unknown, AnswerStop>([
  ['tool_use', 'calls'],
  ['max_tokens', 'limit'],
  ['model_context_window_exceeded', 'limit'],
  ['stop_sequence', 'stop_sequence'],
  ['guardrail_intervened', 'filter'],
  ['content_filtered', 'filter'],
])

/** Why the answer ended, as reported to its caller. */
export function converseEnd(reason: unknown): Partial<AnswerEnd> {
  const isContextFull = reason === 'model_context_window_exceeded'
  return { stop: stopOf(reason), ...(isContextFull && { isContextFull }) }
}

/** Why the answer ended. A malformed end counts as an end. */
export function stopOf(reason: unknown): AnswerStop {
  return stops.get(reason) ?? 'stop'
}
