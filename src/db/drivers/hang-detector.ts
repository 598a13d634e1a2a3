// Detects missing answers: a server that hangs, or whose network drops packets, closes no connection. A server is watched as a whole,
// and each piece of work by itself: one connection can be dead, and a commit can wait for a disk or a replica, while everything else
// is answered. It must never count time in which nothing is pending.

/** Checks for a silence after which connections are closed. A single late check may mean that this process itself was suspended. */
const CHECKS = 4

/** Work that waits for an answer. */
interface Waiting {
  /** Consecutive checks without an answer to it. */
  quietChecks: number
  onLate: (() => void) | undefined
}

export class SilenceWatch {
  private readonly waiting = new Set<Waiting>()
  private quiet = 0
  private timer: Timer | undefined

  /** Calls `onQuiet` after each check that found no answer since the previous one, with the number of such checks in a row. */
  constructor(
    private readonly checkMs: number,
    private readonly onQuiet: (quietChecks: number) => void,
  ) {}

  /** Consecutive checks that found no answer while a query was pending. */
  get quietChecks(): number {
    return this.quiet
  }

  /**
   * Watches while the work runs. Resolves and rejects as the work does. The work calls `answered` after each partial answer.
   * `onLate` is called after four checks without an answer to this work, and again after each further four, even if other work is
   * answered.
   */
  async during<Result>(
    work: (answered: () => void) => Promise<Result>,
    onLate?: () => void,
  ): Promise<Result> {
    if (this.waiting.size === 0) this.quiet = 0
    const waiting: Waiting = { quietChecks: 0, onLate }
    this.waiting.add(waiting)
    this.timer ??= this.check()
    try {
      return await work(() => {
        waiting.quietChecks = 0
        this.quiet = 0
      })
    } finally {
      this.waiting.delete(waiting)
      this.quiet = 0
    }
  }

  private check(): Timer {
    const timer = setTimeout(() => {
      this.timer = undefined
      if (this.waiting.size === 0) return
      this.timer = this.check()
      this.onQuiet(++this.quiet)
      for (const each of this.waiting) {
        if (++each.quietChecks % CHECKS === 0) each.onLate?.()
      }
    }, this.checkMs)
    timer.unref()
    return timer
  }
}

/** Watches for a silence of the given milliseconds, and again after as many. Without `onSilent`, only each piece of work is watched. */
export function watchSilence(limitMs: number, onSilent?: () => void): SilenceWatch {
  return new SilenceWatch(limitMs / CHECKS, (quietChecks) => {
    if (quietChecks % CHECKS === 0) onSilent?.()
  })
}
