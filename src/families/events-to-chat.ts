// The events of a message as the chunks of a chat completion.
// It must never throw, and never lose or repeat a piece; events and blocks of unknown kinds are passed over.

import type { Ask, Model, Translator } from '../family'
import { readErrorShape } from '../lib/error-shapes'
import { asObject } from '../lib/objects'
import { CHAT_END, type ChatBody } from './chat-completions'
import { chatUsage, completionId, countOf, finishReason, textOf, thinkingTokens } from './message-to-chat'

export function createChunks(ask: Ask<ChatBody>, model: Model): Translator {
  const showsUsage = ask.body.stream_options?.include_usage === true
  let id = completionId({}, ask)
  let usage: Record<string, unknown> = {}
  let reason: unknown
  let begun = false
  let failed = false
  /** By the index of the block: the place of its tool call, and its arguments as long as no piece of them has come. */
  const calls = new Map<unknown, { place: number; whole: string | null }>()
  let places = 0

  function chunk(fields: object): string {
    const head = { id, object: 'chat.completion.chunk', created: Math.floor(ask.at / 1000), model: model.id }
    return `data: ${JSON.stringify({ ...head, ...fields })}\n\n`
  }

  /** The role: once, before all else, also where the event that should have brought it cannot be read. */
  function start(): string {
    if (begun) return ''
    begun = true
    return choice({ role: 'assistant', content: '', refusal: null }, null)
  }

  function delta(delta: object, finish: string | null = null): string {
    return start() + choice(delta, finish)
  }

  function choice(delta: object, finish: string | null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
    return chunk({ choices, ...(showsUsage && { usage: null }) })
  }

  function begin(index: unknown, block: Record<string, unknown>): string {
    if (block.type === 'text') return textOf(block.text) && delta({ content: block.text })
    if (block.type === 'thinking')
      return textOf(block.thinking) && delta({ reasoning_content: block.thinking })
    if (block.type !== 'tool_use') return ''
    const place = places++
    // Some give the whole input at once; it counts for nothing where pieces follow.
    calls.set(index, { place, whole: JSON.stringify(asObject(block.input)) })
    const called = { name: textOf(block.name), arguments: '' }
    return delta({ tool_calls: [{ index: place, id: textOf(block.id), type: 'function', function: called }] })
  }

  function goOn(index: unknown, piece: Record<string, unknown>): string {
    if (piece.type === 'text_delta') return textOf(piece.text) && delta({ content: piece.text })
    if (piece.type === 'thinking_delta') {
      return textOf(piece.thinking) && delta({ reasoning_content: piece.thinking })
    }
    const call = calls.get(index)
    const json = textOf(piece.partial_json)
    if (piece.type !== 'input_json_delta' || !call || json === '') return ''
    call.whole = null
    return argumentsOf(call.place, json)
  }

  function argumentsOf(place: number, text: string): string {
    return delta({ tool_calls: [{ index: place, function: { arguments: text } }] })
  }

  /** What came without pieces, at least an empty object: clients expect one. */
  function stop(index: unknown): string {
    const call = calls.get(index)
    if (!call || call.whole === null) return ''
    const { place, whole } = call
    call.whole = null
    return argumentsOf(place, whole)
  }

  return {
    push(event) {
      const { type, message, index, content_block: block, delta: piece, usage: figures } = asObject(event)
      if (failed) return ''
      if (type === 'message_start') {
        const first = asObject(message)
        id = completionId(first, ask)
        usage = asObject(first.usage)
        return start()
      }
      if (type === 'content_block_start') return begin(index, asObject(block))
      if (type === 'content_block_delta') return goOn(index, asObject(piece))
      if (type === 'content_block_stop') return stop(index)
      if (type === 'message_delta') {
        reason = asObject(piece).stop_reason ?? reason
        usage = joined(usage, figures)
        return ''
      }
      if (type !== 'error') return ''
      failed = true
      const { message: text, type: kind } = readErrorShape(event)
      return `data: ${JSON.stringify({ error: { message: text, type: kind, param: null, code: kind } })}\n\n`
    },
    finish() {
      if (failed) return ''
      const rest = [...calls.keys()].map(stop).join('')
      const last = showsUsage ? chunk({ choices: [], usage: usageOf(usage) }) : ''
      return `${rest}${delta({}, finishReason(reason))}${last}data: ${CHAT_END}\n\n`
    },
  }
}

/** Figures that a later event does not name, or says nothing of, stay. */
function joined(before: Record<string, unknown>, figures: unknown): Record<string, unknown> {
  const told = Object.entries(asObject(figures)).filter(([, figure]) => figure !== null)
  return { ...before, ...Object.fromEntries(told) }
}

function usageOf(usage: Record<string, unknown>) {
  const quantities = {
    input_token: countOf(usage.input_tokens),
    cached_input_token: countOf(usage.cache_read_input_tokens),
    cache_write_token: countOf(usage.cache_creation_input_tokens),
    output_token: countOf(usage.output_tokens),
  }
  return chatUsage(quantities, [thinkingTokens({ usage })])
}
