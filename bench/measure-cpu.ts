// Processor time per request and per stream of each proxy, in rounds that take turns, so that a slow minute of the
// machine falls on all of them. It must never compare figures of different runs.
import { BURST, PACED, WHOLE } from './exchange'
import type { CpuFigures } from './figures'
import type { LoadClient } from './load-client'
import type { LoopJob } from './load-job'
import type { Amounts } from './options'
import type { PerTarget, Target } from './targets'

const CONNECTIONS = 32
/** As many connections as in the measure of throughput. */
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
  // Paced streams last seconds and say the same each time, so fewer rounds of them do.
  const pacedRounds = Math.ceil(amounts.rounds / 2)
  return {
    wholeMicros: await inTurns(load, proxies, amounts.rounds, WHOLE, whole, warmUp),
    busyMicros: await inTurns(load, proxies, amounts.rounds, WHOLE, busy, null),
    burstMicros: await inTurns(load, proxies, amounts.rounds, BURST, burst, warmUp),
    pacedMicros: await inTurns(load, proxies, pacedRounds, PACED, paced, pacedWarmUp),
  }
}

async function inTurns(
  load: LoadClient,
  proxies: Target[],
  rounds: number,
  answer: string,
  size: Size,
  warmUp: Size | null,
): Promise<PerTarget<number[]>> {
  const micros: PerTarget<number[]> = {}
  const stream = answer !== WHOLE
  if (warmUp !== null) for (const proxy of proxies) await load.loop(proxy, answer, stream, warmUp)
  for (let round = 0; round < rounds; round++) {
    for (const proxy of proxies) {
      const { report, cpuMs } = await load.loop(proxy, answer, stream, size)
      micros[proxy.name] = [...(micros[proxy.name] ?? []), (cpuMs * 1000) / report.replies]
    }
  }
  return micros
}
