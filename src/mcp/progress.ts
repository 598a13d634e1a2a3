// Reports to a caller who waits: what is going on, and that somebody is still there.
// Figures must only rise, and nothing may be sent once the answer is there.

import type { Pulse } from '../lib/ticker'

interface Progress {
  report(message: string): void
  stop(): void
}

/** Of silence, after which a caller hears that it goes on. */
const SILENCE_MS = 5_000
const STEP_SECONDS = 0.001

/** The figure is the seconds that have passed: nobody knows how many there will be. */
export function createProgress(
  world: { monotonic: () => number; pulse: Pulse },
  send: (progress: number, message: string) => void,
): Progress {
  const startedAt = world.monotonic()
  let lastAt = startedAt
  let last = -STEP_SECONDS

  function report(message: string): void {
    lastAt = world.monotonic()
    last = Math.max(last + STEP_SECONDS, (lastAt - startedAt) / 1000)
    send(last, message)
  }

  const stop = world.pulse.watch((at) => {
    if (at - lastAt >= SILENCE_MS) report(`Still at it after ${Math.round((at - startedAt) / 1000)} s.`)
  })
  report('Begun.')
  return { report, stop }
}
