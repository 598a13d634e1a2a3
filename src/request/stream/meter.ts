// Reads a vendor's event stream as it passes: usage, errors and the end at once, text only when it is needed for counting. It works
// on bytes, because nearly all of them pass unchanged, and must never decode more than the events that matter.

import type { Outcome } from '../../billing/ledger/metering'
import type { EndedBy } from '../../contract/failures'
import type { JsonFamily, Quantities, StreamFollower } from '../../contract/family'
import { hasFailed, type Reading } from '../../contract/reading'
import { createEventSplitter, dataOfEvent, eventsIn, objectIn, splitEvents, toLatin1 } from '../../lib/sse'
import { callerEvent } from '../../upstreams/caller-view'
import { createRename } from '../model-name'
import { hasList, hasText, mayReport, startOfEvent, startOfReport } from './event-search'
import { OutputBound } from './output-bound'
import { StreamTally, streamContract, type TallyOptions } from './tally'
import { UnreadEvents } from './unread-events'

/** Bytes of unread events before their text is read; at the end only if needed. */
const UNREAD_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)
const SILENT: Reading = {}

export interface StreamMeterOptions extends TallyOptions {
  /** True if the caller did not request the event that only carries usage. */
  hideUsage: boolean
  /** The event for an error of the vendor that clients would not recognise. */
  translateError(json: object): string
  /** Ends a stream whose events pass unchanged, if not all of its output is held, or its usage is requested. */
  follower?: StreamFollower | undefined
}

/** The result of a piece of a stream. */
export interface Metered {
  /** Whole events to send. */
  bytes: Uint8Array
  /** True if the closing event is among them. */
  end: boolean
  /** True if further events have arrived, with more output than is held. The next piece, even an empty one, returns them. */
  short: boolean
  /** True if bytes arrived after the closing event. */
  excess: boolean
}

export interface StreamMeter {
  push(piece: Uint8Array): Metered
  /** The rest when the vendor closes: a last event without its blank line, or unreadable bytes. */
  close(): Buffer
  /** Whether the answer is complete, even if the stream lacked its closing event. */
  isComplete(): boolean
  /** The event in which the vendor has reported an error to the caller; undefined if it has not. */
  failure(): object | undefined
  outcome(endedBy: EndedBy): Outcome
  /** Maximum number of output tokens that were passed on, without reading anything. */
  mostTokens(): number
  /** Maximum number of output tokens that were passed on, according to all events. */
  countTokens(): number
  /** Maximum number of output tokens that were passed on, plus those in the next event. */
  neededTokens(): number
  /** The output in the next event, if it was not passed on because it exceeds the hold; empty otherwise. */
  nextText(): string
  /** Uses a count of all text that was passed on instead of its bytes. */
  recount(tokens: number): void
  /** The closing events of a complete answer, except those of a vendor whose events pass. `usage` is what is charged. */
  finish(usage: Quantities): Buffer
  /** The closing events of a stream that is cut off. */
  cut(usage: Quantities): Buffer
}

/** A part of a stream as the caller sees it. */
interface ShownPart {
  /** The index after the part. */
  end: number
  shown: string
  /** True if the bytes are those of the vendor. */
  isSame: boolean
}
/** Events of a part that have nothing to report: the indexes of their first byte and after their last. */
interface PlainEvents {
  start: number
  end: number
}
const NOT_PLAIN: PlainEvents = { start: 0, end: 0 }
const UNSEEN: ShownPart = { end: 0, shown: '', isSame: true }

/**
 * Creates a meter. Events pass unchanged, except for the model's name, figures that are only for our accounting, and figures that
 * differ from what is charged.
 */
export function createStreamMeter(options: StreamMeterOptions): StreamMeter {
  return new PassingMeter(options)
}

class PassingMeter implements StreamMeter {
  private readonly end: string | null
  private readonly endBytes: Buffer | undefined
  private readonly splitter = createEventSplitter()
  private readonly rename: ReturnType<typeof createRename>
  private readonly tally: StreamTally
  private readonly unread = new UnreadEvents()
  private readonly bound: OutputBound | undefined
  /** True if the caller wants an event with the usage. */
  private readonly asksUsage: boolean
  private readonly plainAnswer: JsonFamily['plainAnswer']
  /** True if the content of the stream consists of lists, which its caller sees as text. */
  private hasLists = false
  /** Whole events with more output than is held. */
  private kept: Buffer = NOTHING
  private ended = false
  /** The closing event, which the usage may have to precede. */
  private closing: Buffer = NOTHING

  constructor(private readonly options: StreamMeterOptions) {
    this.end = streamContract(options.model).end
    this.endBytes = this.end === null ? undefined : Buffer.from(this.end)
    this.rename = createRename(options.model.id)
    this.tally = new StreamTally(options)
    this.bound = options.hold && new OutputBound()
    const { family } = options.model
    this.plainAnswer = family.kind === 'json' ? family.plainAnswer : undefined
    this.asksUsage = !options.hideUsage && options.follower?.usageEvent !== undefined
  }

  push(piece: Uint8Array): Metered {
    if (this.ended) return { bytes: NOTHING, end: false, short: false, excess: hasText(piece) }
    const whole = this.splitter.push(piece)
    if (this.bound) return this.pushHeld(whole, this.bound)
    if (whole.length === 0) return { bytes: NOTHING, end: false, short: false, excess: false }
    return this.pass(whole, NOTHING)
  }

  close(): Buffer {
    if (this.ended) return NOTHING
    const rest = this.splitter.rest().toString('latin1').trimEnd()
    if (rest === '') return NOTHING
    const data = dataOfEvent(rest)
    if (data === this.end) this.ended = true
    else if (data === undefined || !objectIn(data)) return NOTHING
    return this.passOn(Buffer.from(`${rest}\n\n`, 'latin1'))
  }

  mostTokens(): number {
    return this.tally.mostTokens() + (this.bound?.unreadTokens ?? 0)
  }

  countTokens(): number {
    this.readUnread()
    return this.tally.mostTokens()
  }

  neededTokens(): number {
    return this.countTokens() + Buffer.byteLength(this.nextText())
  }

  nextText(): string {
    const [next] = eventsIn(this.kept, 0)
    return next === undefined ? '' : this.textIn(next)
  }

  recount(tokens: number): void {
    this.tally.recount(tokens)
  }

  finish(usage: Quantities): Buffer {
    const { tally, closing } = this
    if (!this.asksUsage || this.isUsageShown() || tally.failure() || !this.isComplete()) return closing
    this.readUnread()
    return Buffer.concat([Buffer.from(this.options.follower?.usageEvent?.(usage) ?? ''), closing])
  }

  cut(usage: Quantities): Buffer {
    this.readUnread()
    this.ended = true
    return Buffer.from(this.options.follower?.cut(usage) ?? '')
  }

  /** Whether the caller has seen the charged figures. */
  private isUsageShown(): boolean {
    const { tally } = this
    if (!tally.believed()) return tally.hasFigures() && !tally.hasOutput()
    return this.options.follower?.withUsage !== undefined || !tally.hasShrunk()
  }

  /** Passes whole events on. `after` is what follows them. */
  private pass(whole: Buffer, after: Buffer, plain = NOT_PLAIN): Metered {
    const events = this.upToEnd(whole, plain)
    const open = this.closing.length === 0 ? events : events.subarray(0, -this.closing.length)
    const bytes = this.passOn(open, plain)
    if (this.unread.byteLength > UNREAD_BYTES) this.readUnread()
    const { ended } = this
    const excess =
      ended && [whole.subarray(events.length), after, this.splitter.rest()].some((rest) => hasText(rest))
    return { bytes, end: ended, short: after.length > 0 && !ended, excess }
  }

  /** Passes the events on whose output is held, and keeps the others. */
  private pushHeld(more: Buffer, bound: OutputBound): Metered {
    const whole = this.kept.length === 0 ? more : Buffer.concat([this.kept, more])
    this.kept = NOTHING
    if (whole.length === 0) return { bytes: NOTHING, end: false, short: false, excess: false }
    const heldTokens = this.options.hold?.heldTokens ?? 0
    const { tokens, plainLength } = bound.of(whole)
    if (this.mostTokens() + tokens <= heldTokens) {
      bound.unreadTokens += tokens
      const known = bound.knownKinds
      const passed = this.pass(whole, NOTHING, { start: 0, end: plainLength })
      // The first output was read on its way, and shows what is not output in these events.
      if (bound.knownKinds > known && bound.unreadTokens >= tokens)
        bound.unreadTokens += bound.of(whole).tokens - tokens
      return passed
    }
    const { length, plain } = this.heldEvents(whole, heldTokens, bound)
    this.kept = whole.subarray(length)
    return length === 0
      ? { bytes: NOTHING, end: false, short: true, excess: false }
      : this.pass(whole.subarray(0, length), this.kept, plain)
  }

  /** The events whose output is held. They are read one by one until the kind of the others is known. */
  private heldEvents(
    whole: Buffer,
    heldTokens: number,
    bound: OutputBound,
  ): { length: number; plain: PlainEvents } {
    let tokens = this.countTokens()
    let length = 0
    let plain = NOT_PLAIN
    for (const event of eventsIn(whole, 0)) {
      const text = this.textIn(event)
      const bytes = Buffer.byteLength(text)
      if (bytes > 0 && tokens + bytes > heldTokens) break
      tokens += bytes
      length += event.length
      const others = bytes > 0 && bound.learn(event, text) ? bound.of(whole.subarray(length)) : undefined
      if (others === undefined || tokens + others.tokens > heldTokens) continue
      tokens += others.tokens
      plain = { start: length, end: length + others.plainLength }
      length = whole.length
      break
    }
    bound.unreadTokens = tokens - this.tally.mostTokens()
    return { length, plain }
  }

  private textIn(event: string): string {
    const json = objectIn(dataOfEvent(event) ?? '')
    return json ? this.tally.textIn(json) : ''
  }

  isComplete(): boolean {
    if (this.ended) return true
    this.readUnread()
    return this.tally.finished()
  }

  failure(): object | undefined {
    return this.tally.failure()
  }

  outcome(endedBy: EndedBy): Outcome {
    const { tally } = this
    // Text is only needed if the vendor's own figures, or their price tier, are missing.
    const hasUsage =
      tally.isMeasured() && (tally.isTierKnown() || this.options.model.priceList.tables.length === 1)
    if (!hasUsage || tally.failure() || endedBy !== 'done') this.readUnread()
    else this.unread.forget()
    return tally.outcome(endedBy)
  }

  private readUnread(): void {
    const { tally, bound } = this
    const { follower } = this.options
    let last: { event: string; reading: Reading } | undefined
    for (const event of splitEvents(this.unread.take())) {
      const reading = this.read(event, follower)
      tally.add(reading)
      if (textOf(reading)) last = { event, reading }
    }
    if (!bound) return
    bound.unreadTokens = 0
    if (last) this.learn(last.event, last.reading)
  }

  /** Learns the kind of an event with output: the next events most likely have the same kind, and need not be read. */
  private learn(event: string, reading: Reading): void {
    const text = textOf(reading)
    if (text) this.bound?.learn(event, text)
  }

  private read(event: string, follower?: StreamFollower): Reading {
    const data = dataOfEvent(event)
    if (data === undefined || data === this.end) return SILENT
    const json = objectIn(data)
    if (json) follower?.push(json)
    return this.tally.read(data, json)
  }

  /** The events up to and including the closing one, which is not plain. */
  private upToEnd(whole: Buffer, plain: PlainEvents): Buffer {
    const from = plain.start === 0 ? plain.end : 0
    const found = this.endBytes && from < whole.length ? whole.indexOf(this.endBytes, from) : -1
    if (found === -1) return whole
    let at = startOfEvent(whole, found)
    for (const event of eventsIn(whole, at)) {
      at += event.length
      if (dataOfEvent(event) !== this.end) continue
      this.ended = true
      if (this.asksUsage) this.closing = whole.subarray(at - event.length, at)
      return at === whole.length ? whole : whole.subarray(0, at)
    }
    return whole
  }

  /** Bytes for the caller. All of them are kept, as the vendor sent them. */
  private passOn(whole: Buffer, plain = NOT_PLAIN): Buffer {
    const isPlain = plain.start === 0 && plain.end >= whole.length
    const isRead = !isPlain || this.hasLists || !this.tally.hasOutput()
    const shown = isRead ? this.inspect(whole, plain) : whole
    this.unread.add(whole)
    return this.rename(shown, Buffer.allocUnsafe)
  }

  /** The events to show, after reading those up to the first output, and those with usage or an error. */
  private inspect(whole: Buffer, plain: PlainEvents): Buffer {
    // Searching every piece would cost too much: if content consists of lists, the first piece shows it.
    if (this.plainAnswer && !this.hasLists && !this.tally.hasOutput()) this.hasLists = hasList(whole)
    // Any event may be the first output. Large ones are read at once anyway, when they are kept.
    const isBeginning = !this.tally.hasOutput() && whole.length <= UNREAD_BYTES
    const begun = isBeginning ? this.inspectFrom(whole, 0, 'up to output') : UNSEEN
    const searched = begun.end < plain.start ? begun.end : Math.max(begun.end, plain.end)
    const start = this.hasLists ? begun.end : startOfReport(whole, searched)
    const reports = start === -1 ? UNSEEN : this.inspectFrom(whole, start, 'reports')
    if (begun.isSame && reports.isSame) return whole
    return Buffer.concat([
      Buffer.from(begun.shown, 'latin1'),
      whole.subarray(begun.end, start === -1 ? whole.length : start),
      Buffer.from(reports.shown, 'latin1'),
    ])
  }

  /** The caller's view of the events from an index on: of those up to the first output, or of all with reports. */
  private inspectFrom(whole: Buffer, from: number, at: 'up to output' | 'reports'): ShownPart {
    let end = from
    let shown = ''
    let isSame = true
    for (const event of eventsIn(whole, from)) {
      if (at === 'up to output' && this.tally.hasOutput()) break
      const reading = at === 'reports' && !mayReport(event) ? SILENT : this.read(event)
      this.learn(event, reading)
      const shownOne = this.shownEvent(event, reading)
      isSame &&= shownOne === event
      shown += shownOne
      end += event.length
    }
    return { end, shown, isSame }
  }

  /** The caller's view of an event. */
  private shownEvent(event: string, reading: Reading): string {
    const isError = hasFailed(reading)
    const { usage } = reading
    const { hideUsage, follower } = this.options
    const figures = usage && this.tally.believed()
    // Before any output, zero is a correct figure.
    const isDoubtful = usage !== undefined && !figures && this.tally.hasOutput()
    const isCorrected = follower?.withUsage !== undefined && (figures !== undefined || isDoubtful)
    // An error is shown whatever figures it contains.
    if (usage?.kind === 'separate' && (hideUsage || (isDoubtful && isCorrected)) && !isError) return ''
    if (reading.end !== 'failed-disguised') {
      const plainOf = isCorrected || hasList(event) ? this.plainAnswer : undefined
      const shownOf = isCorrected
        ? (json: object) => {
            const plain = plainOf?.(json) ?? json
            return follower.withUsage?.(plain, figures) ?? plain
          }
        : plainOf
      return callerEvent(event, isError, shownOf)
    }
    return toLatin1(this.options.translateError(objectIn(dataOfEvent(event) ?? '') ?? {}))
  }
}

function textOf({ output }: Reading): string | undefined {
  return output?.kind === 'shown' ? output.text : undefined
}
