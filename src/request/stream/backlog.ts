// The bytes of all answers of this process, streams and whole ones, that wait for callers who do not read. It limits the total
// memory of slow callers, and must never cut off one that reads in time while there is room.

import type { Log } from '../../lib/system'

/** Maximum number of bytes that wait for all callers together: twice the largest whole answer, so that one alone is never cut off. */
const MAX_BYTES = 512 * 1024 * 1024
/** A caller with fewer bytes is not counted: nearly all have less, and a process has at most 20,000 of them. */
const SMALL_BYTES = 16 * 1024

/** A caller that can be given up. */
export interface WaitingCaller {
  giveUp(): void
}

export class Backlog {
  /** Bytes by caller. The caller that has gone longest without taking anything is first. */
  private readonly waiting = new Map<WaitingCaller, number>()
  private bytes = 0

  constructor(
    private readonly log: Log,
    private readonly mostBytes = MAX_BYTES,
  ) {}

  get waitingBytes(): number {
    return this.bytes
  }

  /** Records how many bytes wait for a caller, and gives up the slowest callers while there are too many bytes. */
  note(caller: WaitingCaller, bytes: number): void {
    if (bytes <= SMALL_BYTES) {
      this.forget(caller)
      return
    }
    this.bytes += bytes - (this.waiting.get(caller) ?? 0)
    this.waiting.set(caller, bytes)
    while (this.bytes > this.mostBytes) this.giveUpSlowest()
  }

  /** Records that a caller has taken its bytes, or is gone. */
  forget(caller: WaitingCaller): void {
    // Nearly always: looking up a caller takes longer.
    if (this.waiting.size === 0) return
    this.bytes -= this.waiting.get(caller) ?? 0
    this.waiting.delete(caller)
  }

  private giveUpSlowest(): void {
    const [slowest] = this.waiting.keys()
    if (!slowest) throw new Error('bytes wait for no caller')
    this.log('slow_caller_cut', { waitingBytes: this.bytes, callers: this.waiting.size })
    this.forget(slowest)
    slowest.giveUp()
  }
}
