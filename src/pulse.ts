// One slow clock for everything that waits: a thousand streams need no thousand timers.

export interface Pulse {
  /** Calls `beat` a few times a second until the returned function is called. */
  watch(beat: (now: number) => void): () => void
  stop(): void
}

const BEAT_MS = 250

export function createPulse(now: () => number): Pulse {
  const beats = new Set<(now: number) => void>()
  let timer: Timer | undefined
  const tick = () => {
    const at = now()
    for (const beat of beats) beat(at)
  }
  return {
    watch(beat) {
      beats.add(beat)
      timer ??= setInterval(tick, BEAT_MS)
      return () => {
        beats.delete(beat)
        if (beats.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
    stop() {
      clearInterval(timer)
      timer = undefined
      beats.clear()
    },
  }
}
