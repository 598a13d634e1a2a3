// One slow timer for all waits: a thousand streams do not need a thousand timers. It must never run while nobody watches, so that
// an idle process sleeps.

import { IndexedSet, type Member } from './indexed-set'
import type { System } from './system'

export interface Ticker {
  /** Calls `beat` with the monotonic time a few times a second until the returned function is called. */
  watch(beat: (at: number) => void): () => void
  stop(): void
}

const BEAT_MS = 250

interface Watcher extends Member {
  beat(at: number): void
}

export function createTicker({ monotonic, after }: Pick<System, 'monotonic' | 'after'>): Ticker {
  const watchers = new IndexedSet<Watcher>()
  let cancel: (() => void) | undefined
  const stop = () => {
    cancel?.()
    cancel = undefined
  }
  const tick = () => {
    // The next tick is set first, so that a watcher that throws does not stop the others permanently.
    cancel = after(BEAT_MS, tick)
    const at = monotonic()
    for (const watcher of watchers.all()) {
      // A watcher that an earlier one has removed is no longer called.
      if (watcher.index !== -1) watcher.beat(at)
    }
  }
  return {
    watch(beat) {
      const watcher: Watcher = { beat, index: -1 }
      watchers.add(watcher)
      cancel ??= after(BEAT_MS, tick)
      return () => {
        watchers.delete(watcher)
        if (watchers.size === 0) stop()
      }
    },
    stop,
  }
}

/**
 * A watch that runs only while it is needed. The returned function starts it, however often it is called; it ends at the first beat
 * that returns false.
 */
export function watchWhileNeeded(ticker: Pick<Ticker, 'watch'>, beat: (at: number) => boolean): () => void {
  let unwatch: (() => void) | undefined
  return () => {
    unwatch ??= ticker.watch((at) => {
      if (beat(at)) return
      unwatch?.()
      unwatch = undefined
    })
  }
}
