// Writes an answer as a chat completion of all candidates, whole or as chunks: how it begins, ends, fails or is cut, and its usage.
// It must never write after the end.

import { ENDED_BY_BALANCE } from '../../../contract/failures'
import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import type { ErrorShape } from '../../../lib/error-shapes'
import { CHAT_END, type ChatBody } from '../../chat/caller-side'
import { chatUsage } from '../../chat/usage'
import type { StreamedAnswer, WholeReply } from '../../conversation/bridge'
import { CompletionWriter, type DeltaRow } from './write-events'

type Fields = Readonly<Record<string, unknown>>

/** The id of a completion, derived from the vendor's own: that of the candidate that began first. */
class CompletionId {
  private vendorId: string | undefined

  constructor(private readonly parsed: ParsedRequest) {}

  take(id: string): void {
    this.vendorId ??= id
  }

  /** Once read, it never changes: all chunks of an answer have one id. */
  get text(): string {
    this.vendorId ??= ''
    return `chatcmpl-${this.vendorId.replace(/^(?:msg_|resp_)/, '') || this.parsed.at.toString(36)}`
  }
}

const thinkingIn = (writers: readonly CompletionWriter[]): number =>
  writers.reduce((sum, { ending }) => sum + (ending.thinkingTokens ?? 0), 0)

const candidatesOf = ({ n }: ChatBody): number => n ?? 1

/** Probabilities in the caller's form; null if it did not ask for any. */
const logprobsFor = ({ logprobs }: ChatBody, content: readonly Fields[]) =>
  logprobs === true ? { content, refusal: null } : null

export function wholeCompletion(parsed: ParsedRequest<ChatBody>, model: Model): WholeReply {
  const id = new CompletionId(parsed)
  const messages = Array.from({ length: candidatesOf(parsed.body) }, () => new Message(id))
  const writers = messages.map((message) => new CompletionWriter(parsed, message))
  return {
    writers,
    answer(usage) {
      for (const writer of writers) writer.settle()
      const tier = writers[0]?.ending.serviceTier
      return {
        id: id.text,
        object: 'chat.completion',
        created: Math.floor(parsed.at / 1000),
        model: model.id,
        choices: messages.map((message, index) => ({
          index,
          message: message.whole,
          logprobs: logprobsFor(parsed.body, message.logprobs),
          finish_reason: writers[index]?.finishReason,
        })),
        usage: chatUsage(usage, thinkingIn(writers)),
        // The standard tier has another name in messages.
        ...(tier !== undefined && { service_tier: tier === 'standard' ? 'default' : tier }),
      }
    },
  }
}

/** The message of a candidate, made from its deltas. */
class Message implements DeltaRow {
  readonly logprobs: Fields[] = []
  private readonly texts = { content: '', refusal: '', reasoning_content: '' }
  private readonly annotations: unknown[] = []
  private readonly calls: Record<string, unknown>[] = []

  constructor(private readonly id: CompletionId) {}

  begin(id: string): void {
    this.id.take(id)
  }

  delta(delta: Fields, logprobs: readonly Fields[] = []): void {
    this.logprobs.push(...logprobs)
    for (const [member, value] of Object.entries(delta)) {
      if (member === 'annotations') this.annotations.push(...(value as unknown[]))
      else if (member === 'tool_calls') for (const piece of value as Fields[]) this.addCall(piece)
      else this.texts[member as keyof typeof this.texts] += value as string
    }
  }

  get whole(): object {
    const { texts, annotations, calls } = this
    const { content, refusal, reasoning_content: thinking } = texts
    return {
      role: 'assistant',
      content: content === '' && (calls.length > 0 || refusal !== '') ? null : content,
      refusal: refusal === '' ? null : refusal,
      annotations,
      ...(thinking !== '' && { reasoning_content: thinking }),
      ...(calls.length > 0 && { tool_calls: calls }),
    }
  }

  private addCall({ index, ...piece }: Fields): void {
    const known = this.calls[index as number]
    if (!known) {
      this.calls[index as number] = piece
      return
    }
    for (const [form, members] of Object.entries(piece)) {
      const called = known[form] as Record<string, string>
      for (const [name, text] of Object.entries(members as object)) called[name] += text
    }
  }
}

export function streamedCompletion(parsed: ParsedRequest<ChatBody>, model: Model): StreamedAnswer {
  return new Chunks(parsed, model)
}

class Chunks implements StreamedAnswer {
  readonly writers: readonly CompletionWriter[]
  private readonly begun = new Set<number>()
  private readonly id: CompletionId
  private readonly showsUsage: boolean
  private written = ''
  /** Members of every chunk at the end of a truncated answer. */
  private note: object = {}

  constructor(
    private readonly parsed: ParsedRequest<ChatBody>,
    private readonly model: Model,
  ) {
    this.id = new CompletionId(parsed)
    this.showsUsage = parsed.body.stream_options?.include_usage === true
    this.writers = Array.from({ length: candidatesOf(parsed.body) }, (_, index) => {
      return new CompletionWriter(parsed, {
        begin: (id) => {
          this.id.take(id)
          this.begin(index)
        },
        delta: (delta, logprobs) => this.delta(index, delta, logprobs),
      })
    })
  }

  take(): string {
    const { written } = this
    this.written = ''
    return written
  }

  failWith({ message, type, code }: ErrorShape): void {
    this.written += `data: ${JSON.stringify({ error: { message, type, param: null, code: code ?? type } })}\n\n`
  }

  finish(usage: Quantities): string {
    for (const [index, writer] of this.writers.entries()) {
      writer.settle()
      this.end(index, writer.finishReason)
    }
    return this.close(usage)
  }

  /** Candidates that had already ended keep their own reason. */
  cut(usage: Quantities): string {
    this.note = ENDED_BY_BALANCE
    for (const [index, { ending, finishReason }] of this.writers.entries()) {
      this.end(index, ending.stop === undefined ? 'length' : finishReason)
    }
    return this.close(usage)
  }

  private end(index: number, reason: string): void {
    this.begin(index)
    this.choice(index, {}, reason)
  }

  private close(usage: Quantities): string {
    if (this.showsUsage) this.chunk({ choices: [], usage: chatUsage(usage, thinkingIn(this.writers)) })
    return `${this.take()}data: ${CHAT_END}\n\n`
  }

  /** The chunk with the role: written once, before everything else of a candidate, even if the event that starts it is unreadable. */
  private begin(index: number): void {
    if (this.begun.has(index)) return
    this.begun.add(index)
    this.choice(index, { role: 'assistant', content: '', refusal: null })
  }

  private delta(index: number, delta: Fields, logprobs?: readonly Fields[]): void {
    this.begin(index)
    const isText = 'content' in delta
    this.choice(index, delta, null, isText ? logprobsFor(this.parsed.body, logprobs ?? []) : null)
  }

  private choice(index: number, delta: Fields, finish: string | null = null, logprobs: object | null = null) {
    const choices = [{ index, delta, logprobs, finish_reason: finish }]
    this.chunk({ choices, ...(this.showsUsage && { usage: null }) })
  }

  private chunk(fields: object): void {
    const head = {
      id: this.id.text,
      object: 'chat.completion.chunk',
      created: Math.floor(this.parsed.at / 1000),
      model: this.model.id,
    }
    this.written += `data: ${JSON.stringify({ ...head, ...fields, ...this.note })}\n\n`
  }
}
