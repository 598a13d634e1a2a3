// Processor time per answer of a model over two upstreams, chosen by session, and of a route that chooses the cheapest of two
// models, next to the same answer of a model over one upstream. All take turns in one process, so that a slow minute of the machine
// affects each.
import { EQUAL, PREFERRED, WHOLE } from './exchange'
import type { AffinityFigures } from './figures'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'
import type { Target } from './targets'

const CONNECTIONS = 32
/** Many short rounds, because the ratios are a few percent. */
const ROUNDS_FOR_ONE = 8

export async function measureAffinity(
  load: LoadClient,
  gateway: Target,
  amounts: Amounts,
): Promise<AffinityFigures> {
  const [oneMicros, equalMicros, preferredMicros] = await takeShortTurns(load, amounts, [
    [gateway, WHOLE],
    [gateway, EQUAL],
    [gateway, PREFERRED],
  ])
  return { oneMicros, equalMicros, preferredMicros }
}

/** One way in which the gateway answers: its target, and the answer. */
type Way = readonly [target: Target, answer: string]

/** Processor time per answer of three ways, each in many short rounds that take turns, after a warm-up of each. */
export async function takeShortTurns(
  load: LoadClient,
  amounts: Amounts,
  ways: readonly [Way, Way, Way],
): Promise<[number[], number[], number[]]> {
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  for (const [target, answer] of ways) await load.loop(target, answer, false, warmUp)
  const size = { connections: CONNECTIONS, durationMs: (2 * amounts.wholeMs) / ROUNDS_FOR_ONE }
  const micros: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < amounts.rounds * ROUNDS_FOR_ONE; round++)
    for (const [index, [target, answer]] of ways.entries()) {
      const { report, cpuMs } = await load.loop(target, answer, false, size)
      micros[index]?.push((cpuMs * 1000) / report.replies)
    }
  return micros
}
