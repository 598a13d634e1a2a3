// The whole gateway under simulation: crashes at every statement, one to three nodes that pause and take over from each other,
// vendors, receivers and callers that fail in every way, clock changes, and an operator at work. After each step the books must be
// correct. SIMULATION_SEED=17 repeats one seed, with SIMULATION_AIM if its failure names one; SIMULATION_LOG=1 prints all events.
// The suite runs a quarter of 600 seeds, TEST_WHOLE=1 runs 2,000, and SIMULATION_SEEDS=100000 that many, each time different ones;
// SIMULATION_SEEDS=unbounded runs until a seed fails or it is stopped.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { relative } from 'node:path'
import { databaseKinds, postgresUrl } from '../support/databases/databases'
import { TABLES } from '../support/databases/postgres'
import { isWholeRun } from '../support/random'
import { kinds } from '../support/simulation/callers'
import { classInName } from '../support/simulation/database'
import { simulate } from '../support/simulation/simulation'
import type { SeedResult, Wish } from '../support/simulation/worker'

const DAY_MS = 86_400_000
const SEEDS = isWholeRun ? 2_000 : 600
/** The sample of the suite: every fourth seed, since a seed also says at which access of the database the first process ends. */
const STEP = isWholeRun || process.env.SIMULATION_SEEDS !== undefined ? 1 : 4
/** The last seed that is run if those before did not see all that must occur, and how many are run before it is looked again. */
const MAX_SEEDS = 2_000
const MORE_SEEDS = 10
const WORKERS = 2
/** Seeds run on PostgreSQL, where each takes longer: the first has spenders. */
const POSTGRES_SEEDS = isWholeRun ? 100 : 4
const FIRST_ON_POSTGRES = 5
const REPORT_MS = 10_000
/** A seed takes a twentieth of a second; one that takes so much longer is in an endless loop. */
const SEED_TIMEOUT_MS = 120_000
setDefaultTimeout(100 * DAY_MS)

const { SIMULATION_SEED: seed, SIMULATION_AIM: aim, SIMULATION_SEEDS: seeds } = process.env
/** The suite runs the same seeds each time; a longer run begins anywhere. */
const first = seeds === undefined ? 1 : Math.floor(Math.random() * 2 ** 31)
const last = seeds === 'unbounded' ? Number.POSITIVE_INFINITY : first + Number(seeds ?? SEEDS) - 1
if (Number.isNaN(last)) throw new Error('SIMULATION_SEEDS is a number of seeds, or unbounded')

/** Events that must have occurred in the suite's seeds: where nothing happens, nothing is found. */
const HAPPENINGS = [
  ...['1 nodes', '2 nodes', '3 nodes', 'crash', 'stop', 'pause', 'set the clock', 'database away', 'operate'],
  ...[
    'replayed',
    'stream replayed',
    'stream cut',
    'redelivered',
    'asked again',
    'route_next',
    'charge_not_ended_yet',
    'pending end made',
    'spender over budget',
    'stream of a spender cut',
    'spender charged late',
  ],
  ...['task_ended', 'task_unknown', 'task_poll_without_answer', 'task_end_lost', 'webhook_attempt'],
  // Owners that lost their lease, and learned it.
  ...[
    'task taken over',
    'webhook taken over',
    'late success',
    'late charge',
    'shortfall',
    'rehearsed',
    'artifact kept',
    'artifact_not_kept',
  ],
  ...[
    'later task_interrupted',
    'later shutting_down',
    'image-later 402',
    ...Object.keys(kinds).flatMap((kind) =>
      kind.endsWith('-later') ? [`${kind} 202`, `${kind} succeeded`] : [],
    ),
  ],
  ...['video 200', 'video 202', 'video 402', 'video 409', 'chat 401', 'chat 429', 'chat 502', 'chat 504'],
  ...Object.keys(kinds).flatMap((kind) =>
    kind === 'video' || kind.endsWith('-later') ? [] : [`${kind} 200`, `${kind} lost`],
  ),
]
/** Seeds that have failed, and the fault that each has found. */
const PAST_FAILURES = [
  { seed: 802953258, fault: 'a repeat got an address at the vendor while the result was being copied' },
  { seed: 2036460288, fault: 'a settlement that found its hold expired was taken for a price of 0' },
  { seed: 1008090816, fault: 'a reopened task stayed open after the clock was set forward' },
  { seed: 1382079969, fault: 'a reopened task stayed open after the clock was set forward by three hours' },
  { seed: 476878292, fault: 'a reopened task stayed open after the clock was set forward at the start' },
  {
    seed: 2104946449,
    fault: 'a node began with another time, because the clock had been set twice in a moment',
  },
]
/** A statement run this often must have ended a process, both before and after it took effect. */
const OFTEN = 5_000

describe('the simulation', () => {
  test('does the same for the same seed, here and in a worker', async () => {
    const worker = startWorker()
    for (const each of [1, 7, 4711]) {
      const [one, other] = [await simulate(each), await simulate(each)]
      expect(other).toEqual(one)
      expect(await runSeed(worker, { seed: each })).toEqual({ seed: each, ...one })
    }
    worker.terminate()
    expect((await simulate(1)).trace).not.toBe((await simulate(2)).trace)
  })

  test.each(PAST_FAILURES)('finds no more that $fault (seed $seed)', async (past) => {
    await simulate(past.seed)
  })

  test.skipIf(!databaseKinds.includes('postgres'))(
    'finds nothing wrong where the functions of PostgreSQL move the money',
    async () => {
      const url = await postgresUrl({ template: TABLES })
      for (let each = 0; each < POSTGRES_SEEDS; each++)
        await simulate(FIRST_ON_POSTGRES + each, undefined, url)
    },
  )

  test('finds nothing wrong', async () => {
    if (seed !== undefined)
      return void (await simulate(Number(seed), aim === undefined ? undefined : Number(aim)))
    const counts = new Map<string, number>()
    expect(await runSeeds({ from: first, to: last, step: STEP }, counts)).toBeUndefined()
    if (seeds !== undefined) return
    for (let next = last + 1; next <= MAX_SEEDS && missing(counts).length > 0; next += MORE_SEEDS) {
      // In these a process ends at the statements at which none has ended yet; chance alone would take hundreds of seeds.
      const aims = missing(counts).map(classInName)
      expect(await runSeeds({ from: next, to: next + MORE_SEEDS - 1, aims }, counts)).toBeUndefined()
    }
    expect(missing(counts)).toEqual([])
  })
})

interface SeedRange {
  from: number
  to: number
  step?: number
  /** The aims that the seeds have in turn; undefined among them for none. */
  aims?: readonly (number | undefined)[]
}

/** Runs seeds, and adds up what occurs in them. Stops at the first that fails, and says why. */
async function runSeeds(
  { from, to, step = 1, aims = [] }: SeedRange,
  counts: Map<string, number>,
): Promise<string | undefined> {
  let next = from
  let failure: string | undefined
  let reportedAt = performance.now()
  const workers = Array.from({ length: WORKERS }, startWorker)
  const work = async (worker: Worker) => {
    while (next <= to && failure === undefined) {
      const seed = next
      next += step
      const result = await runSeed(worker, { seed, aim: aims[(seed - from) % aims.length] })
      if ('error' in result) failure ??= failureOf(result)
      else
        for (const [what, times] of Object.entries(result.counts))
          counts.set(what, (counts.get(what) ?? 0) + times)
      if (seeds === undefined || performance.now() - reportedAt < REPORT_MS) continue
      reportedAt = performance.now()
      console.log(`${next - from} seeds from ${from} on, nothing found`)
    }
  }
  await Promise.all(workers.map(work))
  for (const worker of workers) worker.terminate()
  return failure
}

function failureOf({ seed, aim, error }: Wish & { error: string }): string {
  const aimed = aim === undefined ? '' : ` SIMULATION_AIM=${aim}`
  return `seed ${seed}: ${error}\nRun it again: SIMULATION_SEED=${seed}${aimed} SIMULATION_LOG=1 bun test ${relative('.', import.meta.path)}`
}

/** Events that must occur and have not. */
function missing(counts: ReadonlyMap<string, number>): string[] {
  return [...HAPPENINGS.filter((what) => !counts.has(what)), ...uncrashed(counts)]
}

/** Statements at which no process has ended. */
function uncrashed(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].flatMap(([what, times]) => {
    if (!what.startsWith('statement ') || times < OFTEN) return []
    const crashes = ['before', 'after'].map((moment) => what.replace('statement', `crash ${moment}`))
    return crashes.filter((crash) => !counts.has(crash))
  })
}

function startWorker(): Worker {
  return new Worker(new URL('../support/simulation/worker.ts', import.meta.url).href)
}

function runSeed(worker: Worker, wish: Wish): Promise<SeedResult> {
  return new Promise((resolve) => {
    const fail = (error: string) => resolve({ ...wish, error })
    const timer = setTimeout(() => fail('it does not end'), SEED_TIMEOUT_MS)
    worker.onmessage = ({ data }: MessageEvent<SeedResult>) => {
      clearTimeout(timer)
      resolve(data)
    }
    worker.onerror = ({ message }) => fail(message)
    worker.postMessage(wish)
  })
}
