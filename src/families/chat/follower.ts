// Follows a stream of chunks that passes unchanged, to end it when the account cannot pay for more, with the reason that a vendor
// gives at the token limit. It must never throw, whatever a vendor sends.

import { ENDED_BY_BALANCE } from '../../contract/failures'
import type { Model, ParsedRequest, Quantities, StreamFollower } from '../../contract/family'
import { isObject } from '../../lib/objects'
import { CHAT_END, type ChatBody } from './caller-side'
import { chatUsage, withChatUsage } from './usage'

/** The form of the chunks of a stream. */
interface ChunkForm {
  object: string
  idPrefix: string
  candidates: number
  /** The members of a choice that has no more text. */
  lastPiece(hasBegun: boolean): object
}

export function followChat(parsed: ParsedRequest<ChatBody>, model: Model): StreamFollower {
  return new ChunkFollower(parsed, model, {
    object: 'chat.completion.chunk',
    idPrefix: 'chatcmpl',
    candidates: parsed.body.n ?? 1,
    lastPiece: (hasBegun) => ({ delta: hasBegun ? {} : { role: 'assistant', content: '' } }),
  })
}

export class ChunkFollower implements StreamFollower {
  private readonly showsUsage: boolean
  private id: string
  private created: number
  private readonly begun = new Set<number>()
  private readonly ended = new Set<number>()

  constructor(
    parsed: ParsedRequest<Pick<ChatBody, 'stream_options'>>,
    private readonly model: Model,
    private readonly form: ChunkForm,
  ) {
    this.showsUsage = parsed.body.stream_options?.include_usage === true
    this.id = `${form.idPrefix}-${parsed.at.toString(36)}`
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

  usageEvent(usage: Quantities): string {
    return this.showsUsage ? this.chunk({ choices: [], usage: chatUsage(usage) }) : ''
  }

  withUsage(event: object, figures: Quantities | undefined): object {
    return withChatUsage(event, figures)
  }

  cut(usage: Quantities): string {
    const ends = Array.from({ length: this.form.candidates }, (_, index) => this.end(index))
    const last = this.showsUsage
      ? this.chunk({ choices: [], usage: chatUsage(usage), ...ENDED_BY_BALANCE })
      : ''
    return `${ends.join('')}${last}data: ${CHAT_END}\n\n`
  }

  private end(index: number): string {
    if (this.ended.has(index)) return ''
    const last = this.form.lastPiece(this.begun.has(index))
    const choices = [{ index, ...last, logprobs: null, finish_reason: 'length' }]
    return this.chunk({ choices, ...(this.showsUsage && { usage: null }), ...ENDED_BY_BALANCE })
  }

  private chunk(fields: object): string {
    const { id, form, created, model } = this
    const head = { id, object: form.object, created, model: model.id }
    return `data: ${JSON.stringify({ ...head, ...fields })}\n\n`
  }
}
