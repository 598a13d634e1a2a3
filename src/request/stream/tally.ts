// The result of a stream, as its events are read: figures, text, and how it ended. It must not depend on how the network split the
// stream, or believe figures that a request cannot have used.

import type { Outcome, ReportedUsage } from '../../billing/ledger/metering'
import type { EndedBy } from '../../contract/failures'
import { type Model, type Quantities, streamOf } from '../../contract/family'
import {
  hasFailed,
  hasFinished,
  type Made,
  type Reading,
  type UsageReading,
  worthMore,
} from '../../contract/reading'
import {
  addQuantities,
  inputTokensOf,
  nonDecreasing,
  outputTokensOf,
  withoutSide,
} from '../../contract/units'
import { isObject } from '../../lib/objects'
import { reportsUsage } from './event-search'

/** Maximum amount of text kept for counting, in characters. */
const TEXT_LENGTH = 256 * 1024
const SILENT: Reading = {}
/**
 * The reading of invalid figures such as NaN. Such an event is unreadable, so it is hidden from callers who did not request it.
 */
const UNREADABLE: Reading = { usage: { kind: 'separate', figures: 'invalid' } }

/** Minimum of tokens that a vendor reports for the bytes of a text; a lower figure cannot be for the whole output so far. */
const BYTES_FOR_TOKEN = 8

export interface TallyOptions {
  model: Model
  /** Output tokens that are held. Absent if output is not charged: then it is not counted as it passes. */
  hold?: { readonly heldTokens: number } | undefined
  /** The vendor's figures, or `invalid` if this request cannot have used them. */
  judge(usage: ReportedUsage): ReportedUsage
}

export class StreamTally {
  private readonly readEvent: (event: unknown) => Reading
  private readonly usage: UsageTally
  private readonly text = new CountedText()
  private serviceTier: string | undefined
  private output: Made['kind'] | undefined
  private made: Quantities | undefined
  private readonly calls: Quantities = {}
  /** The first event in which the vendor reported an error. */
  private errorEvent: object | undefined
  private isFinished = false
  private readonly isHeld: boolean
  /** Length of the text of all output, and of that in ended items, in characters. */
  private textLength = 0
  private endedLength = 0
  /** Bytes of all output. */
  private bytes = 0
  /** Maximum number of tokens of all output: as reported by the vendor, plus the bytes since then. */
  private tokens = 0
  private reportedTokens = 0

  constructor({ model, judge, hold }: TallyOptions) {
    this.readEvent = streamContract(model).read
    this.usage = new UsageTally(judge)
    this.isHeld = hold !== undefined
  }

  /**
   * Reads one event: its usage, and whether it is an error or the end. May be called more than once for an event.
   * `json` is undefined if the data is not JSON.
   */
  read(data: string, json: object | undefined): Reading {
    if (!json) {
      if (!reportsUsage(data)) return SILENT
      this.usage.spoil()
      return UNREADABLE
    }
    const reading = this.readSafely(json)
    const { usage, output } = reading
    if (usage) this.usage.take(usage, json)
    if (usage && this.isHeld) this.noteTokens(usage)
    if (output) this.output = worthMore(this.output, output.kind)
    this.serviceTier = reading.serviceTier ?? this.serviceTier
    if (hasFailed(reading)) this.errorEvent ??= json
    this.isFinished ||= hasFinished(reading)
    return reading
  }

  /** Adds the output of an event. Called once per event. */
  add(reading: Reading): void {
    const { output, calls, whole } = reading
    if (calls) addQuantities(this.calls, calls)
    const text = this.newText(reading)
    if (text) this.addText(text)
    if (whole) this.endedLength += whole.length
    if (output?.kind !== 'shown' || !output.counted) return
    this.made ??= {}
    addQuantities(this.made, output.counted)
  }

  private addText(text: string): void {
    this.text.add(text)
    this.textLength += text.length
    if (!this.isHeld) return
    const bytes = Buffer.byteLength(text)
    this.bytes += bytes
    this.tokens += bytes
  }

  /** The text that an event adds. Some vendors send no pieces of an item, or only some, and then the whole item. */
  private newText({ output, whole }: Reading): string | undefined {
    if ((output?.kind === 'shown' || output?.kind === 'words') && output.text) return output.text
    const missing = whole ? this.endedLength + whole.length - this.textLength : 0
    return missing > 0 ? whole?.slice(-missing) : undefined
  }

  /** The output in an event, which is not added. No tokenizer makes more tokens than it has bytes. */
  textIn(json: object): string {
    return this.newText(this.readSafely(json)) ?? ''
  }

  /** Maximum number of output tokens in the events that were added, including hidden ones that the vendor has reported. */
  mostTokens(): number {
    return this.tokens
  }

  /** Uses a count of the text instead of its bytes, unless the vendor has counted. */
  recount(tokens: number): void {
    if (this.reportedTokens === 0) this.tokens = Math.min(this.tokens, tokens)
  }

  /** Whether the vendor has reported the usage. */
  isMeasured(): boolean {
    return this.usage.isSure()
  }

  /** Whether the vendor has reported any usage, plausible or not. */
  hasFigures(): boolean {
    return this.usage.hasFigures()
  }

  /** The vendor's accepted figures; undefined if the output must be counted. */
  believed(): Quantities | undefined {
    return this.usage.believed()
  }

  /** Whether the last figures are lower than the accepted ones. */
  hasShrunk(): boolean {
    return this.usage.hasShrunk()
  }

  /** Whether the vendor has reported the service tier. */
  isTierKnown(): boolean {
    return this.serviceTier !== undefined
  }

  hasOutput(): boolean {
    return this.output === 'shown' || this.output === 'words'
  }

  failure(): object | undefined {
    return this.errorEvent
  }

  finished(): boolean {
    return this.isFinished
  }

  outcome(endedBy: EndedBy): Outcome {
    const { serviceTier, output, calls, made } = this
    return {
      endedBy,
      ...this.usage.summary(this.calls),
      serviceTier,
      ...this.text.counted(),
      output,
      calls,
      made,
      failed: this.errorEvent !== undefined,
    }
  }

  private noteTokens({ kind, figures }: UsageReading): void {
    if (kind === 'start' || figures === 'invalid') return
    const tokens = outputTokensOf(figures)
    if (tokens * BYTES_FOR_TOKEN < this.bytes) return
    this.reportedTokens = tokens
    this.tokens = tokens
  }

  /** Reads an event without failing: an event of unknown form must not end the stream. */
  private readSafely(event: object): Reading {
    try {
      return this.readEvent(event)
    } catch {
      return SILENT
    }
  }
}

/** The vendor's figures, collected from one event after another. */
class UsageTally {
  private readonly judge: TallyOptions['judge']
  /** The largest accepted figures so far, for all units. */
  private figures: Quantities | undefined
  /** True if the last figures were lower than earlier ones. */
  private isLower = false
  private usage: ReportedUsage
  /** True if the figures were reported before the output. */
  private early = false
  private reported: unknown = null

  constructor(judge: TallyOptions['judge']) {
    this.judge = judge
  }

  take({ kind, figures, reported }: UsageReading, event: { usage?: unknown }): void {
    const isPart = kind === 'start' || kind === 'update'
    const most = this.believe(isPart ? joined(this.figures, figures) : figures)
    this.early = kind === 'start'
    // Their output tokens are then not a count yet.
    if (most) this.figures = this.early ? withoutSide('output', most) : most
    const written = reported ?? event.usage ?? null
    this.reported = isPart ? { ...(this.reported as object | null), ...withoutNulls(written) } : written
  }

  /** The accepted figures, including these; undefined if these are impossible. */
  private believe(figures: Quantities | 'invalid'): Quantities | undefined {
    this.usage = this.judge(figures)
    this.isLower = false
    if (figures === 'invalid' || this.usage === 'invalid') return undefined
    const most = this.figures ? nonDecreasing(this.figures, figures) : figures
    this.isLower = most !== figures
    if (this.isLower) this.usage = this.judge(most)
    return most
  }

  /** Marks the figures as unreadable. */
  spoil(): void {
    this.usage = 'invalid'
  }

  isSure(): boolean {
    return this.believed() !== undefined
  }

  hasFigures(): boolean {
    return this.usage !== undefined
  }

  /** The figures of an answer with output; undefined if its output must be counted. A side without tokens was not counted. */
  believed(): Quantities | undefined {
    const { figures, usage, early } = this
    if (!figures || usage === undefined || usage === 'invalid' || early) return undefined
    const ofTokens = 'input_token' in figures || 'output_token' in figures
    return ofTokens && (inputTokensOf(figures) === 0 || outputTokensOf(figures) === 0) ? undefined : figures
  }

  hasShrunk(): boolean {
    return this.isLower
  }

  /** The figures, with calls that they do not include. */
  summary(calls: Quantities): Pick<Outcome, 'usage' | 'early' | 'usageJson'> {
    const { early, reported } = this
    const isSilent = isObject(this.usage) && Object.keys(calls).some((unit) => !(unit in Object(this.usage)))
    const joint = isSilent ? this.judge({ ...calls, ...(this.usage as Quantities) }) : this.usage
    // Calls that this request cannot have made do not invalidate the figures.
    const usage = isSilent && joint === 'invalid' ? this.usage : joint
    return { usage, early, usageJson: reported === null ? null : JSON.stringify(reported) }
  }
}

/** The text that a model wrote, as far as it is kept, and the length of the rest. */
class CountedText {
  private text = ''
  private textOmitted = 0

  add(more: string): void {
    if (this.text.length < TEXT_LENGTH) this.text += more
    else this.textOmitted += more.length
  }

  counted(): Pick<Outcome, 'text' | 'textOmitted'> {
    return { text: this.text, textOmitted: this.textOmitted }
  }
}

export function streamContract(model: Model) {
  const stream = streamOf(model.family)
  if (!stream) throw new Error(`${model.family.name} has no streams`)
  return stream
}

/** Merges figures: later ones replace earlier ones, and partial ones leave the rest unchanged. */
function joined(before: Quantities | undefined, usage: Quantities | 'invalid'): Quantities | 'invalid' {
  if (usage === 'invalid') return usage
  const sum = { ...before, ...usage }
  const { cache_write_token: written, cache_write_1h_token: long = 0 } = sum
  if (long > 0 && written !== undefined && usage.cache_write_1h_token === undefined) {
    // A total of all cache writes includes the part with the longer lifetime, even if it does not say so.
    sum.cache_write_token = usage.cache_write_token === undefined ? written : Math.max(0, written - long)
  }
  return sum
}

function withoutNulls(figures: unknown): object {
  return Object.fromEntries(Object.entries(figures ?? {}).filter(([, figure]) => figure !== null))
}
