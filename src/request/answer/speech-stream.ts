// Sends an audio file to the caller while it grows. The charge must be settled before the last byte is sent, and audio
// that breaks off must never end like a complete file.

import { MAX_SAVED_LENGTH } from '../../billing/ledger/idempotency'
import { type Outcome, plausible } from '../../billing/ledger/metering'
import type { AudioEvents } from '../../contract/audio'
import { callerLeft, cutError, type EndedBy, endedByOf } from '../../contract/failures'
import { errorBody, GatewayError } from '../../lib/errors'
import { noteFailure } from '../../request-log/failure'
import { isSaved } from '../cache/cache-rules'
import { endStream, type Line } from '../ending'
import type { Reservation } from '../reservation'
import { receiptOf, withReceipt } from './receipt'
import type { AudioNotes } from './upstream-audio'

/** The bytes of a file: yields them as they arrive, and returns the last ones, which may be all of them. */
export type AudioFile = AsyncGenerator<Uint8Array, Uint8Array, void>

/** A file whose first bytes have arrived. */
interface GrowingFile {
  first: Uint8Array
  rest: AudioFile
  contentType: string
  notes: AudioNotes
  /** The events that carry the file; undefined if its bytes are sent. */
  events: AudioEvents | undefined
}

/** After a caller has taken no byte for this long it counts as gone, in milliseconds. */
const STALL_MS = 300_000
/** How long the connection may flush before it is closed, in milliseconds: the caller has paid for the sent bytes. */
const FLUSH_MS = 50
/** How long the vendor's audio is still read after its caller disconnected, in milliseconds. */
const DRAIN_MS = 120_000
/** Maximum size of a file that is stored as the result of a task. */
const MAX_RESULT_BYTES = 64 * 1024 * 1024
const NOTHING = new Uint8Array()

export class SpeechStream {
  readonly body: ReadableStream<Uint8Array>
  private readonly line: Line
  private readonly reservation: Reservation
  private readonly file: GrowingFile
  /** Sent bytes, for a repeated request and for the cache; no more than can be stored. */
  private readonly kept: Uint8Array[] = []
  private keptBytes = 0
  /** The first bytes, until they are sent. */
  private early: IteratorResult<Uint8Array, Uint8Array> | undefined
  /** The deadline of all waits, on the monotonic clock. */
  private lastAt: number
  private waitsForUpstream = false
  private isGone = false
  private delivered = false
  private ending: Promise<void> | undefined
  /** The last event of a whole file. */
  private closing: Uint8Array = NOTHING
  private output: ReadableStreamDefaultController<Uint8Array> | undefined

  constructor(line: Line, reservation: Reservation, file: GrowingFile) {
    this.line = line
    this.reservation = reservation
    this.file = file
    this.early = { done: false, value: file.first }
    const {
      request: { model },
      logRow,
      cancelToken,
    } = reservation
    this.lastAt = logRow.startedAt + model.upstream.maxDurationMs
    // From here on, the audio checks its own deadlines.
    this.waitAtMost(STALL_MS)
    cancelToken.signal.addEventListener('abort', this.interrupt)
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (output) => {
          this.output = output
        },
        pull: () => this.pull(),
        cancel: () => this.leave(),
      },
      { highWaterMark: 0 },
    )
  }

  private async pull(): Promise<void> {
    try {
      await this.step()
    } catch (error) {
      await this.breakOff(error, endedByOf(error)).catch(() => {})
      await this.fail(error)
    }
  }

  /** Passes one piece on. True when there is no more. */
  private async step(): Promise<boolean> {
    const { done, value } = await this.take()
    if (this.ending) return true
    this.keep(value)
    this.delivered ||= value.length > 0
    if (done) await this.end('done')
    if (this.isGone) return done === true
    if (value.length > 0) this.output?.enqueue(value)
    if (done) {
      if (this.closing.length > 0) this.output?.enqueue(this.closing)
      this.output?.close()
    }
    return done === true
  }

  private async take(): Promise<IteratorResult<Uint8Array, Uint8Array>> {
    const { early } = this
    if (early) {
      this.early = undefined
      return early
    }
    this.waitsForUpstream = true
    this.waitAtMost(this.reservation.request.model.upstream.idleTimeoutMs)
    const result = await this.file.rest.next()
    this.waitsForUpstream = false
    this.waitAtMost(STALL_MS)
    return result
  }

  private waitAtMost(milliseconds: number): void {
    this.reservation.deadlineAt = Math.min(this.line.world.monotonic() + milliseconds, this.lastAt)
  }

  private keep(bytes: Uint8Array): void {
    if (this.reservation.task) this.checkLength(bytes.length)
    else if (!isSaved(this.reservation) || this.keptBytes > MAX_SAVED_LENGTH) return
    this.kept.push(bytes)
    this.keptBytes += bytes.length
  }

  /** Throws for a file that is too large to be stored as the result of a task: it must not be truncated. */
  private checkLength(more: number): void {
    if (this.keptBytes + more <= MAX_RESULT_BYTES) return
    throw new GatewayError(502, {
      code: 'sound_too_long',
      message: `The upstream made more audio than can be stored for a task (${MAX_RESULT_BYTES} bytes). Send a shorter text.`,
      headers: { 'x-should-retry': 'false' },
    })
  }

  /** Settles, once. */
  private end(endedBy: EndedBy): Promise<void> {
    const { line, reservation, file } = this
    reservation.cancelToken.signal.removeEventListener('abort', this.interrupt)
    if (this.ending) return this.ending
    const outcome = outcomeOfSpeech(reservation, endedBy, this.delivered, file.notes)
    const ended = endStream(line, reservation, outcome, (usage) => {
      if (file.events && endedBy === 'done') this.closing = Buffer.from(file.events.end(usage))
      this.keep(this.closing)
      const kept = Buffer.concat(this.kept)
      return { status: 200, contentType: file.contentType, body: file.events ? kept.toString() : kept }
    })
    this.ending = file.events && endedBy === 'done' ? ended.then(() => this.addReceipt()) : ended
    return this.ending
  }

  private async addReceipt(): Promise<void> {
    const receipt = await receiptOf(this.line.world, this.reservation)
    if (receipt !== undefined) this.closing = withReceipt(this.closing, receipt)
  }

  /** Cuts the audio off before its end. */
  private breakOff(error: unknown, endedBy: EndedBy): Promise<void> {
    if (this.ending) return this.ending
    const { logRow, cancelToken } = this.reservation
    if (!this.isGone) noteFailure(logRow, error)
    const ended = this.end(this.isGone ? 'client' : endedBy)
    cancelToken.abort(error)
    this.file.rest.return(NOTHING).catch(() => {})
    return ended
  }

  /** Called when the deadline has expired, or the gateway shuts down. */
  private readonly interrupt = (): void => {
    const { reason } = this.reservation.cancelToken.signal
    const endedBy = endedByOf(reason)
    // While the vendor's audio waits, it is the caller who is slow.
    const ended = this.breakOff(reason, endedBy === 'timeout' && !this.waitsForUpstream ? 'client' : endedBy)
    void ended.catch(() => {}).then(() => this.fail(reason))
  }

  /** Fails the stream: a stream of events by one that says why, a stream of bytes by breaking the connection. */
  private async fail(error: unknown): Promise<void> {
    if (this.delivered) await new Promise<void>((resolve) => this.line.world.after(FLUSH_MS, resolve))
    const { output } = this
    if (this.isGone || !output) return
    // An expired deadline and the read that it aborts both fail.
    this.output = undefined
    if (!this.file.events) {
      output.error(error)
      return
    }
    const { request, logRow } = this.reservation
    const known = error instanceof GatewayError ? error : cutError(endedByOf(error))
    const data = JSON.stringify(errorBody(known, request.family.dialect, logRow.id))
    output.enqueue(Buffer.from(`data: ${data}\n\n`))
    output.close()
  }

  private leave(): void {
    this.isGone = true
    if (this.ending) return
    // Only a caller with an idempotency key can return for the rest. Draining brings the vendor's figures, if it has any.
    const { idempotencyKey, request } = this.reservation
    if (!idempotencyKey && request.model.upstream.onAbort !== 'drain') {
      this.breakOff(callerLeft(), 'client').catch(() => {})
      return
    }
    this.lastAt = Math.min(this.lastAt, this.line.world.monotonic() + DRAIN_MS)
    this.drain().catch((error) => this.breakOff(error, 'client').catch(() => {}))
  }

  private async drain(): Promise<void> {
    while (!(await this.step())) {
      // Stored, not sent.
    }
  }
}

/**
 * The outcome of speech. A price per character is charged in full once audio has been sent; tokens as the vendor counts them,
 * otherwise by an estimate of the output that has arrived.
 */
export function outcomeOfSpeech(
  { request: { parsed, model, family } }: Reservation,
  endedBy: EndedBy,
  delivered: boolean,
  { usage, usageJson, bytes, type }: AudioNotes,
): Outcome {
  const audio = family.kind === 'speech' ? family.audio : undefined
  return {
    endedBy,
    usage: plausible(usage?.figures, parsed, model),
    usageJson,
    text: '',
    textOmitted: 0,
    output: delivered ? 'shown' : undefined,
    made: audio?.kind === 'file' ? audio.estimate?.(bytes, parsed.body, model, type) : undefined,
    failed: false,
  }
}
