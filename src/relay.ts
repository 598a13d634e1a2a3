// Carries a vendor's event stream to the caller and reads its usage on the side.
// Whole events pass as the bytes they came in, at the caller's pace, with constant memory; `finish` is called once,
// whatever ends the stream, and always before the last byte goes out, so that no answer is complete before it is paid.

import type { Model } from './family'
import type { EndedBy } from './ledger'
import type { Outcome } from './metering'
import type { Pulse } from './pulse'
import type { StreamMeter } from './stream-meter'

export interface RelayOptions {
  meter: StreamMeter
  model: Model
  /** Read on when the caller leaves, for the vendor's true usage. */
  drain: boolean
  startedAt: number
  pulse: Pulse
  now: () => number
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

export function relayEvents(
  source: ReadableStream<Uint8Array>,
  options: RelayOptions,
): ReadableStream<Uint8Array> {
  const reader = source.getReader()
  const { meter } = options
  const keepAlive = Buffer.from(options.keepAlive)
  let finishing: Promise<void> | undefined
  let stopped: EndedBy | undefined
  let waitsForVendor = false
  let callerLeft = false
  let lastPieceAt = options.now()
  let lastSentAt = lastPieceAt
  let lastPullAt = lastPieceAt
  let output: ReadableStreamDefaultController<Uint8Array>

  function finish(endedBy: EndedBy): Promise<void> {
    stopWatching()
    finishing ??= options.finish(meter.outcome(endedBy))
    return finishing
  }

  /** Ends the call to the vendor from our side; the pending read then fails. */
  function stop(endedBy: EndedBy): void {
    stopped ??= endedBy
    options.abort()
    reader.cancel().catch(() => {})
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
    lastSentAt = options.now()
    if (!callerLeft) output.enqueue(bytes)
  }

  /** Reads until something was sent or the stream ended. With callbacks: an async function costs more than a piece does. */
  function step(): Promise<void> {
    waitsForVendor = true
    return reader.read().then(take)
  }

  /** Passes the whole events of one piece on. */
  function take({ done, value }: Awaited<ReturnType<typeof reader.read>>): Promise<void> | undefined {
    waitsForVendor = false
    lastPieceAt = options.now()
    if (stopped) throw new Error('stopped')
    if (done) return complete()
    const { bytes, end } = meter.push(value)
    options.capture?.(bytes)
    if (end) return close(bytes)
    // Only a part of an event, or one that is hidden: read on.
    if (bytes.length === 0) return step()
    send(bytes)
  }

  /** The closing event is there: it is paid for before it is sent. */
  async function close(bytes: Buffer): Promise<void> {
    await finish('done')
    // Most vendors close at once; one that does not shall not keep the caller waiting.
    setTimeout(() => reader.cancel().catch(() => {}), CLOSE_MS).unref()
    if (bytes.length > 0) send(bytes)
    else await step()
  }

  /** The vendor closed the stream. */
  async function complete(): Promise<void> {
    const rest = meter.close()
    options.capture?.(rest)
    const whole = meter.isComplete()
    await finish(whole ? 'done' : 'upstream')
    if (rest.length > 0) send(rest)
    if (!whole && !meter.failed()) send(Buffer.from(options.errorEvent('upstream')))
    if (!callerLeft) output.close()
  }

  async function fail(): Promise<void> {
    const endedBy = stopped ?? options.whyCut()
    stop(endedBy)
    const settled = finishing !== undefined
    await finish(endedBy)
    // After the closing event, or the vendor's own error, there is nothing left to tell the caller.
    if (!settled && !meter.failed()) send(Buffer.from(options.errorEvent(endedBy)))
    if (!callerLeft) output.close()
  }

  /** Reading failed, or what came could not be taken in. */
  async function broken(error: unknown): Promise<void> {
    if (callerLeft) return
    await fail().catch(() => output.error(error))
  }

  /** The caller is gone. */
  function leave(): void {
    callerLeft = true
    if (finishing) return
    if (!options.drain) {
      stop('client')
      finish('client').catch(() => {})
      return
    }
    const deadline = setTimeout(() => stop('client'), DRAIN_MS)
    void (async () => {
      try {
        while (!finishing) await step()
      } catch {
        stop('client')
        await finish('client')
      } finally {
        clearTimeout(deadline)
      }
    })().catch(() => {})
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller
      },
      pull() {
        lastPullAt = options.now()
        return step().catch(broken)
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}
