// Tells when a server has answered nothing for a time while something was asked of it: one that hangs, or whose network
// drops what is sent, closes no connection. It must never count the time in which nothing is asked.

/** A silence is told in these many looks: a process that was suspended itself finds one look late, and not a silence. */
const LOOKS = 4

export class SilenceWatch {
  private asked = 0
  private quietLooks = 0
  private timer: Timer | undefined

  /** Calls `onSilent` once a server has answered nothing for the milliseconds, and again after as many. */
  constructor(
    private readonly limitMs: number,
    private readonly onSilent: () => void,
  ) {}

  /** Watches while the work is under way. Answers and rejects as the work does. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.asked++ === 0) this.heard()
    this.timer ??= this.look()
    try {
      return await work()
    } finally {
      this.asked--
      this.heard()
    }
  }

  /** Notes an answer in the middle of some work. */
  heard(): void {
    this.quietLooks = 0
  }

  private look(): Timer {
    const timer = setTimeout(() => {
      this.timer = undefined
      if (this.asked === 0) return
      this.timer = this.look()
      if (++this.quietLooks < LOOKS) return
      this.heard()
      this.onSilent()
    }, this.limitMs / LOOKS)
    timer.unref()
    return timer
  }
}
