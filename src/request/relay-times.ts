// How long the sides of a stream have been still, and which limits are passed by that. It must not decide what follows.

import type { Model } from '../contract/family'
import type { RelayEvent } from './relay-table'

const KEEP_ALIVE_MS = 15_000
/** A caller that takes no byte for this long is gone. */
const STALL_MS = 300_000

/** All times are on the monotonic clock. */
export class RelayTimes {
  private readonly startedAt: number
  private readonly model: Model
  private readonly monotonic: () => number
  private lastPieceAt: number
  private lastPullAt: number
  private lastSentAt: number

  constructor(options: { startedAt: number; model: Model; monotonic: () => number }) {
    this.startedAt = options.startedAt
    this.model = options.model
    this.monotonic = options.monotonic
    this.lastPieceAt = options.monotonic()
    this.lastPullAt = this.lastPieceAt
    this.lastSentAt = this.lastPieceAt
  }

  /** The vendor has sent something. */
  came(): void {
    this.lastPieceAt = this.monotonic()
  }

  /** The caller has asked for more. */
  pulled(): void {
    this.lastPullAt = this.monotonic()
  }

  /** Something goes to the caller: what the vendor has just sent, or what was kept until the caller has just asked. */
  sent(): void {
    this.lastSentAt = Math.max(this.lastPieceAt, this.lastPullAt)
  }

  /** Something was sent in silence. */
  keptAlive(): void {
    this.lastSentAt = this.monotonic()
  }

  /** Tells each limit that is passed: the state of the stream says which of them matter. */
  check(now: number, on: (event: RelayEvent) => void): void {
    const { maxDurationMs, idleTimeoutMs } = this.model.upstream
    if (now - this.startedAt > maxDurationMs) on('overdue')
    // A vendor is not silent while nobody reads it, and a caller does not stall while there is nothing to read.
    if (now - Math.max(this.lastPieceAt, this.lastPullAt) > idleTimeoutMs) on('silent')
    if (now - this.lastSentAt > STALL_MS) on('stalled')
    if (now - this.lastSentAt >= KEEP_ALIVE_MS) on('quiet')
  }
}
