// Processor time per stream of messages and responses that the gateway passes on as their vendors send them, next to the bare pipe.
// Coding agents send these. All targets take turns, so that a slow minute of the machine affects all of them.
import { BURST, PACED } from './exchange'
import type { NativeCost, NativeFigures } from './figures'
import type { LoadClient } from './load-client'
import type { LoopSize } from './load-job'
import { cpuOf, pacedRounds, pacedSize, takeTurns } from './measure-cpu'
import { type NativeDialect, nativeAnswer } from './native-streams'
import type { Amounts } from './options'
import type { Target } from './targets'

const CONNECTIONS = 32

export async function measureNative(
  load: LoadClient,
  proxies: Target[],
  amounts: Amounts,
): Promise<NativeFigures> {
  const burst = { connections: CONNECTIONS, durationMs: amounts.burstMs }
  const warmUp = { connections: CONNECTIONS, durationMs: amounts.warmUpMs }
  const measure = async (dialect: NativeDialect): Promise<NativeCost> => {
    const streams = (answer: string) => (target: Target, size: LoopSize) => {
      const named = nativeAnswer(dialect, answer)
      return dialect === 'messages'
        ? load.messages(target, named, size)
        : load.responses(target, named, true, size)
    }
    const paced = pacedSize(amounts)
    return {
      burstMicros: cpuOf(await takeTurns(streams(BURST), proxies, amounts.rounds, burst, warmUp)),
      pacedMicros: cpuOf(await takeTurns(streams(PACED), proxies, pacedRounds(amounts), paced, null)),
    }
  }
  return { messages: await measure('messages'), responses: await measure('responses') }
}
