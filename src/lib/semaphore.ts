// Limits how many tasks of a kind run at once; the others wait in order of arrival or leave the queue. It must never lose a slot: a
// waiter that leaves has taken none, and a task that ends passes its slot to the next.

export interface Semaphore {
  /** Runs the work when a slot is free. Throws the signal's reason if that fires first; without a signal, waits. */
  run<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result>
}

export function createSemaphore(most: number): Semaphore {
  const waiting = new Set<PromiseWithResolvers<void>>()
  let running = 0

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (running < most) {
      running++
      return
    }
    const turn = Promise.withResolvers<void>()
    const leave = () => {
      if (waiting.delete(turn)) turn.reject(signal?.reason)
    }
    waiting.add(turn)
    signal?.addEventListener('abort', leave, { once: true })
    await turn.promise.finally(() => signal?.removeEventListener('abort', leave))
  }

  function next(): void {
    const [turn] = waiting
    if (!turn) {
      running--
      return
    }
    waiting.delete(turn)
    turn.resolve()
  }

  return {
    async run(signal, work) {
      await enter(signal)
      try {
        return await work()
      } finally {
        next()
      }
    },
  }
}
