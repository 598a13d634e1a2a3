// Reports progress to a waiting caller. Figures must only rise, and nothing must be sent after the answer.

import type { Ticker } from '../lib/ticker'

interface Progress {
  report(message: string): void
  stop(): void
}

/** Silence after which the caller gets a report, in milliseconds. */
const SILENCE_MS = 5_000
const STEP_SECONDS = 0.001

/** Creates the reports. The figure is the number of elapsed seconds, because the total is unknown. */
export function createProgress(
  world: { monotonic: () => number; ticker: Ticker },
  send: (progress: number, message: string) => void,
): Progress {
  const startedAt = world.monotonic()
  let lastAt = startedAt
  let last = 0

  function report(message: string): void {
    lastAt = world.monotonic()
    last = Math.max(last + STEP_SECONDS, Math.floor(lastAt - startedAt) / 1000)
    send(last, message)
  }

  const stop = world.ticker.watch((at) => {
    if (at - lastAt >= SILENCE_MS) report(`Still running after ${Math.round((at - startedAt) / 1000)} s.`)
  })
  send(last, 'Begun.')
  return { report, stop }
}
