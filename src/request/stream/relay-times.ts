// Measures how long the sides of a stream have been silent, and which limits that exceeds. It must not decide what
// follows.

import type { Model } from '../../contract/family'
import { KEEP_ALIVE_MS } from '../../lib/sse'
import type { RelayEvent } from './relay-table'

/** After a caller has taken no byte for this long it counts as gone, in milliseconds. */
const STALL_MS = 300_000

/** Times of a stream, all on the monotonic clock. */
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

  /** Records that the vendor has sent something. */
  came(): void {
    this.lastPieceAt = this.monotonic()
  }

  /** Records that the caller has asked for more. */
  pulled(): void {
    this.lastPullAt = this.monotonic()
  }

  /** Records that something was sent to the caller. */
  sent(): void {
    this.lastSentAt = Math.max(this.lastPieceAt, this.lastPullAt)
  }

  /** Records that a keep-alive was sent. */
  keptAlive(): void {
    this.lastSentAt = this.monotonic()
  }

  /** Reports each exceeded limit; the state of the stream decides which of them matter. */
  check(now: number, on: (event: RelayEvent) => void): void {
    const { maxDurationMs, idleTimeoutMs } = this.model.upstream
    if (now - this.startedAt > maxDurationMs) on('overdue')
    // A vendor is not silent while nobody reads it, and a caller does not stall while there is nothing to read.
    if (now - Math.max(this.lastPieceAt, this.lastPullAt) > idleTimeoutMs) on('silent')
    if (now - this.lastSentAt > STALL_MS) on('stalled')
    if (now - this.lastSentAt >= KEEP_ALIVE_MS) on('quiet')
  }
}
