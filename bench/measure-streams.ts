// A thousand streams at once at the pace of a real model: does every frame of every stream arrive, unchanged and in
// order? It must never sample: each frame of each stream is checked.
import { CONTENT_FRAMES, PACED } from './exchange'
import type { StreamsFigures } from './figures'
import type { LoadClient } from './load-client'
import type { Amounts } from './options'
import type { PerTarget, Target } from './targets'

export const STREAMS_AT_ONCE = 1000

export async function measureStreams(
  load: LoadClient,
  proxies: Target[],
  amounts: Amounts,
): Promise<PerTarget<StreamsFigures>> {
  const figures: PerTarget<StreamsFigures> = {}
  for (const proxy of proxies) {
    const { report, cpuMs } = await load.loop(proxy, PACED, true, {
      connections: STREAMS_AT_ONCE,
      durationMs: 60_000,
      repliesPerConnection: amounts.manyStreamsPerConnection,
    })
    // A stream that never ended has no frames that could be counted, so all of its frames are lost.
    const unfinished = STREAMS_AT_ONCE * amounts.manyStreamsPerConnection - report.replies
    const frames = report.replies * CONTENT_FRAMES
    figures[proxy.name] = {
      streams: report.replies,
      errors: report.errors,
      framesWrong: report.framesWrong + unfinished * CONTENT_FRAMES,
      framesPerSecond: (frames * 1000) / report.elapsedMs,
      cpuMicrosPerFrame: (cpuMs * 1000) / frames,
    }
  }
  return figures
}
