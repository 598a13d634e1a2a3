// The throughput of each target at 128 connections, with the mock and the load generator on the same machine, and its processor
// time. It must never count an incorrect reply.
import { WHOLE } from './exchange'
import type { ThroughputFigures } from './figures'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'
import type { PerTarget, Target } from './targets'

const CONNECTIONS = 128

export async function measureThroughput(
  load: LoadClient,
  targets: Target[],
  amounts: Amounts,
): Promise<PerTarget<ThroughputFigures>> {
  const figures: PerTarget<ThroughputFigures> = {}
  for (const target of targets) {
    figures[target.name] = { p50Ms: [], p99Ms: [], repliesPerSecond: [], replies: 0, errors: 0 }
  }
  for (let round = 0; round < amounts.throughputRounds; round++) {
    for (const target of targets) {
      const size = { connections: CONNECTIONS, durationMs: amounts.throughputMs }
      const { report } = await load.loop(target, WHOLE, false, size)
      const figure = figures[target.name]
      if (figure === undefined) continue
      figure.p50Ms.push(report.latencyMs.p50)
      figure.p99Ms.push(report.latencyMs.p99)
      figure.repliesPerSecond.push(((report.replies - report.errors) * 1000) / report.elapsedMs)
      figure.replies += report.replies
      figure.errors += report.errors
    }
  }
  return figures
}
