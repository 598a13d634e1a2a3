// Writes an answer as a response, whole or as events: how it ends, fails or is cut, and its usage. A whole answer is written as a
// stream whose events are discarded, so that both are equal. It must never write after the end.

import { ENDED_BY_BALANCE } from '../../../contract/failures'
import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import type { StreamedAnswer, WholeReply } from '../../conversation/bridge'
import type { ResponsesBody } from '../../responses/caller-side'
import { asksCompaction, compactionItem } from '../../responses/compaction'
import { type ResponseError, ResponseEvents } from '../../responses/events'
import { type Fields, type ResponseEnd, responseUsage } from '../../responses/response-object'
import { ResponseWriter, type Shortfall } from './write-events'

const NO_SUMMARY = 'the vendor sent no summary'

export function wholeResponse(parsed: ParsedRequest<ResponsesBody>, model: Model): WholeReply {
  const answer = new Answer(parsed, model, true)
  return { writers: answer.writers, answer: (usage) => answer.end(usage) }
}

export function streamedResponse(parsed: ParsedRequest<ResponsesBody>, model: Model): StreamedAnswer {
  return new Answer(parsed, model, false)
}

class Answer implements StreamedAnswer {
  readonly writers: readonly [ResponseWriter]
  /** The events for the caller. The text of a compaction is the summary, which is not shown. */
  private readonly shown: ResponseEvents

  constructor(
    private readonly parsed: ParsedRequest<ResponsesBody>,
    model: Model,
    private readonly isWhole: boolean,
  ) {
    const isCompaction = asksCompaction(parsed.body)
    const writer = new ResponseWriter(parsed, model, isWhole || isCompaction)
    this.writers = [writer]
    this.shown = isCompaction ? new ResponseEvents(parsed, model, () => undefined, isWhole) : writer.events
  }

  take(): string {
    if (!this.shown.hasEnded) this.shown.begin()
    return this.shown.take()
  }

  failWith(error: ResponseError): void {
    // Everything that the vendor sent is in the stored response.
    if (!this.shown.hasEnded) this.writers[0].openUnnamed()
    this.shown.fail(error)
  }

  fail(error: ResponseError): string {
    this.failWith(error)
    return this.shown.take()
  }

  finish(usage: Quantities): string {
    this.end(usage)
    return this.shown.take()
  }

  cut(usage: Quantities): string {
    this.shown.finish({ ...this.endOf(usage, 'max_output_tokens'), note: ENDED_BY_BALANCE })
    return this.shown.take()
  }

  keepAlive(): string {
    this.shown.keepAlive()
    return this.shown.take()
  }

  answer(): object | undefined {
    return this.shown.response
  }

  /** The whole response, with its measured usage. Throws if a complete answer lacks the requested summary. */
  end(usage: Quantities): Fields {
    const { shown, writers } = this
    const [writer] = writers
    shown.begin()
    if (!shown.hasEnded) {
      writer.finish()
      const end = this.endOf(usage, writer.shortfall)
      writer.events.finish(end)
      if (writer.events !== shown) this.showCompaction(end)
    }
    return shown.response ?? {}
  }

  /** Ends a compaction. A truncated summary is not returned: it would replace content that it does not cover. */
  private showCompaction(end: ResponseEnd): void {
    const { writers, shown, parsed } = this
    const { answer } = parsed
    const isDue = end.status === 'completed'
    const item = isDue && answer ? compactionItem(writers[0].events.response?.output, answer.seal) : undefined
    if (item) shown.addSealed(item, 'cmp')
    if (item || !isDue) shown.finish(end)
    else if (this.isWhole) throw new Error(NO_SUMMARY)
    else shown.fail({ code: null, message: `The model failed: ${NO_SUMMARY}.`, type: null, param: null })
  }

  private endOf(usage: Quantities, shortfall: Shortfall): ResponseEnd {
    const { thinkingTokens = 0, serviceTier } = this.writers[0].ending
    return {
      status: shortfall === undefined ? 'completed' : 'incomplete',
      incompleteReason: shortfall,
      usage: responseUsage(usage, thinkingTokens),
      serviceTier,
    }
  }
}
