// A chart over time: bars on each other or lines, exact figures where it is pointed at, and a range to look closer by
// dragging. Below it stands its table, for who cannot see it. The drawing is loaded when the first chart is shown.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { setQuery } from '../address'
import { texts } from '../texts'

export interface Series {
  title: string
  /** A value for each time; null for none. */
  values: readonly (number | null)[]
  /** Failures have a colour of their own. */
  isFailure?: boolean
}

interface ChartProps {
  /** A title with the unit: `Spend by hour in dollars`. */
  label: string
  kind: 'bars' | 'lines'
  /** Beginnings of the spans, in milliseconds since 1970. */
  times: readonly number[]
  /** Length of a span in milliseconds. */
  spanMs: number
  series: readonly Series[]
  /** Writes a value as people read it. */
  write(value: number): string
  height?: number
  /** The exact figures as a table. */
  children?: ComponentChildren
}

const HEIGHT = 180
/** Pixels between the pointer and the box of figures. */
const TOOLTIP_GAP = 12
const DAY_MS = 86_400_000
/** Colours of series in their order; each is told apart by its name too. */
const COLOURS = 8

export function Chart({ label, kind, times, spanMs, series, write, height = HEIGHT, children }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const tooltip = useRef<HTMLDivElement>(null)
  const [colours, setColours] = useState(() => coloursNow())
  useEffect(() => onThemeChange(() => setColours(coloursNow())), [])
  const isEmpty = series.every(({ values }) => values.every((value) => !value))
  const key = JSON.stringify([label, kind, times, series, height, colours])
  useEffect(() => {
    let plot: uPlot | undefined
    let isGone = false
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0)
      if (width > 0) plot?.setSize({ width, height })
    })
    import('uplot').then(({ default: Plot }) => {
      const box = place.current
      if (isGone || !box || isEmpty) return
      const options = optionsOf({
        kind,
        times,
        spanMs,
        series,
        write,
        height,
        width: box.clientWidth,
        colours,
      })
      plot = new Plot(
        {
          ...options,
          hooks: {
            ...options.hooks,
            setCursor: [(self) => tell(self, tooltip.current, { kind, times, spanMs, series, write })],
          },
        },
        dataOf({ kind, times, spanMs, series }),
        box,
      )
      observer.observe(box)
    })
    return () => {
      isGone = true
      observer.disconnect()
      plot?.destroy()
    }
  }, [key])
  return (
    <figure class="chart">
      <figcaption>
        <span>{label}</span>
      </figcaption>
      <div ref={tooltip} class="pointed" aria-hidden="true" hidden />
      <div ref={place} class="plot" style={{ height: `${height}px` }} aria-hidden="true">
        {isEmpty && <p class="empty">{texts.nothingYet}</p>}
      </div>
      <Legend series={series} />
      {children && (
        <details>
          <summary>{texts.asTable}</summary>
          {children}
        </details>
      )}
    </figure>
  )
}

function Legend({ series }: Pick<ChartProps, 'series'>) {
  return (
    <ul class="legend">
      {series.map(({ title, isFailure }, index) => (
        <li key={title}>
          <i class={`swatch ${isFailure ? 'span-failed' : `colour-${index % COLOURS}`}`} /> {title}
        </li>
      ))}
    </ul>
  )
}

interface Drawing
  extends Required<Pick<ChartProps, 'kind' | 'times' | 'spanMs' | 'series' | 'write' | 'height'>> {
  width: number
  colours: Colours
}

function optionsOf({ kind, times, spanMs, series, write, height, width, colours }: Drawing): uPlot.Options {
  const axis = {
    stroke: colours.text,
    font: '12px system-ui',
    grid: { stroke: colours.line, width: 1 },
    ticks: { show: false },
  }
  const first = (times[0] ?? 0) / 1000
  const last = ((times.at(-1) ?? 0) + spanMs) / 1000
  return {
    width,
    height,
    ...(spanMs >= DAY_MS && { tzDate: (time: number) => utcOf(time) }),
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false, setScale: false } },
    scales: {
      x: { time: true, range: () => [first, last] },
      y: { range: (_self, _least, most) => [0, (most || 1) * 1.1] },
    },
    axes: [
      { ...axis, ...timeAxis(spanMs) },
      {
        ...axis,
        size: (_self, written) => axisWidth(written ?? []),
        values: (_self, values) => values.map(write),
      },
    ],
    series: [
      {},
      ...drawOrder(kind, series).map((index) => {
        const own = series[index]?.isFailure ? colours.failure : colours.series[index % COLOURS]
        const stroke = own ?? colours.text
        return kind === 'bars'
          ? { stroke, fill: stroke, width: 0, points: { show: false }, paths: barsOf(spanMs) }
          : { stroke, width: 2, points: { show: true, size: 4, fill: stroke }, spanGaps: false }
      }),
    ],
    hooks: {
      setSelect: [
        (self) => {
          const { left, width: selected } = self.select
          if (selected < 4) return
          const timeAt = (x: number) => new Date(Math.round(self.posToVal(x, 'x') * 1000)).toISOString()
          setQuery({ range: null, since: timeAt(left), until: timeAt(left + selected) })
        },
      ],
    },
  }
}

/** Room for the longest figure at the left, in pixels. */
function axisWidth(figures: readonly string[]): number {
  return Math.max(64, ...figures.map(({ length }) => 12 + length * 7))
}

/** Days are days in UTC, as they are summed; hours are the viewer's. */
function timeAxis(spanMs: number): uPlot.Axis {
  const isDay = spanMs >= DAY_MS
  const day = new Intl.DateTimeFormat('en', {
    day: 'numeric',
    month: 'short',
    ...(isDay && { timeZone: 'UTC' }),
  })
  const hour = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  const steps = isDay ? [1, 2, 7, 14, 28] : [1, 2, 3, 6, 12, 24]
  return {
    incrs: steps.map((step) => (step * spanMs) / 1000),
    space: 64,
    size: 28,
    values: (_self, times) =>
      times.map((time) => {
        const at = new Date(time * 1000)
        return isDay || at.getHours() + at.getMinutes() === 0 ? day.format(at) : hour.format(at)
      }),
  }
}

/** Bars that fill their span, drawn by hand of the paths: the plot's own bars stand around a time, and a span begins there. */
function barsOf(spanMs: number): uPlot.Series.PathBuilder {
  return (self, index, from, to) => {
    const path = new Path2D()
    const [xs, ys] = [self.data[0], self.data[index]]
    const zero = self.valToPos(0, 'y', true)
    for (let at = from; at <= to; at++) {
      const value = ys?.[at]
      if (!value) continue
      const left = self.valToPos(xs[at] ?? 0, 'x', true)
      const right = self.valToPos((xs[at] ?? 0) + spanMs / 1000, 'x', true)
      const top = self.valToPos(value, 'y', true)
      const gap = right - left > 6 ? 2 : 0
      path.rect(left + gap / 2, top, Math.max(1, right - left - gap), Math.max(1, zero - top))
    }
    return { fill: path, stroke: null, flags: 0 } as unknown as uPlot.Series.Paths
  }
}

/** A date whose local fields are those of UTC, by which the plot finds its ticks. */
function utcOf(seconds: number): Date {
  const at = new Date(seconds * 1000)
  return new Date(at.getTime() + at.getTimezoneOffset() * 60_000)
}

/** Bars on each other are drawn from the highest sum to the lowest, each over the one before. */
function drawOrder(kind: ChartProps['kind'], series: readonly Series[]): number[] {
  const order = series.map((_, index) => index)
  return kind === 'bars' ? order.toReversed() : order
}

/** Bars begin where their span begins; a point of a line stands in the middle of its span. */
function dataOf({
  kind,
  times,
  spanMs,
  series,
}: Pick<Drawing, 'kind' | 'times' | 'spanMs' | 'series'>): uPlot.AlignedData {
  const seconds = times.map((time) => time / 1000)
  if (kind === 'lines')
    return [seconds.map((time) => time + spanMs / 2000), ...series.map(({ values }) => [...values])]
  const sums = times.map(() => 0)
  const stacked = series.map(({ values }) =>
    values.map((value, at) => {
      sums[at] = (sums[at] ?? 0) + (value ?? 0)
      return sums[at]
    }),
  )
  return [seconds, ...stacked.toReversed()]
}

/** Shows the figures of the span under the pointer in a box next to it, which moves nothing else of the page. */
function tell(
  { cursor, posToVal, over }: uPlot,
  place: HTMLElement | null,
  { kind, times, spanMs, series, write }: Pick<ChartProps, 'kind' | 'times' | 'spanMs' | 'series' | 'write'>,
): void {
  if (!place) return
  const { left = -1 } = cursor
  const at = left < 0 ? -1 : times.findLastIndex((time) => time <= posToVal(left, 'x') * 1000)
  const time = times[at]
  if (time === undefined) {
    place.hidden = true
    return
  }
  const figures = series.flatMap(({ title, values }) => {
    const value = values[at]
    return value ? [`${title} ${write(value)}`] : []
  })
  // Lines are no parts of a whole, such as p50 and p99.
  if (kind === 'bars' && figures.length > 1) {
    const total = series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
    figures.push(`${texts.total} ${write(total)}`)
  }
  place.textContent = [texts.span(time, spanMs), ...(figures.length > 0 ? figures : [texts.nothing])].join(
    '\n',
  )
  place.hidden = false
  const box = over.getBoundingClientRect()
  const pointer = box.left + left
  const isRoomAtRight = pointer + TOOLTIP_GAP + place.offsetWidth < innerWidth
  const x = isRoomAtRight ? pointer + TOOLTIP_GAP : pointer - TOOLTIP_GAP - place.offsetWidth
  place.style.left = `${Math.max(0, x)}px`
  place.style.top = `${box.top}px`
}

interface Colours {
  text: string
  line: string
  failure: string
  series: string[]
}

function coloursNow(): Colours {
  const styles = getComputedStyle(document.documentElement)
  const of = (name: string) => resolved(styles.getPropertyValue(name).trim())
  return {
    text: of('--quiet'),
    line: of('--line'),
    failure: of('--bad'),
    series: Array.from({ length: COLOURS }, (_, index) => of(`--series-${index}`)),
  }
}

/** A token has a colour for light and one for dark; a canvas takes only the one that holds. */
function resolved(token: string): string {
  const probe = document.createElement('i')
  probe.style.color = token
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

function onThemeChange(react: () => void): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)')
  media.addEventListener('change', react)
  const observer = new MutationObserver(react)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  return () => {
    media.removeEventListener('change', react)
    observer.disconnect()
  }
}
