// Translates the events of responses to the chunks of a chat completion. It must never throw, and never lose or repeat a
// piece; events and items of unknown kinds are left out.

import { ENDED_BY_BALANCE } from '../../../contract/failures'
import type { Model, ParsedRequest, Quantities, Translator } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import { CHAT_END, type ChatBody } from '../caller-side'
import { chatUsage } from '../usage'
import {
  annotationOf,
  argumentsOf,
  BETWEEN_THOUGHTS,
  finishOf,
  idOfCompletion,
  listOf,
  textOr,
  tokensOfThinking,
} from './reply'

type Fields = Record<string, unknown>

/** A call of a tool: its place among the calls, and whether anything of its input has come. */
interface Call {
  place: number
  kind: 'function' | 'custom'
  hasInput: boolean
}

/** The state of one candidate. */
interface Candidate {
  index: number
  hasBegun: boolean
  calls: Map<unknown, Call>
  hasThought: boolean
  hasText: boolean
  /** The response at its end. */
  response: Fields
}

export function createChunksOfResponse(parsed: ParsedRequest<ChatBody>, model: Model): Translator {
  return new ResponseChunks(parsed, model)
}

class ResponseChunks implements Translator {
  private readonly showsUsage: boolean
  private readonly showsProbabilities: boolean
  private readonly candidates: readonly Candidate[]
  private id: string
  /** All chunks of an answer have one id: that of the candidate that began first. */
  private isNamed = false
  /** Members of every chunk at the end of an answer that is cut. */
  private note: object = {}

  constructor(
    private readonly parsed: ParsedRequest<ChatBody>,
    private readonly model: Model,
  ) {
    const { body } = parsed
    this.showsUsage = body.stream_options?.include_usage === true
    this.showsProbabilities = body.logprobs === true
    this.candidates = Array.from({ length: body.n ?? 1 }, (_, index) => newCandidate(index))
    this.id = idOfCompletion({}, parsed)
  }

  push(event: object, candidate: number): string {
    const fields = event as Fields
    const of = this.candidates[candidate]
    if (!of) return ''
    const { type, delta, response, item, output_index: place } = fields
    switch (type) {
      case 'response.created':
        return this.name(of, response)
      case 'response.output_text.delta':
        return this.say(of, delta, fields.logprobs)
      case 'response.refusal.delta':
        return textOr(delta) && this.delta(of, { refusal: delta })
      case 'response.reasoning_summary_part.added':
        return of.hasThought ? this.delta(of, { reasoning_content: BETWEEN_THOUGHTS }) : ''
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        of.hasThought ||= textOr(delta) !== ''
        return textOr(delta) && this.delta(of, { reasoning_content: delta })
      case 'response.output_item.added':
        return this.call(of, place, asObject(item))
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return textOr(delta) && this.input(of, place, textOr(delta))
      case 'response.output_item.done':
        return this.done(of, place, asObject(item))
      case 'response.completed':
      case 'response.incomplete':
        of.response = asObject(response)
        return ''
    }
    return ''
  }

  finish(usage: Quantities): string {
    return this.end(usage, (of) => finishOf(of.response, of.calls.size))
  }

  cut(usage: Quantities): string {
    this.note = ENDED_BY_BALANCE
    return this.end(usage, () => 'length')
  }

  private end(usage: Quantities, finish: (of: Candidate) => string): string {
    const ends = this.candidates.map((of) => this.start(of) + this.choice(of, {}, finish(of)))
    const thinking = this.candidates.reduce((sum, { response }) => sum + tokensOfThinking(response), 0)
    const last = this.showsUsage ? this.chunk({ choices: [], usage: chatUsage(usage, thinking) }) : ''
    return `${ends.join('')}${last}data: ${CHAT_END}\n\n`
  }

  private name(of: Candidate, response: unknown): string {
    if (!this.isNamed) this.id = idOfCompletion(response, this.parsed)
    this.isNamed = true
    return this.start(of)
  }

  private say(of: Candidate, delta: unknown, logprobs: unknown): string {
    if (textOr(delta) === '') return ''
    of.hasText = true
    const probabilities = this.showsProbabilities ? { content: listOf(logprobs), refusal: null } : null
    return this.start(of) + this.choice(of, { content: delta }, null, probabilities)
  }

  /** The first chunk of a call. */
  private call(of: Candidate, at: unknown, item: Fields): string {
    const { type, call_id: id, name } = item
    if ((type !== 'function_call' && type !== 'custom_tool_call') || of.calls.has(at)) return ''
    const kind = type === 'function_call' ? 'function' : 'custom'
    const place = of.calls.size
    of.calls.set(at, { place, kind, hasInput: false })
    const empty = kind === 'function' ? { arguments: '' } : { input: '' }
    const call = { index: place, id: textOr(id), type: kind, [kind]: { name: textOr(name), ...empty } }
    return this.delta(of, { tool_calls: [call] })
  }

  private input(of: Candidate, at: unknown, piece: string): string {
    const call = of.calls.get(at)
    if (!call) return ''
    call.hasInput = true
    const { place, kind } = call
    const input = kind === 'function' ? { arguments: piece } : { input: piece }
    return this.delta(of, { tool_calls: [{ index: place, [kind]: input }] })
  }

  /** The rest of an item that came without pieces. */
  private done(of: Candidate, at: unknown, item: Fields): string {
    if (item.type === 'message') return this.whole(of, item)
    const begun = this.call(of, at, item)
    const call = of.calls.get(at)
    if (!call || call.hasInput) return begun
    const input = call.kind === 'function' ? argumentsOf(item.arguments) : textOr(item.input)
    return begun + (input === '' ? '' : this.input(of, at, input))
  }

  private whole(of: Candidate, { content }: Fields): string {
    const parts = listOf(content)
    const text = of.hasText
      ? ''
      : parts.map(({ type, text }) => (type === 'output_text' ? textOr(text) : '')).join('')
    const annotations = parts.flatMap((part) => listOf(part.annotations).flatMap(annotationOf))
    const sources = annotations.length > 0 ? this.delta(of, { annotations }) : ''
    const said =
      text === ''
        ? ''
        : this.say(
            of,
            text,
            parts.flatMap(({ logprobs }) => listOf(logprobs)),
          )
    of.hasText = false
    return said + sources
  }

  private delta(of: Candidate, delta: object): string {
    return this.start(of) + this.choice(of, delta, null)
  }

  /** The chunk with the role: once, before everything else, even if the event that brings it is unreadable. */
  private start(of: Candidate): string {
    if (of.hasBegun) return ''
    of.hasBegun = true
    return this.choice(of, { role: 'assistant', content: '', refusal: null }, null)
  }

  private choice({ index }: Candidate, delta: object, finish: string | null, logprobs: object | null = null) {
    const choices = [{ index, delta, logprobs, finish_reason: finish }]
    return this.chunk({ choices, ...(this.showsUsage && { usage: null }) })
  }

  private chunk(fields: object): string {
    const head = {
      id: this.id,
      object: 'chat.completion.chunk',
      created: Math.floor(this.parsed.at / 1000),
      model: this.model.id,
    }
    return `data: ${JSON.stringify({ ...head, ...fields, ...this.note })}\n\n`
  }
}

function newCandidate(index: number): Candidate {
  return {
    index,
    hasBegun: false,
    calls: new Map(),
    hasThought: false,
    hasText: false,
    response: {},
  }
}
