// A thousand concurrent streams at the pace of a real model: checks that every frame of every stream arrives, unchanged and in
// order. It must never sample: each frame of each stream is checked.
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
    // The frames of a stream that never ended cannot be counted, so all of them are lost.
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
