// A deadline for work, and waits that end with it. Late work continues unobserved: it must never be waited for beyond the deadline,
// or be cancelled here.

import type { System } from './system'

export class Deadline {
  /** Resolves when the deadline is moved, and is then replaced. */
  private moved = Promise.withResolvers<void>()

  constructor(
    private readonly clock: Pick<System, 'monotonic' | 'after'>,
    /** On the monotonic clock. */
    private endsAt: number,
  ) {}

  /** The new deadline also applies to waits that have begun. */
  moveTo(endsAt: number): void {
    this.endsAt = endsAt
    this.moved.resolve()
    this.moved = Promise.withResolvers()
  }

  /** The milliseconds that are left if some are reserved for others. */
  leftMs(keepMs = 0): number {
    return Math.max(0, this.endsAt - keepMs - this.clock.monotonic())
  }

  /** Waits for work. If work is late, the result is `late`, and a failure is ignored. */
  async within<Result, Late>(work: Promise<Result>, late: Late, keepMs = 0): Promise<Result | Late> {
    let isOver = false
    const over = work.finally(() => {
      isOver = true
    })
    over.catch(() => {})
    for (;;) {
      const passed = Promise.withResolvers<void>()
      const cancel = this.clock.after(this.leftMs(keepMs), passed.resolve)
      await Promise.race([over, passed.promise, this.moved.promise]).finally(cancel)
      if (isOver) return work
      if (this.leftMs(keepMs) === 0) return late
    }
  }
}
