// Runs seeds of the simulation in parallel with the tests, one at a time, in the order received.

import { type SimulationResult, simulate } from './simulation'

/** A seed, and the class of statements at which its processes end; undefined for any. */
export interface Wish {
  seed: number
  aim?: number | undefined
}

export type SeedResult = Wish & (SimulationResult | { error: string })

declare const self: Worker

self.onmessage = async ({ data: wish }: MessageEvent<Wish>) => {
  try {
    self.postMessage({ ...wish, ...(await simulate(wish.seed, wish.aim)) } satisfies SeedResult)
  } catch (error) {
    self.postMessage({ ...wish, error: String(error) } satisfies SeedResult)
  }
}
