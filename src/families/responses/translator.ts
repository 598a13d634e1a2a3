// The half of a translation to the events of a response that does not depend on the vendor's dialect: how an answer
// ends, fails or is cut, and what it has used. It must never throw, and never write after the end.

import type { Model, ParsedRequest, Quantities, Translator } from '../../contract/family'
import { hasFailed, type Reading } from '../../contract/reading'
import { readErrorShape } from '../../lib/error-shapes'
import type { GatewayError } from '../../lib/errors'
import type { ResponsesBody } from './caller-side'
import { ResponseEvents } from './events'
import { type Fields, type ResponseEnd, responseUsage } from './response-object'
import { flatToolsOf, type ToolOrigin } from './tools'

/** Why an answer ended, if it is not whole. */
export type Shortfall = 'max_output_tokens' | 'content_filter' | undefined

export abstract class ResponseTranslator implements Translator {
  protected readonly events: ResponseEvents
  protected usage: Quantities = {}
  protected reasoningTokens = 0
  protected serviceTier: string | undefined

  constructor(
    protected readonly parsed: ParsedRequest<ResponsesBody>,
    protected readonly model: Model,
    isSilent = false,
  ) {
    this.events = new ResponseEvents(parsed, model.id, (text) => this.seal(text), isSilent)
  }

  push(event: object, _candidate: number, reading: Reading): string {
    const { events } = this
    if (events.hasEnded) return ''
    if (hasFailed(reading)) {
      events.fail(readErrorShape(event))
      return events.take()
    }
    this.serviceTier = reading.serviceTier ?? this.serviceTier
    events.begin()
    this.add(event, reading)
    return events.take()
  }

  finish(): string {
    this.end(this.usage)
    return this.events.take()
  }

  fail(error: GatewayError): string {
    this.events.fail(error)
    return this.events.take()
  }

  cut(usage: Quantities): string {
    this.events.finish(this.endOf(usage, 'max_output_tokens'))
    return this.events.take()
  }

  keepAlive(): string {
    this.events.keepAlive()
    return this.events.take()
  }

  answer(): object | undefined {
    return this.events.response
  }

  /** The whole response, with its measured usage. */
  protected end(usage: Quantities): Fields {
    const { events } = this
    events.begin()
    if (!events.hasEnded) {
      this.close()
      events.finish(this.endOf(usage, this.shortfall()))
    }
    return events.response ?? {}
  }

  /** Takes an event that is no error. */
  protected abstract add(event: object, reading: Reading): void

  /** Writes what is still to be said before the end. */
  protected abstract close(): void

  protected abstract shortfall(): Shortfall

  /** Seals the reasoning of an item that ends. `text` is what was shown of it. */
  protected abstract seal(text: string): string | undefined

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
