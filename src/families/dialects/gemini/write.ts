// Writes an answer as Google's, whole or as events of its stream: how it ends, fails or is cut, and its usage. It must never write
// after a failure.

import { ENDED_BY_BALANCE } from '../../../contract/failures'
import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { inputTokensOf, outputTokensOf } from '../../../contract/units'
import type { ErrorShape } from '../../../lib/error-shapes'
import { asObject } from '../../../lib/objects'
import type { StreamedAnswer, WholeReply } from '../../conversation/bridge'
import { type GeminiBody, memberOf } from './body'
import { candidatesOf } from './read'
import { CandidateWriter } from './write-events'

type Fields = Record<string, unknown>

export function wholeGemini(parsed: ParsedRequest<GeminiBody>, model: Model): WholeReply {
  const parts: Fields[][] = []
  const writers = indexes(parsed.body).map((index) => {
    const own: Fields[] = []
    parts[index] = own
    return new CandidateWriter(parsed, model, (part) => addPart(own, part))
  })
  return {
    writers,
    answer(usage) {
      for (const writer of writers) writer.finish()
      const candidates = writers.map((writer, index) => ({
        content: { parts: parts[index], role: 'model' },
        finishReason: writer.finishReason,
        index,
        ...logprobsOf(writer),
      }))
      return {
        candidates,
        usageMetadata: usageInContents(usage, thinkingIn(writers)),
        ...names(writers, parsed, model),
      }
    },
  }
}

/** Pieces of a text are one part, unless a signature is between them. */
function addPart(parts: Fields[], part: Fields): void {
  const last = parts.at(-1)
  const isSame =
    last !== undefined &&
    typeof last.text === 'string' &&
    typeof part.text === 'string' &&
    last.thought === part.thought &&
    part.thoughtSignature === undefined
  if (isSame) last.text = `${last.text}${part.text}`
  else parts.push({ ...part })
}

export function streamedGemini(parsed: ParsedRequest<GeminiBody>, model: Model): StreamedAnswer {
  return new GeminiEvents(parsed, model)
}

class GeminiEvents implements StreamedAnswer {
  readonly writers: readonly CandidateWriter[]
  private events = ''

  constructor(
    private readonly parsed: ParsedRequest<GeminiBody>,
    private readonly model: Model,
  ) {
    this.writers = indexes(parsed.body).map(
      (index) =>
        new CandidateWriter(parsed, model, (part) => {
          this.write({ candidates: [{ content: { parts: [part], role: 'model' }, index }] })
        }),
    )
  }

  take(): string {
    const { events } = this
    this.events = ''
    return events
  }

  failWith({ message, code, type }: ErrorShape): void {
    const status = [code, type].find((word) => word !== null && /^[A-Z_]+$/.test(word)) ?? 'INTERNAL'
    this.events += eventOf({ error: { code: 500, message, status } })
  }

  finish(paid: Quantities): string {
    return this.end(paid, ({ finishReason }) => finishReason, {})
  }

  cut(paid: Quantities): string {
    return this.end(paid, () => 'MAX_TOKENS', ENDED_BY_BALANCE)
  }

  /** The event that ends every candidate, with the figures. */
  private end(paid: Quantities, reasonOf: (writer: CandidateWriter) => string, note: object): string {
    for (const writer of this.writers) writer.finish()
    const candidates = this.writers.map((writer, index) => ({
      content: { parts: [{ text: '' }], role: 'model' },
      finishReason: reasonOf(writer),
      index,
      ...logprobsOf(writer),
    }))
    this.write({ candidates, usageMetadata: usageInContents(paid, thinkingIn(this.writers)), ...note })
    return this.take()
  }

  private write(event: Fields): void {
    this.events += eventOf({ ...event, ...names(this.writers, this.parsed, this.model) })
  }
}

/** An event of a stream. */
export function eventOf(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** The candidates of a request, by their index. */
function indexes(body: GeminiBody): number[] {
  return Array.from(
    { length: candidatesOf(asObject(memberOf(body, 'generationConfig'))) },
    (_, index) => index,
  )
}

/** The members that identify an answer: all of it has the id of the candidate that began first. */
function names(writers: readonly CandidateWriter[], { at }: ParsedRequest, model: Model) {
  const id = writers.find(({ vendorId }) => vendorId !== '')?.vendorId
  return { modelVersion: model.id, responseId: id ?? at.toString(36) }
}

function thinkingIn(writers: readonly CandidateWriter[]): number {
  return writers.reduce((sum, { ending }) => sum + (ending.thinkingTokens ?? 0), 0)
}

/** The probabilities of a candidate's tokens, if they were requested. */
function logprobsOf({ logprobs }: CandidateWriter): Fields {
  if (logprobs.length === 0) return {}
  const tokenOf = ({ token, logprob }: Fields) => ({ token, logProbability: logprob })
  return {
    logprobsResult: {
      chosenCandidates: logprobs.map(tokenOf),
      topCandidates: logprobs.map(({ top_logprobs: top }) => ({
        candidates: (Array.isArray(top) ? top : []).map((each) => tokenOf(asObject(each))),
      })),
    },
  }
}

/** The end of an answer that is cut because the account cannot pay for more. */
export function cutGemini(paid: Quantities, thinkingTokens: number): object {
  return {
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'MAX_TOKENS', index: 0 }],
    usageMetadata: usageInContents(paid, thinkingTokens),
    ...ENDED_BY_BALANCE,
  }
}

/** Usage in Google's terms: the prompt includes cached tokens, and the candidates exclude thinking. */
export function usageInContents(usage: Quantities, thinkingTokens: number): object {
  const prompt = inputTokensOf(usage)
  const output = outputTokensOf(usage)
  const thoughts = Math.min(thinkingTokens, output)
  const cached = (usage.cached_input_token ?? 0) + (usage.cached_input_audio_token ?? 0)
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: output - thoughts,
    totalTokenCount: prompt + output,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    ...(cached > 0 && { cachedContentTokenCount: cached }),
  }
}
