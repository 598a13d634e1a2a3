// The duration of a request on one connection, directly and through each proxy, in turns; a proxy adds the difference within a
// round. It must never measure while other parts of the run are busy.
import { WHOLE } from './exchange'
import type { LatencyFigures } from './figures'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'
import type { PerTarget, Target } from './targets'

export async function measureLatency(
  load: LoadClient,
  targets: Target[],
  amounts: Amounts,
): Promise<PerTarget<LatencyFigures>> {
  const figures: PerTarget<LatencyFigures> = {}
  for (const target of targets) {
    await load.loop(target, WHOLE, false, { connections: 1, durationMs: amounts.warmUpMs })
    figures[target.name] = { p50Ms: [], p99Ms: [] }
  }
  for (let round = 0; round < amounts.rounds; round++) {
    for (const target of targets) {
      const size = { connections: 1, durationMs: amounts.singleConnectionMs }
      const { report } = await load.loop(target, WHOLE, false, size)
      figures[target.name]?.p50Ms.push(report.latencyMs.p50)
      figures[target.name]?.p99Ms.push(report.latencyMs.p99)
    }
  }
  return figures
}
