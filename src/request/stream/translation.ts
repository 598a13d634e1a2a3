// Reads a vendor's event stream as it passes and translates its events to the caller's dialect. Each is read once. Nothing in the
// vendor's own form must reach the caller.

import type { Outcome } from '../../billing/ledger/metering'
import type { EndedBy } from '../../contract/failures'
import type { Quantities, Translator } from '../../contract/family'
import { hasFailed } from '../../contract/reading'
import { createEventSplitter, dataIn, objectIn, splitEvents } from '../../lib/sse'
import { callerComplaint, callerView } from '../../upstreams/caller-view'
import { candidateOf } from '../candidates'
import { hasText } from './event-search'
import type { Metered, StreamMeter, StreamMeterOptions } from './meter'
import { StreamTally, streamContract } from './tally'

const NOTHING = Buffer.alloc(0)
/** Takes half the time of Buffer.from for a text that was joined from many. */
const encoder = new TextEncoder()

/** An event, read once: its content determines whether it is held, and its translation. */
interface ParsedEvent {
  text: string
  /** Undefined for a comment. */
  data: string | undefined
  /** Undefined for data that is not JSON, and for the closing event. */
  json: object | undefined
}

/** Candidates that arrive mixed in one stream, each to its own end. */
export interface Candidates {
  count: number
  /** The outcome of all candidates together. */
  total(outcomes: readonly Outcome[]): Outcome
}
const ONE: Candidates = { count: 1, total: ([only]) => only as Outcome }

export function createTranslatingMeter(
  options: StreamMeterOptions,
  translator: Translator,
  candidates: Candidates = ONE,
): StreamMeter {
  return new TranslatingMeter(options, translator, candidates)
}

class TranslatingMeter implements StreamMeter {
  private readonly end: string | null
  private readonly splitter = createEventSplitter()
  private readonly tallies: readonly StreamTally[]
  /** The candidates whose closing events have arrived. */
  private readonly complete = new Set<number>()
  /** Whole events with more output than is held. */
  private kept = ''
  private ended = false
  private excess = false
  /** True if the caller got an error instead of the translator's events. */
  private sentError = false

  constructor(
    private readonly options: StreamMeterOptions,
    private readonly translator: Translator,
    private readonly candidates: Candidates,
  ) {
    this.end = streamContract(options.model).end
    this.tallies = Array.from({ length: candidates.count }, () => new StreamTally(options))
  }

  push(piece: Uint8Array): Metered {
    if (this.ended) return { bytes: NOTHING, end: false, short: false, excess: hasText(piece) }
    let written = ''
    const events = splitEvents(this.kept + this.splitter.push(piece).toString('utf8'))
    this.kept = ''
    for (let index = 0; index < events.length; index++) {
      const event = this.parse(events[index] as string)
      if (this.options.hold && !this.isHeld(event, this.options.hold.heldTokens)) {
        this.kept = events.slice(index).join('')
        break
      }
      written += this.translate(event)
    }
    const { ended } = this
    const excess = ended && (this.excess || hasText(this.splitter.rest()))
    return { bytes: encoder.encode(written), end: ended, short: this.kept !== '', excess }
  }

  close(): Buffer {
    const rest = this.splitter.rest().toString('utf8').trimEnd()
    const last = rest === '' ? '' : this.translate(this.parse(`${rest}\n\n`))
    // A vendor may close the connection after its last event.
    const isWhole = this.tallies.every((tally, candidate) => this.complete.has(candidate) || tally.finished())
    this.ended ||= isWhole
    return Buffer.from(last)
  }

  isComplete(): boolean {
    return this.ended
  }

  failure(): object | undefined {
    return this.tallies.find((tally) => tally.failure())?.failure()
  }

  mostTokens(): number {
    return this.tallies.length === 1
      ? (this.tallies[0]?.mostTokens() ?? 0)
      : this.tallies.reduce((sum, tally) => sum + tally.mostTokens(), 0)
  }

  countTokens(): number {
    return this.mostTokens()
  }

  neededTokens(): number {
    return this.mostTokens() + Buffer.byteLength(this.nextText())
  }

  nextText(): string {
    const [next] = splitEvents(this.kept)
    return next === undefined ? '' : this.textIn(this.parse(next))
  }

  recount(tokens: number): void {
    const most = Math.max(1, this.mostTokens())
    // In the same shares, because all texts were counted together.
    for (const tally of this.tallies) tally.recount(Math.ceil((tokens * tally.mostTokens()) / most))
  }

  finish(usage: Quantities): Buffer {
    return Buffer.from(this.ended && !this.sentError ? this.translator.finish(usage) : '')
  }

  cut(usage: Quantities): Buffer {
    this.ended = true
    return Buffer.from(this.sentError ? '' : this.translator.cut(usage))
  }

  outcome(endedBy: EndedBy): Outcome {
    return this.candidates.total(this.tallies.map((tally) => tally.outcome(endedBy)))
  }

  /** Whether the output of an event is held. An event has at most three bytes of text for each of its characters. */
  private isHeld(event: ParsedEvent, heldTokens: number): boolean {
    const tokens = this.mostTokens()
    if (tokens + 3 * event.text.length <= heldTokens) return true
    const bytes = Buffer.byteLength(this.textIn(event))
    return bytes === 0 || tokens + bytes <= heldTokens
  }

  private textIn({ json }: ParsedEvent): string {
    return (json && this.tallies[0]?.textIn(json)) ?? ''
  }

  private parse(text: string): ParsedEvent {
    const data = dataIn(text)
    return { text, data, json: data === undefined || data === this.end ? undefined : objectIn(data) }
  }

  private translate({ text, data, json }: ParsedEvent): string {
    const candidate = this.candidates.count === 1 ? 0 : candidateOf(text)
    const tally = this.tallies[candidate]
    if (this.ended || !tally || this.complete.has(candidate)) {
      this.excess ||= text.trim() !== ''
      return ''
    }
    if (data === undefined) return ''
    if (data !== this.end) return this.write(data, json, tally, candidate)
    this.complete.add(candidate)
    this.noteEnd()
    return ''
  }

  /** The data of one event in the caller's dialect. */
  private write(data: string, json: object | undefined, tally: StreamTally, candidate: number): string {
    const reading = tally.read(data, json)
    tally.add(reading)
    if (!json || this.sentError) return ''
    this.sentError = reading.end === 'failed-disguised'
    if (this.sentError) return this.options.translateError(json)
    // The translator may pass on members that it does not know.
    const shown = callerView(json)
    const events = this.translator.push(
      hasFailed(reading) ? callerComplaint(shown) : shown,
      candidate,
      reading,
    )
    if (this.end !== null || reading.end !== 'finished') return events
    // Nothing but this event closes the answer.
    this.complete.add(candidate)
    this.noteEnd()
    return events
  }

  private noteEnd(): void {
    this.ended = this.complete.size === this.candidates.count
  }
}
