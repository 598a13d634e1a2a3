// The drawing of a chart: created once, and updated with its data. Everything that can change is read at drawing time, so that new
// figures, another range or another theme do not recreate it.

import type uPlot from 'uplot'
import { language } from '../language'
import { inZone, timeFormat } from '../zone'
import type { Look } from './colours'

/** Everything that a chart draws. */
export interface Drawing {
  /** Stacked bars, or lines. */
  kind: 'bars' | 'lines'
  /** Beginnings of the spans, in milliseconds since 1970. */
  times: readonly number[]
  /** Length of a span in milliseconds. */
  spanMs: number
  /** Values for each time, null where there is no value, and how the series looks. */
  series: readonly { values: readonly (number | null)[]; look: Look }[]
  /** The figures of the period before, as a dotted line. */
  before: readonly (number | null)[] | undefined
  /** Formats a value for people. */
  write(value: number): string
  height: number
}

const DAY_MS = 86_400_000
/** Maximum width of a bar, in pixels: a single day must not fill the chart. */
const WIDEST_BAR = 72

export class ChartPlot {
  readonly #plot: uPlot
  #drawing: Drawing
  #inks: Inks

  constructor(
    Plot: typeof uPlot,
    place: HTMLElement,
    drawing: Drawing,
    react: { point(at: number | null, pixel: number): void; choose(since: number, until: number): void },
  ) {
    this.#drawing = drawing
    this.#inks = inksOf(drawing)
    this.#plot = new Plot(
      {
        ...this.#options(place.clientWidth),
        hooks: {
          setCursor: [
            ({ cursor: { left = -1 }, over }) =>
              react.point(this.#spanAt(left), over.getBoundingClientRect().left + left),
          ],
          setSelect: [
            (plot) => {
              const { left, width } = plot.select
              if (width < 4) return
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
              react.choose(this.#timeAt(left), this.#timeAt(left + width))
            },
          ],
        },
      },
      [[]],
      place,
    )
    this.#plot.batch(() => this.#setSeries())
    this.draw(drawing)
  }

  /** Draws new figures, or the same ones in changed colours. */
  draw(drawing: Drawing): void {
    const isOfOtherSeries = linesOf(drawing) !== linesOf(this.#drawing)
    this.#drawing = drawing
    this.#inks = inksOf(drawing)
    const plot = this.#plot
    plot.batch(() => {
      if (isOfOtherSeries) this.#setSeries()
      plot.setData(dataOf(drawing))
    })
  }

  setWidth(width: number): void {
    this.#plot.setSize({ width, height: this.#drawing.height })
  }

  /** Points at a span as the pointer does; null points at no span. */
  pointAt(at: number | null): void {
    const time = at === null ? undefined : this.#drawing.times[at]
    const left = time === undefined ? -10 : this.#plot.valToPos((time + this.#drawing.spanMs / 2) / 1000, 'x')
    this.#plot.setCursor({ left, top: time === undefined ? -10 : 0 })
  }

  destroy(): void {
    this.#plot.destroy()
  }

  #timeAt(pixel: number): number {
    return Math.round(this.#plot.posToVal(pixel, 'x') * 1000)
  }

  /** The span below a pixel of the plot; null if there is no span. */
  #spanAt(pixel: number): number | null {
    const { times, spanMs } = this.#drawing
    if (pixel < 0) return null
    const time = this.#timeAt(pixel)
    const at = times.findLastIndex((each) => each <= time)
    const begins = times[at]
    return begins !== undefined && time < begins + spanMs ? at : null
  }

  #setSeries(): void {
    const plot = this.#plot
    while (plot.series.length > 1) plot.delSeries(plot.series.length - 1)
    const { kind, series, before } = this.#drawing
    series.forEach((_, index) => {
      const ink = () => this.#inks.series[kind === 'bars' ? series.length - 1 - index : index] ?? ''
      // The library's types allow no pattern as a colour, but a canvas does.
      const stroke = ink as () => string
      plot.addSeries(
        kind === 'bars'
          ? { stroke, fill: stroke, width: 0, points: { show: false }, paths: this.#bars }
          : { stroke, width: 2, points: { show: true, size: 4, fill: stroke }, spanGaps: false },
        index + 1,
      )
    })
    const stroke = () => this.#inks.text
    if (before)
      plot.addSeries(
        { stroke, width: 1.5, dash: [2, 4], cap: 'round', points: { show: false } },
        series.length + 1,
      )
  }

  /** Bars within their span: the plot's own bars are centred on a time, and a span begins there. */
  readonly #bars: uPlot.Series.PathBuilder = (self, index, from, to) => {
    const path = new Path2D()
    const [xs, ys] = [self.data[0], self.data[index]]
    const halfMs = this.#drawing.spanMs / 2000
    const zero = self.valToPos(0, 'y', true)
    const ratio = devicePixelRatio
    for (let at = from; at <= to; at++) {
      const value = ys?.[at]
      if (!value) continue
      const left = self.valToPos((xs[at] ?? 0) - halfMs, 'x', true)
      const right = self.valToPos((xs[at] ?? 0) + halfMs, 'x', true)
      const gap = right - left > 6 * ratio ? 2 * ratio : 0
      const width = Math.min(WIDEST_BAR * ratio, Math.max(1, right - left - gap))
      const top = self.valToPos(value, 'y', true)
      path.rect((left + right - width) / 2, top, width, Math.max(1, zero - top))
    }
    return { fill: path, stroke: null, flags: 0 } as unknown as uPlot.Series.Paths
  }

  #options(width: number): uPlot.Options {
    const axis: uPlot.Axis = {
      stroke: () => this.#inks.text,
      font: '12px system-ui',
      grid: { stroke: () => this.#inks.line, width: 1 },
      ticks: { show: false },
    }
    const ends = (): [number, number] => {
      const { times, spanMs } = this.#drawing
      return [(times[0] ?? 0) / 1000, ((times.at(-1) ?? 0) + spanMs) / 1000]
    }
    return {
      width,
      height: this.#drawing.height,
      tzDate: (time) => (this.#drawing.spanMs >= DAY_MS ? utcOf(time) : inZone(new Date(time * 1000))),
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { time: true, range: ends },
        y: { range: (_self, _least, most) => [0, (most || 1) * 1.1] },
      },
      axes: [
        {
          ...axis,
          incrs: () => stepsOf(this.#drawing.spanMs),
          space: 64,
          size: 28,
          values: (_self, times) => timeLabels(times, this.#drawing.spanMs),
        },
        {
          ...axis,
          size: (_self, written) => axisWidth(written ?? []),
          values: (_self, values) => values.map(this.#drawing.write),
        },
      ],
      series: [{}],
    }
  }
}

/** The kind and the number of series: if they change, the plot needs new series. */
function linesOf({ kind, series, before }: Drawing): string {
  return `${kind} ${series.length} ${before !== undefined}`
}

/** A value is in the middle of its span. Stacked bars are drawn from the highest sum to the lowest, each over the previous one. */
function dataOf({ kind, times, spanMs, series, before }: Drawing): uPlot.AlignedData {
  const seconds = times.map((time) => (time + spanMs / 2) / 1000)
  const further = before ? [[...before]] : []
  if (kind === 'lines') return [seconds, ...series.map(({ values }) => [...values]), ...further]
  const sums = times.map(() => 0)
  const stacked = series.map(({ values }) =>
    values.map((value, at) => {
      sums[at] = (sums[at] ?? 0) + (value ?? 0)
      return sums[at]
    }),
  )
  return [seconds, ...stacked.toReversed(), ...further]
}

/** Space for the longest figure on the left, in pixels. */
function axisWidth(figures: readonly string[]): number {
  return Math.max(64, ...figures.map(({ length }) => 12 + length * 7))
}

/** Steps between two times of the axis, in seconds. */
function stepsOf(spanMs: number): number[] {
  const steps = spanMs >= DAY_MS ? [1, 2, 7, 14, 28] : [1, 2, 3, 6, 12, 24]
  return steps.map((step) => (step * spanMs) / 1000)
}

const utcDay = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const ownDay = timeFormat({ day: 'numeric', month: 'short' })
const ownHour = timeFormat({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** Days are in UTC, as they are summed; hours are in the chosen zone. */
function timeLabels(times: readonly number[], spanMs: number): string[] {
  return times.map((time) => {
    const at = new Date(time * 1000)
    if (spanMs >= DAY_MS) return utcDay.format(at)
    const shown = inZone(at)
    return shown.getHours() + shown.getMinutes() === 0 ? ownDay.format(at) : ownHour.format(at)
  })
}

/** A date whose local fields are those of UTC, by which the plot finds its ticks. */
function utcOf(seconds: number): Date {
  const at = new Date(seconds * 1000)
  return new Date(at.getTime() + at.getTimezoneOffset() * 60_000)
}

/** Colours of the current theme, and patterns in them. */
interface Inks {
  text: string
  line: string
  series: (string | CanvasPattern)[]
}

function inksOf({ series }: Drawing): Inks {
  const probe = document.createElement('i')
  document.body.append(probe)
  // A token has a colour for light and one for dark; a canvas accepts only the one in use.
  const resolved = (colour: string): string => {
    probe.style.color = colour
    return getComputedStyle(probe).color
  }
  const inks = {
    text: resolved('var(--quiet)'),
    line: resolved('var(--line)'),
    series: series.map(({ look: { colour, stripes } }) => striped(resolved(colour), stripes)),
  }
  probe.remove()
  return inks
}

/** A colour with diagonal stripes, further apart the higher the number of the pattern; plain for 0. */
function striped(colour: string, stripes: number): string | CanvasPattern {
  if (stripes === 0) return colour
  const size = 8 * stripes * devicePixelRatio
  const tile = new OffscreenCanvas(size, size)
  const context = tile.getContext('2d')
  if (!context) return colour
  context.strokeStyle = colour
  context.lineWidth = size / 3
  context.beginPath()
  for (const shift of [-size, 0, size]) {
    context.moveTo(shift - size / 2, size * 1.5)
    context.lineTo(shift + size * 1.5, -size / 2)
  }
  context.stroke()
  return context.createPattern(tile, 'repeat') ?? colour
}
