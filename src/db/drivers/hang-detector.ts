// Detects a server that has answered nothing for a time while a query was pending: a server that hangs, or whose
// network drops packets, closes no connection. It must never count time in which nothing is pending.

/** Checks for a silence after which connections are closed. A single late check may mean that this process itself was suspended. */
const CHECKS = 4

export class SilenceWatch {
  private running = 0
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

  /** Watches while the work runs. Resolves and rejects as the work does. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running++ === 0) this.answered()
    this.timer ??= this.check()
    try {
      return await work()
    } finally {
      this.running--
      this.answered()
    }
  }

  /** Records an answer in the middle of some work. */
  answered(): void {
    this.quiet = 0
  }

  private check(): Timer {
    const timer = setTimeout(() => {
      this.timer = undefined
      if (this.running === 0) return
      this.timer = this.check()
      this.onQuiet(++this.quiet)
    }, this.checkMs)
    timer.unref()
    return timer
  }
}

/** Watches for a silence of the given milliseconds, and again after as many. */
export function watchSilence(limitMs: number, onSilent: () => void): SilenceWatch {
  const watch = new SilenceWatch(limitMs / CHECKS, (quietChecks) => {
    if (quietChecks < CHECKS) return
    watch.answered()
    onSilent()
  })
  return watch
}
