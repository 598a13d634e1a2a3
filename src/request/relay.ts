// Carries a vendor's event stream to the caller and reads its usage on the side.
// Whole events pass as the bytes they came in, at the caller's pace, with constant memory; `finish` is called once,
// whatever ends the stream, and always before the last byte goes out, so that no answer is complete before it is paid.

import type { Outcome } from '../billing/metering'
import type { EndedBy } from '../contract/failures'
import type { Model } from '../contract/family'
import type { HttpBody } from '../http-client/response'
import type { After } from '../lib/system'
import type { Pulse } from '../lib/ticker'
import type { StreamMeter } from './stream-meter'

export interface RelayOptions {
  meter: StreamMeter
  model: Model
  /** Read on when the caller leaves, for the vendor's true usage. */
  drain: boolean
  /** On the monotonic clock, as all times here. */
  startedAt: number
  pulse: Pulse
  monotonic: () => number
  after: After
  /** Settles. Called once; the stream does not end before it resolves. It logs its own failure: the caller may be gone. */
  finish(outcome: Outcome): Promise<void>
  /** Stops the call to the vendor. */
  abort(): void
  /** Why the call to the vendor broke, where it was not this stream that stopped it. */
  whyCut(): EndedBy
  /** The event that tells the caller why the stream ends early. */
  errorEvent(endedBy: EndedBy): string
  /** Sent in silence, so that no proxy or client takes the stream for dead. */
  keepAlive: string
  /** Sees all that goes to the caller. */
  capture?(bytes: Buffer): void
}

const KEEP_ALIVE_MS = 15_000
/** A caller that takes no byte for this long is gone. */
const STALL_MS = 300_000
/** How long a vendor may leave a stream open after its closing event. */
const CLOSE_MS = 1_000
/** How long a stream is read on after its caller left. */
const DRAIN_MS = 120_000

export function relayEvents(source: HttpBody, options: RelayOptions): ReadableStream<Uint8Array> {
  const { meter } = options
  const keepAlive = Buffer.from(options.keepAlive)
  let finishing: Promise<void> | undefined
  /** Resolves when the closing event has been paid for and sent. */
  let closing: Promise<void> | undefined
  let stopped: EndedBy | undefined
  let isBroken = false
  let hasBegun = false
  let hasEnded = false
  let waitsForVendor = false
  let callerLeft = false
  let lastPieceAt = options.monotonic()
  let lastSentAt = lastPieceAt
  let lastPullAt = lastPieceAt
  let cancelDrainDeadline: (() => void) | undefined
  /** What came before the caller wanted it; nearly always empty. */
  const early: Uint8Array[] = []
  let output: ReadableStreamDefaultController<Uint8Array>

  function finish(endedBy: EndedBy): Promise<void> {
    stopWatching()
    cancelDrainDeadline?.()
    finishing ??= options.finish(meter.outcome(endedBy))
    return finishing
  }

  /** Ends the call to the vendor from our side; the source then fails, or ends. */
  function stop(endedBy: EndedBy): void {
    stopped ??= endedBy
    begin()
    options.abort()
    source.cancel()
    // A source that has ended, while its last pieces wait for the caller, says nothing any more.
    if (hasEnded) broken()
  }

  const stopWatching = options.pulse.watch((now) => {
    if (now - options.startedAt > options.model.upstream.maxDurationMs) return stop('timeout')
    if (callerLeft) return
    // A vendor is not silent while nobody reads it, and a caller does not stall while there is nothing to read.
    const waitsSince = Math.max(lastPieceAt, lastPullAt)
    if (waitsForVendor && now - waitsSince > options.model.upstream.idleTimeoutMs) return stop('timeout')
    if (!waitsForVendor && now - lastSentAt > STALL_MS) {
      output.error(new Error('the client stopped reading'))
      return leave()
    }
    if (waitsForVendor && now - lastSentAt >= KEEP_ALIVE_MS) {
      lastSentAt = now
      output.enqueue(keepAlive)
    }
  })

  function send(bytes: Uint8Array): void {
    if (callerLeft || bytes.length === 0) return
    lastSentAt = options.monotonic()
    waitsForVendor = false
    output.enqueue(bytes)
  }

  function begin(): void {
    if (hasBegun) return
    hasBegun = true
    source.start({ data: take, end, fail: broken })
  }

  /** The caller wants more; or is gone, and we want the rest. */
  function read(): void {
    waitsForVendor = true
    begin()
    while (waitsForVendor && early.length > 0) pass(early.shift() as Uint8Array)
    if (!waitsForVendor || early.length > 0) return
    if (hasEnded) end()
    else source.resume()
  }

  function take(piece: Uint8Array): void {
    lastPieceAt = options.monotonic()
    if (waitsForVendor || closing) {
      pass(piece)
      return
    }
    early.push(piece)
    source.pause()
  }

  /** Passes the whole events of one piece on. */
  function pass(piece: Uint8Array): void {
    if (isBroken) return
    try {
      const { bytes, end, excess } = meter.push(piece)
      options.capture?.(bytes)
      if (end) sendLast(close(bytes))
      else send(bytes)
      // The connection is not used again.
      if (excess) source.cancel()
    } catch {
      broken()
    }
  }

  function sendLast(work: Promise<void>): void {
    closing = work
    work.catch(lost)
  }

  /** The closing event is there: it is paid for before it is sent. */
  async function close(bytes: Buffer): Promise<void> {
    await finish('done')
    // Most vendors close at once; one that does not shall not keep the caller waiting.
    options.after(CLOSE_MS, () => source.cancel())
    send(bytes)
  }

  function end(): void {
    if (isBroken) return
    hasEnded = early.length > 0
    if (stopped) broken()
    else if (!hasEnded) complete().catch(lost)
  }

  /** The vendor closed the stream. */
  async function complete(): Promise<void> {
    await closing
    const rest = meter.close()
    options.capture?.(rest)
    const whole = meter.isComplete()
    await finish(whole ? 'done' : 'upstream')
    send(rest)
    if (!whole && !meter.failed()) send(Buffer.from(options.errorEvent('upstream')))
    if (!callerLeft) output.close()
  }

  async function fail(): Promise<void> {
    const endedBy = callerLeft ? 'client' : (stopped ?? options.whyCut())
    stop(endedBy)
    const settled = finishing !== undefined
    await finish(endedBy)
    await closing
    // After the closing event, or the vendor's own error, there is nothing left to tell the caller.
    if (!settled && !meter.failed()) send(Buffer.from(options.errorEvent(endedBy)))
    if (!callerLeft) output.close()
  }

  /** The vendor broke off, was stopped, or sent what could not be taken in. */
  function broken(): void {
    if (isBroken) return
    isBroken = true
    fail().catch(lost)
  }

  /** The end could not be written down: the caller must not take the answer for a whole one. */
  function lost(error: unknown): void {
    isBroken = true
    options.abort()
    source.cancel()
    if (callerLeft) return
    callerLeft = true
    output.error(error)
  }

  /** The caller is gone. */
  function leave(): void {
    callerLeft = true
    if (finishing) return
    if (options.drain) {
      cancelDrainDeadline = options.after(DRAIN_MS, () => stop('client'))
      read()
    } else {
      stop('client')
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller
      },
      pull() {
        lastPullAt = options.monotonic()
        read()
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}
