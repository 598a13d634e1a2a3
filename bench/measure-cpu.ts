// Processor time per request and per stream of each proxy, in rounds that take turns, so that a slow minute of the machine affects
// all of them. It must never compare figures of different runs.
import { BURST, PACED, WHOLE } from './exchange'
import type { CpuFigures } from './figures'
import type { LoadClient } from './load-client'
import type { LoopJob } from './load-job'
import type { Amounts } from './options'
import type { PerTarget, Target } from './targets'

const CONNECTIONS = 32
/** Number of connections, as in the measure of throughput. */
const BUSY_CONNECTIONS = 128

type Size = Pick<LoopJob, 'connections' | 'durationMs' | 'repliesPerConnection'>

export async function measureCpu(load: LoadClient, proxies: Target[], amounts: Amounts): Promise<CpuFigures> {
  const whole = { connections: CONNECTIONS, durationMs: amounts.wholeMs }
  const busy = { connections: BUSY_CONNECTIONS, durationMs: amounts.wholeMs }
  const burst = { connections: CONNECTIONS, durationMs: amounts.burstMs }
  const paced = {
    connections: amounts.pacedConnections,
    durationMs: 60_000,
    repliesPerConnection: amounts.pacedStreamsPerConnection,
  }
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  const pacedWarmUp = { ...paced, repliesPerConnection: 2 * amounts.pacedStreamsPerConnection }
  // Paced streams last seconds and vary little, so fewer rounds suffice.
  const pacedRounds = Math.ceil(amounts.rounds / 2)
  return {
    wholeMicros: cpuOf(await takeTurns(load, proxies, amounts.rounds, WHOLE, whole, warmUp)),
    busyMicros: cpuOf(await takeTurns(load, proxies, amounts.rounds, WHOLE, busy, null)),
    burstMicros: cpuOf(await takeTurns(load, proxies, amounts.rounds, BURST, burst, warmUp)),
    pacedMicros: cpuOf(await takeTurns(load, proxies, pacedRounds, PACED, paced, pacedWarmUp)),
  }
}

/** Measures of one target, one per round: processor time per reply, correct replies per second, and their duration. */
export interface Turns {
  cpuMicros: number[]
  repliesPerSecond: number[]
  p50Ms: number[]
  p99Ms: number[]
}

/** Loads all targets in rounds, one after the other in each, after a warm-up of each. */
export async function takeTurns(
  load: LoadClient,
  targets: Target[],
  rounds: number,
  answer: string,
  size: Size,
  warmUp: Size | null,
): Promise<PerTarget<Turns>> {
  const turns: PerTarget<Turns> = {}
  const stream = answer !== WHOLE
  if (warmUp !== null) for (const target of targets) await load.loop(target, answer, stream, warmUp)
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) {
      const { report, cpuMs } = await load.loop(target, answer, stream, size)
      const own = turns[target.name] ?? { cpuMicros: [], repliesPerSecond: [], p50Ms: [], p99Ms: [] }
      turns[target.name] = own
      own.cpuMicros.push((cpuMs * 1000) / report.replies)
      own.repliesPerSecond.push(((report.replies - report.errors) * 1000) / report.elapsedMs)
      own.p50Ms.push(report.latencyMs.p50)
      own.p99Ms.push(report.latencyMs.p99)
    }
  }
  return turns
}

function cpuOf(turns: PerTarget<Turns>): PerTarget<number[]> {
  const entries = Object.entries(turns).map(([name, { cpuMicros }]) => [name, cpuMicros] as const)
  return Object.fromEntries(entries)
}
