// The events of a message as the chunks of a chat completion.
// It must never throw, and never lose or repeat a piece; events and blocks of unknown kinds are passed over.

import type { Ask, Model, Translator } from '../family'
import { readErrorShape } from '../lib/error-shapes'
import { CHAT_END, type ChatBody } from './chat-completions'
import { asObject, chatUsage, completionId, finishReason, textOf } from './message-to-chat'

export function createChunks(ask: Ask<ChatBody>, model: Model): Translator {
  const showsUsage = ask.body.stream_options?.include_usage === true
  let id = completionId({})
  let usage: Record<string, unknown> = {}
  let reason: unknown
  let failed = false
  /** By the index of the block: the place of its tool call, and whether it has said anything. */
  const calls = new Map<unknown, { place: number; silent: boolean }>()

  function chunk(fields: object): string {
    const head = { id, object: 'chat.completion.chunk', created: Math.floor(ask.at / 1000), model: model.id }
    return `data: ${JSON.stringify({ ...head, ...fields })}\n\n`
  }

  function delta(delta: object, finish: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }]
    return chunk({ choices, ...(showsUsage && { usage: null }) })
  }

  function begin(index: unknown, block: Record<string, unknown>): string {
    if (block.type === 'text') return textOf(block.text) && delta({ content: block.text })
    if (block.type === 'thinking')
      return textOf(block.thinking) && delta({ reasoning_content: block.thinking })
    if (block.type !== 'tool_use') return ''
    const place = calls.size
    // Some give the whole input at once; it is empty where pieces follow.
    const input = Object.keys(asObject(block.input)).length > 0 ? JSON.stringify(block.input) : ''
    calls.set(index, { place, silent: input === '' })
    const called = { name: block.name, arguments: input }
    return delta({ tool_calls: [{ index: place, id: block.id, type: 'function', function: called }] })
  }

  function goOn(index: unknown, piece: Record<string, unknown>): string {
    if (piece.type === 'text_delta') return textOf(piece.text) && delta({ content: piece.text })
    if (piece.type === 'thinking_delta') {
      return textOf(piece.thinking) && delta({ reasoning_content: piece.thinking })
    }
    const call = calls.get(index)
    const json = textOf(piece.partial_json)
    if (piece.type !== 'input_json_delta' || !call || json === '') return ''
    call.silent = false
    return argumentsOf(call.place, json)
  }

  function argumentsOf(place: number, text: string): string {
    return delta({ tool_calls: [{ index: place, function: { arguments: text } }] })
  }

  /** A call without arguments says nothing here, where clients expect an object. */
  function stop(index: unknown): string {
    const call = calls.get(index)
    if (!call?.silent) return ''
    call.silent = false
    return argumentsOf(call.place, '{}')
  }

  return {
    push(event) {
      const { type, message, index, content_block: block, delta: piece, usage: figures } = asObject(event)
      if (failed) return ''
      if (type === 'message_start') {
        const first = asObject(message)
        id = completionId(first)
        usage = asObject(first.usage)
        return delta({ role: 'assistant', content: '', refusal: null })
      }
      if (type === 'content_block_start') return begin(index, asObject(block))
      if (type === 'content_block_delta') return goOn(index, asObject(piece))
      if (type === 'content_block_stop') return stop(index)
      if (type === 'message_delta') {
        reason = asObject(piece).stop_reason ?? reason
        usage = { ...usage, ...asObject(figures) }
        return ''
      }
      if (type !== 'error') return ''
      failed = true
      const { message: text, type: kind } = readErrorShape(event)
      return `data: ${JSON.stringify({ error: { message: text, type: kind, param: null, code: kind } })}\n\n`
    },
    finish() {
      if (failed) return ''
      const last = showsUsage ? chunk({ choices: [], usage: chatUsage(usage) }) : ''
      return `${delta({}, finishReason(reason))}${last}data: ${CHAT_END}\n\n`
    },
  }
}
