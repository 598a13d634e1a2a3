// Processor time per answer from the gateway's cache, next to the same answer passed on from the vendor. Both take turns in one
// process, so that a slow minute of the machine affects both.
import { CACHED, WHOLE } from './exchange'
import type { CacheFigures } from './figures'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'
import type { Target } from './targets'

const CONNECTIONS = 32

export async function measureCache(
  load: LoadClient,
  gateway: Target,
  amounts: Amounts,
): Promise<CacheFigures> {
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  for (const answer of [WHOLE, CACHED]) await load.loop(gateway, answer, false, warmUp)
  const figures: CacheFigures = { passedMicros: [], cachedMicros: [] }
  const size = { connections: CONNECTIONS, durationMs: amounts.wholeMs }
  const micros = async (answer: string) => {
    const { report, cpuMs } = await load.loop(gateway, answer, false, size)
    return (cpuMs * 1000) / report.replies
  }
  for (let round = 0; round < amounts.rounds; round++) {
    figures.passedMicros.push(await micros(WHOLE))
    figures.cachedMicros.push(await micros(CACHED))
  }
  return figures
}
