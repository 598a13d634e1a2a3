// Watches the beginning of a vendor's stream while a route has another model: an answer that is empty, withheld or broken off is
// not started. It passes the stream on with the first output, and must never make a caller wait longer than its limit.

import { measure, plausible, type ReportedUsage } from '../../billing/ledger/metering'
import { garbage } from '../../contract/failures'
import { hasFailed, hasFinished } from '../../contract/reading'
import { type BodySink, HttpBody } from '../../http-client/response'
import { createEventSplitter, dataOfEvent, objectIn, splitEvents } from '../../lib/sse'
import type { Line } from '../ending'
import type { Reservation } from '../reservation'
import { StreamTally, streamContract } from '../stream/tally'
import { cutWhenCallerLeaves } from '../upstream-call'
import { leftAfter } from './fallback'
import { costOf, UnwantedAnswer } from './unwanted'

/** How long a stream without output is watched, in milliseconds: the caller must get something before proxies give up. */
const WATCH_MS = 10_000
/** Maximum size of a beginning without output, in bytes. */
const MAX_BYTES = 64 * 1024

/**
 * The whole stream, once its first output has arrived or it was watched for long enough. Throws instead of a rejected one: an
 * UnwantedAnswer, or the failure that the vendor reports.
 */
export async function startOfStream(
  { world }: Line,
  reservation: Reservation,
  source: HttpBody,
  caller: Parameters<typeof cutWhenCallerLeaves>[1],
): Promise<HttpBody> {
  const { unwanted, cancelToken, request } = reservation
  if (!unwanted) return source
  const { parsed, model } = request
  const judge = (usage: ReportedUsage) => plausible(usage, parsed, model)
  const tally = new StreamTally({ model, judge })
  const start = new StreamStart(source, tally, streamContract(model).end)
  const cancelLimit = world.after(WATCH_MS, () => start.decide('begun'))
  const stopListening = cutWhenCallerLeaves(reservation, caller)
  try {
    source.start(start)
    if ((await start.decision) === 'begun') return start.whole
    const failure = tally.failure()
    const error = failure && model.upstream.errorOf(400, failure)
    if (error && leftAfter(error, reservation).length > 0) throw error
    const outcome = tally.outcome('done')
    const measured = await measure(outcome, parsed, model, world.tokenCounter)
    const reason = start.isFiltered ? 'filtered' : measured || error ? undefined : 'empty'
    if (reason === undefined || !unwanted.has(reason)) return start.whole
    throw new UnwantedAnswer(reason, costOf(outcome, measured, parsed, model))
  } catch (error) {
    source.cancel()
    if (cancelToken.signal.aborted) throw cancelToken.signal.reason
    throw error instanceof BrokenOff ? garbage(model, 'cut off', error.cause) : error
  } finally {
    cancelLimit()
    stopListening()
  }
}

/** A stream that stopped early, or closed without an end, before any output. */
class BrokenOff extends Error {}

/** `begun` with the first output, `ended` with an end or a failure before any. */
type Verdict = 'begun' | 'ended'

/** Reads the events of a beginning, and keeps all bytes for the next reader of the stream. */
class StreamStart implements BodySink {
  readonly whole: HttpBody
  readonly decision: Promise<Verdict>
  readonly decide: (verdict: Verdict) => void
  isFiltered = false
  private readonly breakOff: (error: BrokenOff) => void
  private readonly splitter = createEventSplitter()
  private isWatching = true
  private byteLength = 0

  constructor(
    source: HttpBody,
    private readonly tally: StreamTally,
    /** The data that closes the stream; null if no data does. */
    private readonly closing: string | null,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<Verdict>()
    this.decision = promise
    this.decide = (verdict) => {
      this.isWatching = false
      resolve(verdict)
    }
    this.breakOff = reject
    this.whole = new HttpBody({
      pause: () => source.pause(),
      resume: () => source.resume(),
      cancel: () => source.cancel(),
    })
  }

  data(bytes: Uint8Array): void {
    this.whole.push(bytes)
    if (!this.isWatching) return
    this.byteLength += bytes.length
    this.read(this.splitter.push(bytes).toString('latin1'))
    if (this.byteLength > MAX_BYTES) this.decide('begun')
  }

  end(): void {
    this.whole.end()
    if (!this.isWatching) return
    this.read(`${this.splitter.rest().toString('latin1').trimEnd()}\n\n`)
    if (this.tally.finished()) this.decide('ended')
    else this.breakOff(new BrokenOff('the stream closed without an end'))
  }

  fail(error: unknown): void {
    this.whole.fail(error)
    this.breakOff(new BrokenOff('the stream stopped early', { cause: error }))
  }

  private read(events: string): void {
    for (const event of splitEvents(events)) {
      const data = dataOfEvent(event)
      const verdict = data === undefined ? undefined : this.verdictOf(data)
      if (verdict) this.decide(verdict)
      if (verdict) break
    }
  }

  private verdictOf(data: string): Verdict | undefined {
    if (data === this.closing) return 'ended'
    const reading = this.tally.read(data, objectIn(data))
    this.tally.add(reading)
    this.isFiltered ||= reading.isFiltered === true
    if (hasFailed(reading)) return 'ended'
    if (reading.output && !this.isFiltered) return 'begun'
    return this.closing === null && hasFinished(reading) ? 'ended' : undefined
  }
}
