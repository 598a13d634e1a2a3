// Processor time per stream that the gateway translates to responses, next to the same stream passed as it comes. Both
// take turns in one process, so that a slow minute of the machine falls on both.
import { BURST, PACED } from './exchange'
import type { TranslationCost, TranslationFigures } from './figures'
import type { LoadClient, Metered } from './load-client'
import type { LoopJob } from './load-job'
import type { Amounts } from './options'
import type { Target } from './targets'

const CONNECTIONS = 32

type Size = Pick<LoopJob, 'connections' | 'durationMs' | 'repliesPerConnection'>

export async function measureTranslation(
  load: LoadClient,
  gateway: Target,
  amounts: Amounts,
): Promise<TranslationFigures> {
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  await load.loop(gateway, BURST, true, warmUp)
  await load.responses(gateway, BURST, warmUp)
  const burst = { connections: CONNECTIONS, durationMs: amounts.burstMs }
  const paced = {
    connections: amounts.pacedConnections,
    durationMs: 60_000,
    repliesPerConnection: amounts.pacedStreamsPerConnection,
  }
  return {
    burst: await inTurns(load, gateway, BURST, burst, amounts.rounds),
    // Paced streams last seconds and say the same each time, so fewer rounds of them do.
    paced: await inTurns(load, gateway, PACED, paced, Math.ceil(amounts.rounds / 2)),
  }
}

async function inTurns(
  load: LoadClient,
  gateway: Target,
  answer: string,
  size: Size,
  rounds: number,
): Promise<TranslationCost> {
  const cost: TranslationCost = { passedMicros: [], translatedMicros: [] }
  for (let round = 0; round < rounds; round++) {
    cost.passedMicros.push(microsPerStream(await load.loop(gateway, answer, true, size)))
    cost.translatedMicros.push(microsPerStream(await load.responses(gateway, answer, size)))
  }
  return cost
}

function microsPerStream({ report, cpuMs }: Metered): number {
  return (cpuMs * 1000) / report.replies
}
