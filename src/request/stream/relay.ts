// Carries a vendor's event stream to the caller and reads its usage as it passes. Whole events pass as bytes, at the caller's pace,
// with constant memory. `finish` is called once, whatever ends the stream, and the last byte must never be sent before it: no
// answer is complete before it is paid. Output that is not held is not sent.

import type { Outcome } from '../../billing/ledger/metering'
import type { EndedBy } from '../../contract/failures'
import type { Model } from '../../contract/family'
import type { BodySink, HttpBody } from '../../http-client/response'
import type { After } from '../../lib/system'
import type { Ticker } from '../../lib/ticker'
import type { Backlog, WaitingCaller } from './backlog'
import type { StreamHold } from './hold'
import type { StreamMeter } from './meter'
import { type RelayAction, type RelayEvent, type RelayState, relayStep } from './relay-table'
import { RelayTimes } from './relay-times'

export interface RelayOptions {
  meter: StreamMeter
  /** Absent if output is not charged. */
  hold?: StreamHold | undefined
  model: Model
  /** True if reading continues when the caller disconnects, to get the vendor's true usage. */
  drain: boolean
  /** Counts bytes that wait for callers. */
  backlog: Backlog
  /** Start, on the monotonic clock like all times here. */
  startedAt: number
  ticker: Ticker
  monotonic: () => number
  after: After
  /**
   * Settles. Called once; the stream does not end before it resolves. It logs its own failure: the caller may be gone.
   * Returns the closing events that depend on what is charged.
   */
  finish(outcome: Outcome): Promise<Uint8Array | undefined>
  /** Cuts off the call to the vendor. */
  abort(): void
  /** Why the call to the vendor broke, unless this stream stopped it. */
  whyCut(): EndedBy
  /** The event that says why the stream ends early. */
  errorEvent(endedBy: EndedBy): string
  /** Sent during silence, so that no proxy or client cuts the stream. */
  keepAlive(): string
  /** Receives everything that is sent to the caller. */
  capture?(bytes: Uint8Array): void
}

/** How long a vendor may leave a stream open after its closing event, in milliseconds. */
const CLOSE_MS = 1_000
/** How long a stream is still read after its caller disconnected, in milliseconds. */
const DRAIN_MS = 120_000
const NOTHING = Buffer.alloc(0)
/** Marks the end of a vendor's stream that closed before the caller wanted the last bytes. */
const END = Buffer.alloc(0)
const endings = {
  settleDone: 'done',
  settleTimeout: 'timeout',
  settleLeft: 'client',
} as const
/** States in which nothing is read: bytes are kept. */
const pauses: ReadonlySet<RelayState> = new Set(['idle', 'short', 'draining-short'])

/** States in which bytes that wait for the caller are counted: an ended answer would never be uncounted. */
const counted: ReadonlySet<RelayState> = new Set(['idle', 'waiting', 'short'])

export function relayEvents(source: HttpBody, options: RelayOptions): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(new Relay(source, options), { highWaterMark: 0 })
}

/** Reports events to the table and carries out its actions: the one place with the sockets and timers of a stream. */
class Relay implements BodySink, WaitingCaller {
  private readonly source: HttpBody
  private readonly options: RelayOptions
  private readonly times: RelayTimes
  private readonly stopWatching: () => void
  private cancelDrainLimit: (() => void) | undefined
  private state: RelayState = 'unread'
  /** The caller's side; undefined when the caller is gone. */
  private output: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Bytes that arrived before the caller wanted them; nearly always empty. */
  private readonly kept: Uint8Array[] = []
  /** Bytes that wait for the caller: those that were kept, and those sent since it last asked for more. */
  private waitingBytes = 0
  private held: Uint8Array = NOTHING
  private endedBy: EndedBy = 'done'
  /** Why the answer could not be settled. */
  private error: unknown

  constructor(source: HttpBody, options: RelayOptions) {
    this.source = source
    this.options = options
    this.times = new RelayTimes(options)
    this.stopWatching = options.ticker.watch((now) => this.times.check(now, (event) => this.on(event)))
  }

  private on(event: RelayEvent, bytes: Uint8Array = NOTHING): void {
    const step = relayStep(this.state, event)
    if (!step) return
    this.state = step.to
    for (const action of step.actions) this.act(action, bytes)
  }

  /** A switch, because calling methods by name takes a tenth of an event's time. */
  private act(action: RelayAction, bytes: Uint8Array): void {
    switch (action) {
      case 'resume':
        this.resume()
        break
      case 'read':
        this.read(bytes)
        break
      case 'send':
        this.send(bytes)
        break
      case 'keep':
        this.keep(bytes)
        break
      case 'hold':
        this.held = bytes
        break
      case 'sendHeld':
        this.send(this.held)
        break
      case 'begin':
        this.begin()
        break
      case 'keepAlive':
        this.keepAlive()
        break
      case 'explain':
        this.explain()
        break
      case 'close':
        this.output?.close()
        break
      case 'breakOff':
        this.output?.error(this.error)
        break
      case 'forgetCaller':
        this.output = undefined
        this.options.backlog.forget(this)
        break
      case 'giveUpCaller':
        this.giveUpCaller()
        break
      case 'extend':
        this.extend()
        break
      case 'abort':
        this.abort()
        break
      case 'closeSoon':
        this.options.after(CLOSE_MS, () => this.source.cancel())
        break
      case 'limitDrain':
        this.cancelDrainLimit = this.options.after(DRAIN_MS, () => this.on('drained'))
        break
      case 'settleRest':
        this.settleRest()
        break
      case 'settleShort':
        this.settle(this.options.hold?.shortOf ?? 'balance')
        break
      case 'settleCut':
        this.settle(this.options.whyCut())
        break
      default:
        this.settle(endings[action])
    }
  }

  // The caller's events.

  start(output: ReadableStreamDefaultController<Uint8Array>): void {
    this.output = output
  }

  pull(): void {
    this.times.pulled()
    this.waitingBytes = 0
    this.options.backlog.forget(this)
    this.on('pulled')
  }

  giveUp(): void {
    this.on('stalled')
  }

  cancel(): void {
    this.on(this.options.drain ? 'left-to-drain' : 'left')
  }

  // The vendor's events.

  data(bytes: Uint8Array): void {
    this.times.came()
    this.on('piece', bytes)
  }

  end(): void {
    if (this.kept.length > 0) this.kept.push(END)
    else this.on('ended')
  }

  fail(): void {
    this.on('broke')
  }

  private begin(): void {
    this.source.start(this)
    this.resume()
  }

  private resume(): void {
    const { kept } = this
    while (kept.length > 0 && !pauses.has(this.state)) {
      const bytes = kept.shift() as Uint8Array
      if (bytes === END) this.on('ended')
      else this.on('piece', bytes)
    }
    if (!pauses.has(this.state)) this.source.resume()
  }

  private keep(bytes: Uint8Array): void {
    this.kept.push(bytes)
    this.noteWaiting(bytes)
    this.source.pause()
  }

  private read(piece: Uint8Array): void {
    const { meter, hold, capture } = this.options
    try {
      const { bytes, end, short, excess } = meter.push(piece)
      capture?.(bytes)
      // The meter has the rest, and continues with it when something arrives.
      if (short) this.kept.unshift(NOTHING)
      if (end) this.on('last-events', bytes)
      else if (bytes.length > 0) this.on('events', bytes)
      if (short) this.on('short')
      else if (hold && !end && meter.mostTokens() > hold.renewAt) hold.renew(meter)
      // The connection is not used again.
      if (excess) this.source.cancel()
    } catch {
      this.on('broke')
    }
  }

  private send(bytes: Uint8Array): void {
    if (!this.output || bytes.length === 0) return
    this.times.sent()
    this.output.enqueue(bytes)
    this.noteWaiting(bytes)
  }

  private noteWaiting({ length }: Uint8Array): void {
    this.waitingBytes += length
    if (counted.has(this.state)) this.options.backlog.note(this, this.waitingBytes)
  }

  private keepAlive(): void {
    this.times.keptAlive()
    this.output?.enqueue(Buffer.from(this.options.keepAlive()))
  }

  private explain(): void {
    const { endedBy } = this
    if (endedBy === 'done' || this.options.meter.failure()) return
    this.send(Buffer.from(this.options.errorEvent(endedBy)))
  }

  private giveUpCaller(): void {
    this.output?.error(new Error('the client stopped reading'))
    this.cancel()
  }

  /** Waits for the hold to be extended. The extension is requested before it is needed, so this is rare. */
  private extend(): void {
    this.source.pause()
    const { meter, hold } = this.options
    void hold?.demand(meter).then((isHeld) => this.on(isHeld ? 'extended' : 'refused'))
  }

  private abort(): void {
    this.options.abort()
    this.source.cancel()
  }

  private settleRest(): void {
    const { meter, capture } = this.options
    try {
      const rest = meter.close()
      capture?.(rest)
      this.held = rest
      this.settle(meter.isComplete() ? 'done' : 'upstream')
    } catch {
      this.on('broke')
    }
  }

  private settle(endedBy: EndedBy): void {
    this.stopWatching()
    this.options.backlog.forget(this)
    this.cancelDrainLimit?.()
    this.endedBy = endedBy
    void this.finish()
  }

  private async finish(): Promise<void> {
    const { options, endedBy } = this
    try {
      const closing = await options.finish(options.meter.outcome(endedBy))
      if (closing && closing.length > 0) this.held = Buffer.concat([this.held, closing])
      this.on('settled')
    } catch (error) {
      this.error = error
      this.on('unsettled')
    }
  }
}
