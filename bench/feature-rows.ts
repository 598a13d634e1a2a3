// Rows of the table for the cost of a feature per request: each compares with the same requests without it, in the same run.

import { CONTENT_FRAMES, FRAMES_PER_SECOND } from './exchange'
import type {
  AffinityFigures,
  CacheFigures,
  Figures,
  PartsFigures,
  SpendersFigures,
  TranslationCost,
  TranslationFigures,
} from './figures'
import type { TurnsFigures } from './load-job'
import { mean, meanError, median } from './statistics'
import type { Row } from './table'
import type { PerTarget } from './targets'

const BAR = {
  translationRatio: 1.5,
  cacheRatio: 1,
  affinityRatio: 1.03,
  unnamedRatio: 1.03,
  partShare: 0.02,
}

export function featureRows({ translation, cache, affinity, spenders, parts }: Figures): Row[] {
  return [
    ...translationRows(translation),
    ...cacheRows(cache),
    ...affinityRows(affinity),
    ...spendersRows(spenders),
    ...partRows(parts),
  ]
}

function translationRows(translation: TranslationFigures | undefined): Row[] {
  if (translation === undefined) return []
  const row = (what: string, { passedMicros, translatedMicros }: TranslationCost): Row => {
    const [passed, translated] = [median(passedMicros), median(translatedMicros)]
    const ratio = translated / passed
    return {
      figure: `CPU per ${what}`,
      bar: `≤ ${BAR.translationRatio}× passed as it comes`,
      cells: {
        gateway: `${translated.toFixed(0)} µs, ${ratio.toFixed(2)}× (${passed.toFixed(0)} µs)`,
      },
      missed: !(ratio <= BAR.translationRatio),
    }
  }
  const stream = `stream of ${CONTENT_FRAMES} chunks translated to responses`
  return [
    row('whole answer of 1 KB translated to responses', translation.whole),
    row(`${stream}, as fast as they go`, translation.burst),
    row(`${stream}, ${FRAMES_PER_SECOND} a second`, translation.paced),
  ]
}

function cacheRows(cache: CacheFigures | undefined): Row[] {
  if (cache === undefined) return []
  const [passed, cached] = [median(cache.passedMicros), median(cache.cachedMicros)]
  const ratio = cached / passed
  return [
    {
      figure: 'CPU per answer of the response cache, 1 KB',
      bar: `≤ ${BAR.cacheRatio}× passed`,
      cells: { gateway: `${cached.toFixed(0)} µs, ${ratio.toFixed(2)}× (${passed.toFixed(0)} µs)` },
      missed: !(ratio <= BAR.cacheRatio),
    },
  ]
}

/** The median of the ratios within each round: a few percent would be lost in the noise of the machine. */
function ratioTo(others: readonly number[], micros: readonly number[]): number {
  return median(micros.map((each, round) => each / (others[round] ?? Number.NaN)))
}

function cellsTo(others: readonly number[], micros: number[]): PerTarget<string> {
  const ratio = ratioTo(others, micros).toFixed(3)
  return { gateway: `${median(micros).toFixed(0)} µs, ${ratio}× (${median([...others]).toFixed(0)} µs)` }
}

function affinityRows(affinity: AffinityFigures | undefined): Row[] {
  if (affinity === undefined) return []
  const { oneMicros, equalMicros, preferredMicros } = affinity
  return [
    {
      figure: 'CPU per answer of a model over two upstreams, 1 KB',
      bar: `≤ ${BAR.affinityRatio}× one upstream`,
      cells: cellsTo(oneMicros, equalMicros),
      missed: !(ratioTo(oneMicros, equalMicros) <= BAR.affinityRatio),
    },
    {
      figure: 'CPU per answer of the cheapest of two models, 1 KB',
      cells: cellsTo(oneMicros, preferredMicros),
    },
  ]
}

function spendersRows(spenders: SpendersFigures | undefined): Row[] {
  if (spenders === undefined) return []
  const { withoutMicros, unnamedMicros, namedMicros } = spenders
  return [
    {
      figure: 'CPU per answer for a key with spenders, none named, 1 KB',
      bar: `≤ ${BAR.unnamedRatio}× a key without`,
      cells: cellsTo(withoutMicros, unnamedMicros),
      missed: !(ratioTo(withoutMicros, unnamedMicros) <= BAR.unnamedRatio),
    },
    {
      figure: 'CPU per answer for a spender with a budget, 1 KB',
      cells: cellsTo(withoutMicros, namedMicros),
    },
  ]
}

function partRows(parts: PartsFigures | undefined): Row[] {
  if (parts === undefined) return []
  const { none } = parts
  const micros = median(none.flatMap((figures) => figures.micros)).toFixed(0)
  const row = (part: string, measured: TurnsFigures[], bar?: number): Row => {
    const ofRequest = measured.map((figures, index) => addedShare(figures.micros, none[index]?.micros ?? []))
    const ofSecond = measured.map(
      ({ besideShare }, index) => besideShare - (none[index]?.besideShare ?? Number.NaN),
    )
    return {
      figure: `Added CPU of a request / of a second outside requests: ${part}`,
      // Per request, which can be any number. The rest does not grow with them.
      ...(bar !== undefined && { bar: `≤ ${bar * 100} % of a request`, missed: !(mean(ofRequest) <= bar) }),
      cells: { gateway: `${percent(ofRequest)} of ${micros} µs / ${percent(ofSecond)} of a core` },
    }
  }
  return [
    row('metrics, scraped every 15 s', parts.metrics, BAR.partShare),
    row('a JSON log line of each request', parts.lines),
    row('the console, watched by an owner', parts.console, BAR.partShare),
    row('nothing, as the error of the measure', parts.again),
  ]
}

/** The extra cost of requests compared with others in the same round: the machine's speed changes by more than the difference. */
function addedShare(micros: readonly number[], othersMicros: readonly number[]): number {
  return median(micros.map((value, round) => value / (othersMicros[round] ?? Number.NaN))) - 1
}

/** A share with its error, estimated from its generations. */
function percent(shares: readonly number[]): string {
  return `${(mean(shares) * 100).toFixed(2)} ± ${(meanError(shares) * 100).toFixed(2)} %`
}
