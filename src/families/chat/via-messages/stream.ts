// Translates the events of a message to the chunks of a chat completion. It must never throw, and never lose or repeat
// a piece; events and blocks of unknown kinds are left out.

import { ENDED_BY_BALANCE } from '../../../contract/failures'
import type { Model, ParsedRequest, Quantities, Translator } from '../../../contract/family'
import { readErrorShape } from '../../../lib/error-shapes'
import { asObject } from '../../../lib/objects'
import { CHAT_END, type ChatBody } from '../caller-side'
import { chatUsage } from '../usage'
import { completionId, finishReason, sumOf, textOrEmpty, thinkingTokens } from './reply'

/** The state of one candidate. */
interface Candidate {
  index: number
  thinkingTokens: number
  reason: unknown
  begun: boolean
  /**
   * Tool calls by the index of their block: the position of the call, and its arguments until pieces of them arrive.
   */
  calls: Map<unknown, { place: number; whole: string | null }>
  places: number
}

export function createChunks(parsed: ParsedRequest<ChatBody>, model: Model): Translator {
  return new Chunks(parsed, model)
}

class Chunks implements Translator {
  private readonly parsed: ParsedRequest<ChatBody>
  private readonly model: Model
  private readonly showsUsage: boolean
  private readonly candidates: readonly Candidate[]
  private id: string
  /** All chunks of an answer have one id: that of the candidate that began first. */
  private isNamed = false
  /** Members of every chunk at the end of an answer that is cut. */
  private note: object = {}
  private hasFailed = false

  constructor(parsed: ParsedRequest<ChatBody>, model: Model) {
    this.parsed = parsed
    this.model = model
    this.showsUsage = parsed.body.stream_options?.include_usage === true
    this.candidates = Array.from({ length: parsed.body.n ?? 1 }, (_, index) => newCandidate(index))
    this.id = completionId({}, parsed)
  }

  push(event: object, candidate: number): string {
    const { type, message, index, content_block: block, delta: piece } = asObject(event)
    const of = this.candidates[candidate]
    if (this.hasFailed || !of) return ''
    switch (type) {
      case 'message_start':
        return this.name(of, asObject(message))
      case 'content_block_start':
        return this.begin(of, index, asObject(block))
      case 'content_block_delta':
        return this.goOn(of, index, asObject(piece))
      case 'content_block_stop':
        return this.stop(of, index)
      case 'message_delta':
        of.reason = asObject(piece).stop_reason ?? of.reason
        of.thinkingTokens = thinkingTokens(event) || of.thinkingTokens
        return ''
      case 'error':
        this.hasFailed = true
        return errorChunk(event)
      default:
        return ''
    }
  }

  finish(usage: Quantities): string {
    return this.end(usage, finishReason)
  }

  cut(usage: Quantities): string {
    this.note = ENDED_BY_BALANCE
    return this.end(usage, (reason) => finishReason(reason ?? 'max_tokens'))
  }

  private end(paid: Quantities, finish: (reason: unknown) => string): string {
    if (this.hasFailed) return ''
    const usage = chatUsage(paid, sumOf(this.candidates.map((of) => of.thinkingTokens)))
    const ends = this.candidates.map((of) => {
      const rest = [...of.calls.keys()].map((index) => this.stop(of, index)).join('')
      return rest + this.delta(of, {}, finish(of.reason))
    })
    const last = this.showsUsage ? this.chunk({ choices: [], usage }) : ''
    return `${ends.join('')}${last}data: ${CHAT_END}\n\n`
  }

  private name(of: Candidate, message: Record<string, unknown>): string {
    if (!this.isNamed) this.id = completionId(message, this.parsed)
    this.isNamed = true
    return this.start(of)
  }

  private begin(of: Candidate, index: unknown, block: Record<string, unknown>): string {
    if (block.type === 'text') return textOrEmpty(block.text) && this.delta(of, { content: block.text })
    if (block.type === 'thinking')
      return textOrEmpty(block.thinking) && this.delta(of, { reasoning_content: block.thinking })
    if (block.type !== 'tool_use') return ''
    const place = of.places++
    // Some vendors send the whole input at once; pieces that follow replace it.
    of.calls.set(index, { place, whole: JSON.stringify(asObject(block.input)) })
    const called = { name: textOrEmpty(block.name), arguments: '' }
    const call = { index: place, id: textOrEmpty(block.id), type: 'function', function: called }
    return this.delta(of, { tool_calls: [call] })
  }

  private goOn(of: Candidate, index: unknown, piece: Record<string, unknown>): string {
    if (piece.type === 'text_delta') return textOrEmpty(piece.text) && this.delta(of, { content: piece.text })
    if (piece.type === 'thinking_delta') {
      return textOrEmpty(piece.thinking) && this.delta(of, { reasoning_content: piece.thinking })
    }
    const call = of.calls.get(index)
    const json = textOrEmpty(piece.partial_json)
    if (piece.type !== 'input_json_delta' || !call || json === '') return ''
    call.whole = null
    return this.argumentsOf(of, call.place, json)
  }

  /** The chunk with a whole input that came without pieces, or an empty object: clients expect one. */
  private stop(of: Candidate, index: unknown): string {
    const call = of.calls.get(index)
    if (!call || call.whole === null) return ''
    const { place, whole } = call
    call.whole = null
    return this.argumentsOf(of, place, whole)
  }

  private argumentsOf(of: Candidate, place: number, text: string): string {
    return this.delta(of, { tool_calls: [{ index: place, function: { arguments: text } }] })
  }

  private delta(of: Candidate, delta: object, finish: string | null = null): string {
    return this.start(of) + this.choice(of, delta, finish)
  }

  /** The chunk with the role: once, before everything else, even if the event that brings it is unreadable. */
  private start(of: Candidate): string {
    if (of.begun) return ''
    of.begun = true
    return this.choice(of, { role: 'assistant', content: '', refusal: null }, null)
  }

  private choice({ index }: Candidate, delta: object, finish: string | null): string {
    const choices = [{ index, delta, logprobs: null, finish_reason: finish }]
    return this.chunk({ choices, ...(this.showsUsage && { usage: null }) })
  }

  private chunk(fields: object): string {
    const { id, parsed, model } = this
    const head = {
      id,
      object: 'chat.completion.chunk',
      created: Math.floor(parsed.at / 1000),
      model: model.id,
    }
    return `data: ${JSON.stringify({ ...head, ...fields, ...this.note })}\n\n`
  }
}

function newCandidate(index: number): Candidate {
  return { index, thinkingTokens: 0, reason: undefined, begun: false, calls: new Map(), places: 0 }
}

function errorChunk(event: object): string {
  const { message, type } = readErrorShape(event)
  return `data: ${JSON.stringify({ error: { message, type, param: null, code: type } })}\n\n`
}
