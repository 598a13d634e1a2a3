// The half of a translation to the events of a response that does not depend on the vendor's dialect: how an answer
// ends, fails or is cut, and what it has used. It must never throw, and never write after the end.

import { ENDED_BY_BALANCE } from '../../contract/failures'
import type { Model, ParsedRequest, Quantities, Translator } from '../../contract/family'
import { hasFailed, type Reading } from '../../contract/reading'
import { readErrorShape } from '../../lib/error-shapes'
import type { GatewayError } from '../../lib/errors'
import type { ResponsesBody } from './caller-side'
import { asksCompaction, compactionItem } from './compaction'
import { ResponseEvents } from './events'
import { type Fields, type ResponseEnd, responseUsage } from './response-object'
import { flatToolsOf, type ToolOrigin } from './tools'

/** Why an answer ended, if it is not whole. */
export type Shortfall = 'max_output_tokens' | 'content_filter' | undefined

const NO_SUMMARY = 'the vendor sent no summary'

export abstract class ResponseTranslator implements Translator {
  /** The answer of the model; of a compaction, the summary, which is not shown. */
  protected readonly events: ResponseEvents
  private readonly shown: ResponseEvents
  protected reasoningTokens = 0
  protected serviceTier: string | undefined

  constructor(
    protected readonly parsed: ParsedRequest<ResponsesBody>,
    protected readonly model: Model,
    /** True if the answer came whole, and no events are wanted. */
    private readonly isWhole = false,
  ) {
    const make = (isSilent: boolean) => new ResponseEvents(parsed, model.id, () => this.seal(), isSilent)
    this.shown = make(isWhole)
    this.events = asksCompaction(parsed.body) ? make(true) : this.shown
  }

  push(event: object, _candidate: number, reading: Reading): string {
    const { shown } = this
    if (shown.hasEnded) return ''
    if (hasFailed(reading)) {
      shown.fail(readErrorShape(event))
      return shown.take()
    }
    this.serviceTier = reading.serviceTier ?? this.serviceTier
    shown.begin()
    this.add(event, reading)
    return shown.take()
  }

  finish(usage: Quantities): string {
    this.end(usage)
    return this.shown.take()
  }

  fail(error: GatewayError): string {
    this.shown.fail(error)
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

  /** The whole response, with its measured usage. Throws if it came whole without a summary that was asked for. */
  protected end(usage: Quantities): Fields {
    const { events, shown } = this
    shown.begin()
    if (!shown.hasEnded) {
      this.close()
      const end = this.endOf(usage, this.shortfall())
      events.finish(end)
      if (events !== shown) this.showCompaction(end)
    }
    return shown.response ?? {}
  }

  /** Ends a compaction. A summary that was cut is not given: it would stand for what it does not tell. */
  private showCompaction(end: ResponseEnd): void {
    const { events, shown, parsed } = this
    const { answer } = parsed
    const isDue = end.status === 'completed'
    const item = isDue && answer ? compactionItem(events.response?.output, answer.seal) : undefined
    if (item) shown.addSealed(item, 'cmp')
    if (item || !isDue) shown.finish(end)
    else if (this.isWhole) throw new Error(NO_SUMMARY)
    else shown.fail({ code: null, message: `The model failed: ${NO_SUMMARY}.`, type: null, param: null })
  }

  /** Takes an event that is no error. */
  protected abstract add(event: object, reading: Reading): void

  /** Writes what is still to be said before the end. */
  protected abstract close(): void

  protected abstract shortfall(): Shortfall

  /** Seals the reasoning of an item that ends. */
  protected abstract seal(): string | undefined

  /** The caller's own tool that a model calls by a name; a function of that name if there is none. */
  protected originOf(name: string): ToolOrigin {
    return flatToolsOf(this.parsed.body).byFlatName(name)?.origin ?? { kind: 'function', name }
  }

  private endOf(usage: Quantities, shortfall: Shortfall): ResponseEnd {
    return {
      status: shortfall === undefined ? 'completed' : 'incomplete',
      incompleteReason: shortfall,
      usage: responseUsage(usage, this.reasoningTokens),
      serviceTier: this.serviceTier,
    }
  }
}
