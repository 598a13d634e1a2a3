// Reads along with a vendor's event stream: usage, errors and the end at once, text only when it is needed for counting.
// It works on bytes, because nearly all of them pass as they are, and turns into text only the events that matter.

import type { Outcome, ReportedUsage } from '../billing/metering'
import type { EndedBy } from '../contract/failures'
import { type Model, type Quantities, type Reading, streamOf, type Translator } from '../contract/family'
import { addQuantities } from '../contract/units'

import { createEventSplitter, dataOfEvent, objectIn, splitEvents, toLatin1 } from '../lib/sse'
import { callerComplaint, callerEvent } from '../upstreams/caller-view'
import { candidateOf } from './candidates'
import { createRename } from './model-name'

/** Events whose text has not been read yet; they are only read when this much has come, or at the end if need be. */
const UNREAD_BYTES = 64 * 1024
const BLOCK_BYTES = 8 * 1024
/** Text that is kept for counting. */
const TEXT_LENGTH = 256 * 1024
const ERROR = Buffer.from('"error"')
const USAGE = Buffer.from('"usage"')
const ID = Buffer.from('_id"')
const ACCOUNT = /(organi[sz]ation|org|project|account|team|tenant|workspace)$/i
const LONGEST_ACCOUNT = 'organization'.length
const NULL = Buffer.from(':null')
const BLANK_LINE = Buffer.from('\n\n')
const NOTHING = Buffer.alloc(0)

export interface StreamMeterOptions {
  model: Model
  /** The caller did not ask for the event that only carries usage. */
  hideUsage: boolean
  /** The vendor's figures, or `invalid` where this request cannot have come to them. */
  judge(usage: ReportedUsage): ReportedUsage
  /** The event that tells the caller of a vendor's error which clients would not take for one. */
  translateError(json: object): string
}

export interface StreamMeter {
  /**
   * Whole events to send on, and whether the closing one is among them. `excess`: more came after that one, which is
   * nobody's.
   */
  push(piece: Uint8Array): { bytes: Buffer; end: boolean; excess: boolean }
  /** What is left when the vendor closes: a last event without its blank line, or nothing that makes sense. */
  close(): Buffer
  /** True when the answer is whole though the stream may have lacked its closing event. */
  isComplete(): boolean
  /** True when the vendor has told the caller an error. */
  failed(): boolean
  outcome(endedBy: EndedBy): Outcome
}

/** Events pass as they came, but for the model's name and what was only sent for our accounting. */
export function createStreamMeter(options: StreamMeterOptions): StreamMeter {
  const { model, hideUsage, translateError } = options
  const { end } = contractOf(model)
  const endBytes = end === null ? undefined : Buffer.from(end)
  const splitter = createEventSplitter()
  const rename = createRename(model.id)
  const tally = createTally(options)
  const unread = createPile()
  let ended = false

  function readUnread(): void {
    for (const event of splitEvents(unread.take())) tally.add(tally.read(event))
  }

  /** The events up to the closing one, and it. */
  function upToEnd(whole: Buffer): Buffer {
    const found = endBytes ? whole.indexOf(endBytes) : -1
    if (found === -1) return whole
    const from = whole.lastIndexOf(BLANK_LINE, found)
    let at = from === -1 ? 0 : from + BLANK_LINE.length
    for (const event of splitEvents(whole.toString('latin1', at))) {
      at += event.length
      if (dataOfEvent(event) !== end) continue
      ended = true
      return at === whole.length ? whole : whole.subarray(0, at)
    }
    return whole
  }

  /** The events that are to be shown, after a look at those up to the first output, and at those with usage or an error. */
  function inspect(whole: Buffer): Buffer {
    // Any event may be the first output. Large ones are read at once anyway, when they are kept.
    const isBeginning = !tally.hasOutput() && whole.length <= UNREAD_BYTES
    const begun = isBeginning ? look(whole, 0, () => true, tally.hasOutput) : UNSEEN
    const start = startOfReport(whole, begun.end)
    const reports = start === -1 ? UNSEEN : look(whole, start, mayReport, () => false)
    if (begun.isSame && reports.isSame) return whole
    return Buffer.concat([
      Buffer.from(begun.shown, 'latin1'),
      whole.subarray(begun.end, start === -1 ? whole.length : start),
      Buffer.from(reports.shown, 'latin1'),
    ])
  }

  /** What the caller sees of the events from an index on, until it is enough. */
  function look(
    whole: Buffer,
    from: number,
    isRead: (event: string) => boolean,
    isEnough: () => boolean,
  ): Look {
    let end = from
    let shown = ''
    let isSame = true
    for (const event of splitEvents(whole.toString('latin1', from))) {
      if (isEnough()) break
      const seen = seenBy(event, isRead(event) ? tally.read(event) : {})
      isSame &&= seen === event
      shown += seen
      end += event.length
    }
    return { end, shown, isSame }
  }

  /** What the caller sees of an event. */
  function seenBy(event: string, reading: Reading): string {
    if (reading.usageOnly && hideUsage) return ''
    if (reading.disguised) return toLatin1(translateError(jsonOf(event)))
    return callerEvent(event, reading.failed === true)
  }

  /** What the caller gets of these events. All of them are kept, by whichever name of the model. */
  function passOn(whole: Buffer): Buffer {
    const shown = inspect(whole)
    if (shown !== whole) {
      unread.add(whole)
      return rename(shown, Buffer.allocUnsafe)
    }
    // Where the name is another one copy serves both: what is sent is what is kept.
    const renamed = rename(whole, unread.room)
    if (renamed === whole) unread.add(whole)
    return renamed
  }

  return {
    push(piece) {
      if (ended) return { bytes: NOTHING, end: false, excess: hasText(piece) }
      const whole = splitter.push(piece)
      if (whole.length === 0) return { bytes: NOTHING, end: false, excess: false }
      const events = upToEnd(whole)
      const bytes = passOn(events)
      if (unread.byteLength() > UNREAD_BYTES) readUnread()
      const excess = ended && (hasText(whole.subarray(events.length)) || hasText(splitter.rest()))
      return { bytes, end: ended, excess }
    },
    close() {
      if (ended) return NOTHING
      const rest = splitter.rest().toString('latin1').trimEnd()
      if (rest === '') return NOTHING
      const data = dataOfEvent(rest)
      if (data === end) ended = true
      else if (data === undefined || !objectIn(data)) return NOTHING
      const event = Buffer.from(`${rest}\n\n`, 'latin1')
      return passOn(event)
    },
    isComplete() {
      if (ended) return true
      readUnread()
      return tally.finished()
    },
    failed: tally.failed,
    outcome(endedBy) {
      // Text is only needed where the vendor's own figures are missing, or which of the prices they are for.
      const isTold = tally.isMeasured() && (tally.isTierKnown() || model.priceList.tables.length === 1)
      if (!isTold || tally.failed() || endedBy !== 'done') readUnread()
      return tally.outcome(endedBy)
    },
  }
}

/** Candidates that come mixed in one stream, each to its own end. */
export interface Candidates {
  count: number
  /** What all of them came to. */
  total(outcomes: readonly Outcome[]): Outcome
}
const ONE: Candidates = { count: 1, total: ([only]) => only as Outcome }

/** A part of a stream as the caller sees it. */
interface Look {
  /** The index behind it. */
  end: number
  shown: string
  /** It is what the vendor sent. */
  isSame: boolean
}
const UNSEEN: Look = { end: 0, shown: '', isSame: true }

function mayReport(event: string): boolean {
  return event.includes('"error"') || event.includes('"usage"')
}

/** Where the first event from an index on stands that may have usage, an error or the operator's account; -1 where none may. */
function startOfReport(whole: Buffer, from: number): number {
  const first = indexOfReport(whole, from)
  if (first === -1) return -1
  const blank = whole.lastIndexOf(BLANK_LINE, first)
  return blank === -1 ? from : Math.max(from, blank + BLANK_LINE.length)
}

/** Events are written anew in the caller's dialect. Each is read once, as it comes. */
export function createTranslatingMeter(
  options: StreamMeterOptions,
  translator: Translator,
  candidates: Candidates = ONE,
): StreamMeter {
  const { end } = contractOf(options.model)
  const splitter = createEventSplitter()
  const tallies = Array.from({ length: candidates.count }, () => createTally(options))
  const complete = new Set<number>()
  let ended = false
  let excess = false
  /** The caller has been told an error in the place of what the translator would make of it. */
  let told = false

  function translate(event: string): string {
    const candidate = candidates.count === 1 ? 0 : candidateOf(event)
    const tally = tallies[candidate]
    if (ended || !tally || complete.has(candidate)) {
      excess ||= event.trim() !== ''
      return ''
    }
    const data = dataOfEvent(event)
    if (data === undefined) return ''
    if (data === end) {
      complete.add(candidate)
      return complete.size === candidates.count ? finish() : ''
    }
    const reading = tally.read(event)
    tally.add(reading)
    const json = objectIn(data)
    if (!json || told) return ''
    told = reading.disguised === true
    if (told) return options.translateError(json)
    return translator.push(reading.failed ? callerComplaint(json) : json, candidate)
  }

  function finish(): string {
    ended = true
    return told ? '' : translator.finish()
  }

  return {
    push(piece) {
      if (ended) return { bytes: NOTHING, end: false, excess: hasText(piece) }
      const events = splitEvents(splitter.push(piece).toString('latin1'))
      const bytes = Buffer.from(events.map(translate).join(''))
      return { bytes, end: ended, excess: ended && (excess || hasText(splitter.rest())) }
    },
    close() {
      const rest = splitter.rest().toString('latin1').trimEnd()
      const last = rest === '' ? '' : translate(`${rest}\n\n`)
      // A vendor may just close after its last event.
      const isWhole = tallies.every((tally, candidate) => complete.has(candidate) || tally.finished())
      return Buffer.from(isWhole && !ended ? last + finish() : last)
    },
    isComplete: () => ended,
    failed: () => tallies.some((tally) => tally.failed()),
    outcome: (endedBy) => candidates.total(tallies.map((tally) => tally.outcome(endedBy))),
  }
}

/** True of more than blank lines. */
function hasText(bytes: Uint8Array): boolean {
  return bytes.some((byte) => byte !== 10 && byte !== 13 && byte !== 32)
}

interface Tally {
  /** Reads one event: its usage, and whether it is an error or the end. May be called more than once for an event. */
  read(event: string): Reading
  /** Adds what an event brought. Called once for each. */
  add(reading: Reading): void
  /** The vendor has told what the answer came to. */
  isMeasured(): boolean
  /** It has told which service tier it has served. */
  isTierKnown(): boolean
  hasOutput(): boolean
  failed(): boolean
  finished(): boolean
  outcome(endedBy: EndedBy): Outcome
}

/** What a stream came to, as its events are read. */
function createTally({ model, judge }: StreamMeterOptions): Tally {
  const { end, read: readEvent } = contractOf(model)
  let text = ''
  let textOmitted = 0
  let usage: ReportedUsage
  let reported: unknown = null
  let early = false
  let delivered = false
  let hasOutput = false
  let unseen = false
  let unfinished = false
  let made: Quantities | undefined
  let failed = false
  let finished = false
  let serviceTier: string | undefined

  return {
    read(event) {
      const data = dataOfEvent(event)
      if (data === undefined || data === end) return {}
      const json = objectIn(data)
      if (!json) {
        if (!reportsUsage(data)) return {}
        // Figures such as NaN: nobody can read this event, so whoever did not ask for it shall not have to.
        usage = 'invalid'
        return { usage, usageOnly: true }
      }
      const reading = readSafely(readEvent, json)
      if (reading.usage) {
        usage = judge(joined(usage, reading))
        early = reading.early === true
        const told = reading.reported ?? (json as { usage?: unknown }).usage ?? null
        reported = reading.partial ? { ...(reported as object | null), ...withoutNulls(told) } : told
      }
      serviceTier = reading.serviceTier ?? serviceTier
      delivered ||= reading.delivered === true
      hasOutput ||= delivered || Boolean(reading.text)
      unseen ||= reading.unseen === true
      unfinished ||= reading.unfinished === true
      failed ||= reading.failed === true
      // Usage alone cannot tell: some vendors report it on every event.
      finished ||= reading.finished === true || reading.usageOnly === true
      return reading
    },
    add(reading) {
      const more = reading.text ?? ''
      if (text.length < TEXT_LENGTH) text += more
      else textOmitted += more.length
      if (!reading.made) return
      made ??= {}
      addQuantities(made, reading.made)
    },
    isMeasured: () => usage !== undefined && usage !== 'invalid' && !early,
    isTierKnown: () => serviceTier !== undefined,
    hasOutput: () => hasOutput,
    failed: () => failed,
    finished: () => finished,
    outcome(endedBy) {
      const usageJson = reported === null ? null : JSON.stringify(reported)
      return {
        endedBy,
        usage,
        early,
        serviceTier,
        usageJson,
        text,
        textOmitted,
        delivered: delivered || (unfinished && endedBy === 'client'),
        hasOutput: hasOutput || (unfinished && endedBy === 'client'),
        unseen,
        made,
        failed,
      }
    },
  }
}

function jsonOf(event: string): object {
  return objectIn(dataOfEvent(event) ?? '') ?? {}
}

/** Later figures replace earlier ones; a part of the figures leaves the rest as it was. */
function joined(before: ReportedUsage, { usage, partial }: Reading): ReportedUsage {
  if (!partial || usage === undefined || usage === 'invalid') return usage
  const sum = { ...(before === 'invalid' ? {} : before), ...usage }
  const { cache_write_token: written, cache_write_1h_token: long = 0 } = sum
  if (long > 0 && written !== undefined && usage.cache_write_1h_token === undefined) {
    // A total of all that was written to caches has the part with the longer lifetime in it, even where it does not say so.
    sum.cache_write_token = usage.cache_write_token === undefined ? written : Math.max(0, written - long)
  }
  return sum
}

function withoutNulls(figures: unknown): object {
  return Object.fromEntries(Object.entries(figures ?? {}).filter(([, figure]) => figure !== null))
}

/** An event of a form that nobody foresaw is not read; it must not end the stream. */
function readSafely(read: (event: object) => Reading, event: object): Reading {
  try {
    return read(event)
  } catch {
    return {}
  }
}

function contractOf(model: Model) {
  const stream = streamOf(model.family)
  if (!stream) throw new Error(`${model.family.name} has no streams`)
  return stream
}

/** Where the first event may be that has usage or an error. Most vendors say `"usage":null` on every event. */
function indexOfReport(bytes: Buffer, from: number): number {
  const first = firstOf(bytes.indexOf(ERROR, from), indexOfAccount(bytes, from))
  for (let at = bytes.indexOf(USAGE, from); at !== -1; at = bytes.indexOf(USAGE, at + USAGE.length)) {
    if (!isNull(bytes, at + USAGE.length)) return firstOf(first, at)
  }
  return first
}

/** Of what some vendors put into any event: the id of the operator's account, which no caller shall see. */
function indexOfAccount(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(ID, from); at !== -1; at = bytes.indexOf(ID, at + ID.length)) {
    if (ACCOUNT.test(bytes.toString('latin1', Math.max(from, at - LONGEST_ACCOUNT), at))) return at
  }
  return -1
}

function isNull(bytes: Buffer, at: number): boolean {
  if (bytes[at] === NULL[0] && bytes[at + 1] === NULL[1]) return true
  return /^\s*:\s*null/.test(bytes.toString('latin1', at, at + 16))
}

/** The smaller index of what was found, or -1. */
function firstOf(one: number, other: number): number {
  if (one === -1 || other === -1) return Math.max(one, other)
  return Math.min(one, other)
}

function reportsUsage(text: string): boolean {
  return /"usage"\s*:\s*(?!null)/.test(text)
}

/** Bytes that are kept for later, copied together: as they came, each piece would live on in the heap, a hundred a stream. */
function createPile() {
  let full: Buffer[] = []
  let block: Buffer = NOTHING
  let used = 0
  let byteLength = 0

  const isLarge = (length: number) => length > BLOCK_BYTES / 4

  /** A piece that lies in memory of its own. */
  function addLarge(bytes: Buffer): Buffer {
    if (used > 0) full.push(block.subarray(0, used))
    block = block.subarray(used)
    used = 0
    full.push(bytes)
    byteLength += bytes.length
    return bytes
  }

  function room(length: number): Buffer {
    if (isLarge(length)) return addLarge(Buffer.allocUnsafe(length))
    if (used + length > block.length) {
      if (used > 0) full.push(block.subarray(0, used))
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      used = 0
    }
    byteLength += length
    used += length
    return block.subarray(used - length, used)
  }

  return {
    byteLength: () => byteLength,
    /** A place at the end, to be written to at once and never again. */
    room,
    add(bytes: Buffer): void {
      if (isLarge(bytes.length)) addLarge(bytes)
      else bytes.copy(room(bytes.length))
    },
    /** All of it in latin1; nothing is left. */
    take(): string {
      const text = Buffer.concat([...full, block.subarray(0, used)]).toString('latin1')
      full = []
      block = block.subarray(used)
      used = 0
      byteLength = 0
      return text
    },
  }
}
