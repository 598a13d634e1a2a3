// Clients that disconnect in the middle of a stream: how soon the vendor's connection is closed too, and whether the gateway
// retains memory. The load generator reports the time of a cut, the mock the time when it noticed. It must never count a cut that
// the vendor did not notice as a quick one.
import { PACED, requestBody } from './exchange'
import type { ClosingFigures, CutsFigures } from './figures'
import type { LoadClient } from './load-client'
import { CUT_MARK, type CutReport } from './load-job'
import type { Closings } from './mock'
import type { Amounts } from './options'
import { rssMb } from './process-meter'
import { quantile } from './statistics'
import type { Target } from './targets'

const AT_ONCE = 200
const MAX_OTHERS = 2000
/** A stream lasts two seconds; a stream that was not closed by then ended by itself. */
const CLOSING_DEADLINE_MS = 2500
const CLOSING_PAUSE_MS = 100

export async function measureCuts(
  load: LoadClient,
  mock: Target,
  others: Target[],
  gateway: Target,
  amounts: Amounts,
): Promise<CutsFigures> {
  const figures: CutsFigures = { closing: {} }
  for (const other of others) {
    const streams = Math.min(MAX_OTHERS, amounts.cutStreams)
    figures.closing[other.name] = await cutAndMatch(load, mock, other, streams)
  }
  await cutAndMatch(load, mock, gateway, amounts.cutWarmUpStreams)
  await Bun.sleep(amounts.settleMs)
  const warmMb = rssMb(gateway.pid)
  load.peakRssMb.gateway = warmMb
  figures.closing.gateway = await cutAndMatch(load, mock, gateway, amounts.cutStreams)
  await Bun.sleep(amounts.settleMs)
  figures.rss = { warmMb, peakMb: load.peakRssMb.gateway, endMb: rssMb(gateway.pid) }
  return figures
}

async function cutAndMatch(
  load: LoadClient,
  mock: Target,
  target: Target,
  streams: number,
): Promise<ClosingFigures> {
  await takeClosings(mock)
  const body = requestBody(target.model(PACED), true, CUT_MARK)
  const report = await load.cut(target, { body, streams, atOnce: AT_ONCE })
  const closedAt = new Map<string, number>()
  const deadline = performance.now() + CLOSING_DEADLINE_MS
  do {
    await Bun.sleep(CLOSING_PAUSE_MS)
    for (const [mark, atMs] of (await takeClosings(mock)).marked) closedAt.set(mark, atMs)
  } while (performance.now() < deadline && report.cuts.some(([mark]) => !closedAt.has(mark)))
  return match(report, closedAt)
}

/** The mock forgets what it has reported. */
async function takeClosings(mock: Target): Promise<Closings> {
  const response = await fetch(`http://127.0.0.1:${mock.port}/closings`)
  return (await response.json()) as Closings
}

function match(report: CutReport, closedAt: Map<string, number>): ClosingFigures {
  const delays: number[] = []
  let unclosed = 0
  for (const [mark, cutAtMs] of report.cuts) {
    const closedAtMs = closedAt.get(mark)
    if (closedAtMs === undefined) unclosed += 1
    else delays.push(closedAtMs - cutAtMs)
  }
  delays.sort((left, right) => left - right)
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => quantile(delays, share)) as [
    number,
    number,
    number,
  ]
  return { streams: report.cuts.length, unclosed, p50Ms, p99Ms, maxMs }
}
