// Runs seeds of the simulation beside the tests, one at a time, as they are sent.

import { type SimulationResult, simulate } from './simulation'

export type SeedResult = { seed: number } & (SimulationResult | { error: string })

declare const self: Worker

self.onmessage = async ({ data: seed }: MessageEvent<number>) => {
  try {
    self.postMessage({ seed, ...(await simulate(seed)) } satisfies SeedResult)
  } catch (error) {
    self.postMessage({ seed, error: String(error) } satisfies SeedResult)
  }
}
