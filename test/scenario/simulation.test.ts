// The whole line under simulation: crashes at every change of the database, one to three nodes, vendors, receivers and
// callers that fail in every way, a clock that is set, an operator at work; and after each step the books are right.
// SIMULATION_SEED=17 runs one seed again, with SIMULATION_LOG=1 all that happens in it is printed. SIMULATION_SEEDS=100000
// runs so many, each time others; SIMULATION_SEEDS=0 runs until a seed fails.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { simulate } from '../support/simulation'
import type { SeedResult } from '../support/simulation-worker'

const DAY_MS = 86_400_000
const SEEDS = 2_000
const WORKERS = 2
const REPORT_EVERY = 1_000
setDefaultTimeout(100 * DAY_MS)

const { SIMULATION_SEED: seed, SIMULATION_SEEDS: seeds } = process.env
/** The suite runs the same seeds each time; a longer run begins anywhere. */
const first = seeds === undefined ? 1 : Math.floor(Math.random() * 2 ** 31)
const last = seeds === '0' ? Number.POSITIVE_INFINITY : first + Number(seeds ?? SEEDS) - 1

/** What must have happened in the suite's seeds: nothing is found where nothing happens. */
const HAPPENINGS = [
  'crash',
  'stop',
  'set the clock',
  'database away',
  'operate',
  'chat 200',
  'chat lost',
  'stream 200',
  'stream lost',
  'embeddings 200',
  'embeddings 502',
  'video 202',
  'video lost',
  'task_ended',
  'task_unknown',
  'task_poll_without_answer',
  'webhook_attempt',
  'charge_not_ended_yet',
]

describe('the simulation', () => {
  test('does the same for the same seed', async () => {
    for (const each of [1, 7, 4711]) {
      const [one, other] = [await simulate(each), await simulate(each)]
      expect(other).toEqual(one)
    }
    expect((await simulate(1)).trace).not.toBe((await simulate(2)).trace)
  })

  test('finds nothing wrong', async () => {
    if (seed !== undefined) return void (await simulate(Number(seed)))
    const counts = new Map<string, number>()
    let next = first
    let failure: string | undefined
    const workers = Array.from({ length: WORKERS }, () => {
      return new Worker(new URL('../support/simulation-worker.ts', import.meta.url).href)
    })
    const work = async (worker: Worker) => {
      while (next <= last && failure === undefined) {
        const result = await runSeed(worker, next++)
        if ('error' in result) failure ??= `SIMULATION_SEED=${result.seed}: ${result.error}`
        else
          for (const [what, times] of Object.entries(result.counts))
            counts.set(what, (counts.get(what) ?? 0) + times)
        const done = next - first
        if (seeds !== undefined && done % REPORT_EVERY === 0) console.log(`${done} seeds`)
      }
    }
    await Promise.all(workers.map(work))
    for (const worker of workers) worker.terminate()
    expect(failure).toBeUndefined()
    if (seeds === undefined) expect(HAPPENINGS.filter((what) => !counts.has(what))).toEqual([])
  })
})

function runSeed(worker: Worker, each: number): Promise<SeedResult> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<SeedResult>) => resolve(data)
    worker.onerror = ({ message }) => resolve({ seed: each, error: message })
    worker.postMessage(each)
  })
}
