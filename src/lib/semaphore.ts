// At most so many of a kind at a time: the others wait for their turn, the first come first, or leave the queue.
// It must never lose a place: who leaves has not taken one, and who ends gives it to the next.

interface Turns {
  /** Runs the work when it is its turn. Throws the signal's reason when that fires first. */
  run<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>
}

export function createTurns(most: number): Turns {
  const waiting = new Set<PromiseWithResolvers<void>>()
  let running = 0

  async function enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (running < most) {
      running++
      return
    }
    const turn = Promise.withResolvers<void>()
    const leave = () => {
      if (waiting.delete(turn)) turn.reject(signal.reason)
    }
    waiting.add(turn)
    signal.addEventListener('abort', leave, { once: true })
    await turn.promise.finally(() => signal.removeEventListener('abort', leave))
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
