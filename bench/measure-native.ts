// Processor time per stream of messages and responses that the gateway passes on as their vendors send them, next to the bare pipe.
// Coding agents send these. All targets take turns, so that a slow minute of the machine affects all of them.
import { BURST, PACED } from './exchange'
import type { NativeFigures } from './figures'
import type { LoadClient } from './load-client'
import type { LoopJob } from './load-job'
import { type NativeDialect, nativeAnswer } from './native-streams'
import type { Amounts } from './options'
import type { PerTarget, Target } from './targets'

const CONNECTIONS = 32

type Size = Pick<LoopJob, 'connections' | 'durationMs' | 'repliesPerConnection'>

export async function measureNative(
  load: LoadClient,
  proxies: Target[],
  amounts: Amounts,
): Promise<NativeFigures> {
  const burst = { connections: CONNECTIONS, durationMs: amounts.burstMs }
  const paced = {
    connections: amounts.pacedConnections,
    durationMs: 60_000,
    repliesPerConnection: amounts.pacedStreamsPerConnection,
  }
  // Paced streams last seconds and vary little, so fewer rounds suffice.
  const pacedRounds = Math.ceil(amounts.rounds / 2)
  const measure = async (dialect: NativeDialect) => {
    for (const target of proxies)
      await stream(load, target, dialect, BURST, { ...burst, durationMs: amounts.warmUpMs })
    return {
      burstMicros: await inTurns(load, proxies, dialect, BURST, burst, amounts.rounds),
      pacedMicros: await inTurns(load, proxies, dialect, PACED, paced, pacedRounds),
    }
  }
  return { messages: await measure('messages'), responses: await measure('responses') }
}

async function inTurns(
  load: LoadClient,
  proxies: Target[],
  dialect: NativeDialect,
  answer: string,
  size: Size,
  rounds: number,
): Promise<PerTarget<number[]>> {
  const micros: PerTarget<number[]> = {}
  for (let round = 0; round < rounds; round++) {
    for (const target of proxies) {
      const { report, cpuMs } = await stream(load, target, dialect, answer, size)
      micros[target.name] = [...(micros[target.name] ?? []), (cpuMs * 1000) / report.replies]
    }
  }
  return micros
}

function stream(load: LoadClient, target: Target, dialect: NativeDialect, answer: string, size: Size) {
  const named = nativeAnswer(dialect, answer)
  return dialect === 'messages'
    ? load.messages(target, named, size)
    : load.responses(target, named, true, size)
}
