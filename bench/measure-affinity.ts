// Processor time per answer of a model over two upstreams, which its session chooses, and of a route that chooses the cheapest of two
// models, next to the same answer of a model over one upstream. All take turns in one process, so that a slow minute of the machine falls
// on each.
import { EQUAL, PREFERRED, WHOLE } from './exchange'
import type { AffinityFigures } from './figures'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'
import type { Target } from './targets'

const CONNECTIONS = 32
/** Short rounds, many of them: the ratios are of a few percent. */
const ROUNDS_FOR_ONE = 8

export async function measureAffinity(
  load: LoadClient,
  gateway: Target,
  amounts: Amounts,
): Promise<AffinityFigures> {
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  for (const answer of [WHOLE, EQUAL, PREFERRED]) await load.loop(gateway, answer, false, warmUp)
  const figures: AffinityFigures = { oneMicros: [], equalMicros: [], preferredMicros: [] }
  const size = { connections: CONNECTIONS, durationMs: (2 * amounts.wholeMs) / ROUNDS_FOR_ONE }
  const micros = async (answer: string) => {
    const { report, cpuMs } = await load.loop(gateway, answer, false, size)
    return (cpuMs * 1000) / report.replies
  }
  for (let round = 0; round < amounts.rounds * ROUNDS_FOR_ONE; round++) {
    figures.oneMicros.push(await micros(WHOLE))
    figures.equalMicros.push(await micros(EQUAL))
    figures.preferredMicros.push(await micros(PREFERRED))
  }
  return figures
}
