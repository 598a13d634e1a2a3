// Follows a stream of chunks that passes unchanged, to end it where the account can pay for no more: with the reason that
// a vendor gives at the limit of an answer. It must never throw, whatever a vendor sends.

import type { Model, ParsedRequest, Quantities, StreamFollower } from '../../contract/family'
import { isObject } from '../../lib/objects'
import { CHAT_END, type ChatBody } from './caller-side'
import { chatUsage } from './usage'

export function followChat(parsed: ParsedRequest<ChatBody>, model: Model): StreamFollower {
  return new ChatFollower(parsed, model)
}

class ChatFollower implements StreamFollower {
  private readonly parsed: ParsedRequest<ChatBody>
  private readonly model: Model
  private readonly showsUsage: boolean
  private id: string
  private created: number
  private readonly begun = new Set<number>()
  private readonly ended = new Set<number>()

  constructor(parsed: ParsedRequest<ChatBody>, model: Model) {
    this.parsed = parsed
    this.model = model
    this.showsUsage = parsed.body.stream_options?.include_usage === true
    this.id = `chatcmpl-${parsed.at.toString(36)}`
    this.created = Math.floor(parsed.at / 1000)
  }

  push(event: object): void {
    const { id, created, choices } = event as { id?: unknown; created?: unknown; choices?: unknown }
    if (typeof id === 'string' && id !== '') this.id = id
    if (Number.isSafeInteger(created)) this.created = created as number
    for (const choice of Array.isArray(choices) ? choices.filter(isObject) : []) {
      const index = Number.isSafeInteger(choice.index) ? (choice.index as number) : 0
      this.begun.add(index)
      if (choice.finish_reason) this.ended.add(index)
    }
  }

  cut(usage: Quantities): string {
    const { body } = this.parsed
    const ends = Array.from({ length: body.n ?? 1 }, (_, index) => this.end(index))
    const last = this.showsUsage ? this.chunk({ choices: [], usage: chatUsage(usage) }) : ''
    return `${ends.join('')}${last}data: ${CHAT_END}\n\n`
  }

  private end(index: number): string {
    if (this.ended.has(index)) return ''
    const delta = this.begun.has(index) ? {} : { role: 'assistant', content: '' }
    const choices = [{ index, delta, logprobs: null, finish_reason: 'length' }]
    return this.chunk({ choices, ...(this.showsUsage && { usage: null }) })
  }

  private chunk(fields: object): string {
    const head = { id: this.id, object: 'chat.completion.chunk', created: this.created, model: this.model.id }
    return `data: ${JSON.stringify({ ...head, ...fields })}\n\n`
  }
}
