// One slow clock for everything that waits: a thousand streams need no thousand timers.

import { type Member, Roster } from './lib/roster'

export interface Pulse {
  /** Calls `beat` a few times a second until the returned function is called. */
  watch(beat: (now: number) => void): () => void
  stop(): void
}

const BEAT_MS = 250

interface Watcher extends Member {
  beat(now: number): void
}

export function createPulse(now: () => number): Pulse {
  const watchers = new Roster<Watcher>()
  let timer: Timer | undefined
  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }
  const tick = () => {
    const at = now()
    for (const watcher of watchers.all()) {
      // One that an earlier beat has ended is not called any more.
      if (watcher.place !== -1) watcher.beat(at)
    }
  }
  return {
    watch(beat) {
      const watcher: Watcher = { beat, place: -1 }
      watchers.add(watcher)
      timer ??= setInterval(tick, BEAT_MS)
      return () => {
        watchers.delete(watcher)
        if (watchers.size === 0) stop()
      }
    },
    stop,
  }
}
