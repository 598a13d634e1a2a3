// The events of a message as the chunks of a chat completion.
// It must never throw, and never lose or repeat a piece; events and blocks of unknown kinds are passed over.

import type { Ask, Model, Translator } from '../../../contract/family'
import { readErrorShape } from '../../../lib/error-shapes'
import { asObject } from '../../../lib/objects'
import { CHAT_END, type ChatBody } from '../caller-side'
import { chatUsage, completionId, countOf, finishReason, textOrEmpty, thinkingTokens } from './reply'

/** What has come of one candidate. */
interface Candidate {
  index: number
  usage: Record<string, unknown>
  reason: unknown
  begun: boolean
  /** By the index of the block: the place of its tool call, and its arguments as long as no piece of them has come. */
  calls: Map<unknown, { place: number; whole: string | null }>
  places: number
}

export function createChunks(ask: Ask<ChatBody>, model: Model): Translator {
  const showsUsage = ask.body.stream_options?.include_usage === true
  const candidates = Array.from(
    { length: ask.body.n ?? 1 },
    (_, index): Candidate => ({
      index,
      usage: {},
      reason: undefined,
      begun: false,
      calls: new Map(),
      places: 0,
    }),
  )
  let id = completionId({}, ask)
  /** All chunks of an answer have one id: that of the candidate that began first. */
  let named = false
  let failed = false

  function chunk(fields: object): string {
    const head = { id, object: 'chat.completion.chunk', created: Math.floor(ask.at / 1000), model: model.id }
    return `data: ${JSON.stringify({ ...head, ...fields })}\n\n`
  }

  /** The role: once, before all else, also where the event that should have brought it cannot be read. */
  function start(of: Candidate): string {
    if (of.begun) return ''
    of.begun = true
    return choice(of, { role: 'assistant', content: '', refusal: null }, null)
  }

  function delta(of: Candidate, delta: object, finish: string | null = null): string {
    return start(of) + choice(of, delta, finish)
  }

  function choice({ index }: Candidate, delta: object, finish: string | null): string {
    const choices = [{ index, delta, logprobs: null, finish_reason: finish }]
    return chunk({ choices, ...(showsUsage && { usage: null }) })
  }

  function begin(of: Candidate, index: unknown, block: Record<string, unknown>): string {
    if (block.type === 'text') return textOrEmpty(block.text) && delta(of, { content: block.text })
    if (block.type === 'thinking')
      return textOrEmpty(block.thinking) && delta(of, { reasoning_content: block.thinking })
    if (block.type !== 'tool_use') return ''
    const place = of.places++
    // Some give the whole input at once; it counts for nothing where pieces follow.
    of.calls.set(index, { place, whole: JSON.stringify(asObject(block.input)) })
    const called = { name: textOrEmpty(block.name), arguments: '' }
    const call = { index: place, id: textOrEmpty(block.id), type: 'function', function: called }
    return delta(of, { tool_calls: [call] })
  }

  function goOn(of: Candidate, index: unknown, piece: Record<string, unknown>): string {
    if (piece.type === 'text_delta') return textOrEmpty(piece.text) && delta(of, { content: piece.text })
    if (piece.type === 'thinking_delta') {
      return textOrEmpty(piece.thinking) && delta(of, { reasoning_content: piece.thinking })
    }
    const call = of.calls.get(index)
    const json = textOrEmpty(piece.partial_json)
    if (piece.type !== 'input_json_delta' || !call || json === '') return ''
    call.whole = null
    return argumentsOf(of, call.place, json)
  }

  function argumentsOf(of: Candidate, place: number, text: string): string {
    return delta(of, { tool_calls: [{ index: place, function: { arguments: text } }] })
  }

  /** What came without pieces, at least an empty object: clients expect one. */
  function stop(of: Candidate, index: unknown): string {
    const call = of.calls.get(index)
    if (!call || call.whole === null) return ''
    const { place, whole } = call
    call.whole = null
    return argumentsOf(of, place, whole)
  }

  return {
    push(event, candidate) {
      const { type, message, index, content_block: block, delta: piece, usage: figures } = asObject(event)
      const of = candidates[candidate]
      if (failed || !of) return ''
      if (type === 'message_start') {
        const first = asObject(message)
        if (!named) id = completionId(first, ask)
        named = true
        of.usage = asObject(first.usage)
        return start(of)
      }
      if (type === 'content_block_start') return begin(of, index, asObject(block))
      if (type === 'content_block_delta') return goOn(of, index, asObject(piece))
      if (type === 'content_block_stop') return stop(of, index)
      if (type === 'message_delta') {
        of.reason = asObject(piece).stop_reason ?? of.reason
        of.usage = joined(of.usage, figures)
        return ''
      }
      if (type !== 'error') return ''
      failed = true
      const { message: text, type: kind } = readErrorShape(event)
      return `data: ${JSON.stringify({ error: { message: text, type: kind, param: null, code: kind } })}\n\n`
    },
    finish() {
      if (failed) return ''
      const ends = candidates.map((of) => {
        const rest = [...of.calls.keys()].map((index) => stop(of, index)).join('')
        return rest + delta(of, {}, finishReason(of.reason))
      })
      const usage = usageOf(candidates.map((of) => of.usage))
      const last = showsUsage ? chunk({ choices: [], usage }) : ''
      return `${ends.join('')}${last}data: ${CHAT_END}\n\n`
    },
  }
}

/** Figures that a later event does not name, or says nothing of, stay. */
function joined(before: Record<string, unknown>, figures: unknown): Record<string, unknown> {
  const told = Object.entries(asObject(figures)).filter(([, figure]) => figure !== null)
  return { ...before, ...Object.fromEntries(told) }
}

/** All candidates together: each has read the prompt anew. */
function usageOf(usages: readonly Record<string, unknown>[]) {
  const sum = (name: string) => usages.reduce((total, usage) => total + countOf(usage[name]), 0)
  const quantities = {
    input_token: sum('input_tokens'),
    cached_input_token: sum('cache_read_input_tokens'),
    cache_write_token: sum('cache_creation_input_tokens'),
    output_token: sum('output_tokens'),
  }
  return chatUsage(
    quantities,
    usages.map((usage) => thinkingTokens({ usage })),
  )
}
