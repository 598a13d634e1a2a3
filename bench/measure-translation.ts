// Processor time per answer that the gateway translates to responses, next to the same answer passed unchanged. Both take turns in
// one process, so that a slow minute of the machine affects both.
import { BURST, PACED, WHOLE } from './exchange'
import type { TranslationCost, TranslationFigures } from './figures'
import type { LoadClient, Metered } from './load-client'
import type { LoopSize } from './load-job'
import { pacedRounds, pacedSize } from './measure-cpu'
import type { Amounts } from './options'
import type { Target } from './targets'

const CONNECTIONS = 32

export async function measureTranslation(
  load: LoadClient,
  gateway: Target,
  amounts: Amounts,
): Promise<TranslationFigures> {
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  for (const answer of [WHOLE, BURST]) {
    await load.loop(gateway, answer, answer !== WHOLE, warmUp)
    await load.responses(gateway, answer, answer !== WHOLE, warmUp)
  }
  const whole = { connections: CONNECTIONS, durationMs: amounts.wholeMs }
  const burst = { connections: CONNECTIONS, durationMs: amounts.burstMs }
  return {
    whole: await inTurns(load, gateway, WHOLE, whole, amounts.rounds),
    burst: await inTurns(load, gateway, BURST, burst, amounts.rounds),
    paced: await inTurns(load, gateway, PACED, pacedSize(amounts), pacedRounds(amounts)),
  }
}

async function inTurns(
  load: LoadClient,
  gateway: Target,
  answer: string,
  size: LoopSize,
  rounds: number,
): Promise<TranslationCost> {
  const isStream = answer !== WHOLE
  const cost: TranslationCost = { passedMicros: [], translatedMicros: [] }
  for (let round = 0; round < rounds; round++) {
    cost.passedMicros.push(microsPerAnswer(await load.loop(gateway, answer, isStream, size)))
    cost.translatedMicros.push(microsPerAnswer(await load.responses(gateway, answer, isStream, size)))
  }
  return cost
}

function microsPerAnswer({ report, cpuMs }: Metered): number {
  return (cpuMs * 1000) / report.replies
}
