// Processor time per request and per stream of each proxy, in rounds that take turns, so that a slow minute of the machine affects
// all of them. It must never compare figures of different runs.
import { BURST, PACED, WHOLE } from './exchange'
import type { CpuFigures } from './figures'
import type { LoadClient, Metered } from './load-client'
import type { LoopSize } from './load-job'
import type { Amounts } from './options'
import type { PerTarget, Target } from './targets'

const CONNECTIONS = 32
/** Number of connections, as in the measure of throughput. */
const BUSY_CONNECTIONS = 128

/** Loads a target with one kind of request. */
type Send = (target: Target, size: LoopSize) => Promise<Metered>

export async function measureCpu(load: LoadClient, proxies: Target[], amounts: Amounts): Promise<CpuFigures> {
  const whole = { connections: CONNECTIONS, durationMs: amounts.wholeMs }
  const busy = { connections: BUSY_CONNECTIONS, durationMs: amounts.wholeMs }
  const burst = { connections: CONNECTIONS, durationMs: amounts.burstMs }
  const paced = pacedSize(amounts)
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  const pacedWarmUp = { ...paced, repliesPerConnection: 2 * amounts.pacedStreamsPerConnection }
  const cpu = async (answer: string, rounds: number, size: LoopSize, warmUp: LoopSize | null) =>
    cpuOf(await takeTurns(chats(load, answer), proxies, rounds, size, warmUp))
  return {
    wholeMicros: await cpu(WHOLE, amounts.rounds, whole, warmUp),
    busyMicros: await cpu(WHOLE, amounts.rounds, busy, null),
    burstMicros: await cpu(BURST, amounts.rounds, burst, warmUp),
    pacedMicros: await cpu(PACED, pacedRounds(amounts), paced, pacedWarmUp),
  }
}

/** Paced streams, which last seconds. */
export function pacedSize(amounts: Amounts): LoopSize {
  return {
    connections: amounts.pacedConnections,
    durationMs: 60_000,
    repliesPerConnection: amounts.pacedStreamsPerConnection,
  }
}

/** Paced streams vary little, so fewer rounds suffice. */
export function pacedRounds(amounts: Amounts): number {
  return Math.ceil(amounts.rounds / 2)
}

/** Sends chat completions, streamed unless the answer is whole. */
export function chats(load: LoadClient, answer: string): Send {
  return (target, size) => load.loop(target, answer, answer !== WHOLE, size)
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
  send: Send,
  targets: Target[],
  rounds: number,
  size: LoopSize,
  warmUp: LoopSize | null,
): Promise<PerTarget<Turns>> {
  const turns: PerTarget<Turns> = {}
  if (warmUp !== null) for (const target of targets) await send(target, warmUp)
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) {
      const { report, cpuMs } = await send(target, size)
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

/** Processor time per reply, in microseconds. */
export function cpuOf(turns: PerTarget<Turns>): PerTarget<number[]> {
  const entries = Object.entries(turns).map(([name, { cpuMicros }]) => [name, cpuMicros] as const)
  return Object.fromEntries(entries)
}
