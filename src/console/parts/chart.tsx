// A chart over time: stacked bars or lines, exact figures at the pointer, and zooming by dragging. Arrow keys work like the
// pointer. Below it is a table of its figures, for people who cannot see it, built when it is opened. The drawing is loaded when
// the first chart is shown.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { setQuery } from '../address'
import { type Look, looksOf } from '../charts/colours'
import { ChartPlot, type Drawing } from '../charts/plot'
import { comparison } from '../comparison'
import { texts } from '../texts'
import { zone } from '../zone'

export interface Series {
  title: string
  /** A value for each time; null where there is no value. */
  values: readonly (number | null)[]
  /** A CSS colour with a meaning, such as `var(--bad)` for failures. Default: the colour of the title. */
  colour?: string
}

interface ChartProps extends Pick<Drawing, 'kind' | 'times' | 'spanMs' | 'write'> {
  /** A title with the unit: `Spend by hour in dollars`. */
  label: string
  series: readonly Series[]
  /** The sums of the previous period, as a dotted line. */
  before?: readonly (number | null)[]
  height?: number
  /** The exact figures as a table. */
  children?: ComponentChildren
}

const HEIGHT = 180
/** Pixels between the pointer and the box of figures. */
const TOOLTIP_GAP = 12

/** A series with its look. */
type Shown = Series & { look: Look }

export function Chart({ label, series, before, children, height = HEIGHT, ...figures }: ChartProps) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const looks = looksOf(series)
  const all: Shown[] = series.map((each, index) => ({
    ...each,
    look: looks[index] ?? { colour: '', stripes: 0 },
  }))
  const shown = all.filter(({ title }) => !hidden.has(title))
  const isWhole = shown.length === all.length
  const drawing = { ...figures, series: shown, before: isWhole ? before : undefined, height }
  const isEmpty = [...series.map(({ values }) => values), before ?? []].every((values) =>
    values.every((value) => !value),
  )
  return (
    <figure class="chart">
      <figcaption>
        <span>{label}</span>
      </figcaption>
      <Plot label={label} drawing={drawing} isEmpty={isEmpty} />
      {(all.length > 1 || before) && (
        <Legend
          series={all}
          hidden={hidden}
          hasBefore={before !== undefined}
          toggle={(title) => setHidden((titles) => titles.symmetricDifference(new Set([title])))}
        />
      )}
      {children && <Figures>{children}</Figures>}
    </figure>
  )
}

interface NamedDrawing extends Drawing {
  series: readonly Shown[]
}

interface PlotProps {
  label: string
  drawing: NamedDrawing
  isEmpty: boolean
}

/** Keeps an existing drawing up to date, with its figures in the tooltip. */
function usePlot({ drawing, isEmpty }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const tooltip = useRef<HTMLDivElement>(null)
  const plot = useRef<ChartPlot | undefined>(undefined)
  const latest = useRef(drawing)
  latest.current = drawing
  useEffect(() => {
    if (isEmpty) return
    let isGone = false
    const stopWatching = onThemeChange(() => plot.current?.draw(latest.current))
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0)
      if (width > 0) plot.current?.setWidth(width)
    })
    import('uplot').then(({ default: Library }) => {
      const box = place.current
      if (isGone || !box) return
      plot.current = new ChartPlot(Library, box, latest.current, {
        point: (at, pixel) => showFigures(tooltip.current, box, latest.current, at, pixel),
        choose: (since, until) =>
          setQuery({
            range: null,
            since: new Date(since).toISOString(),
            until: new Date(until).toISOString(),
          }),
      })
      observer.observe(box)
    })
    return () => {
      isGone = true
      stopWatching()
      observer.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [isEmpty])
  useEffect(() => plot.current?.draw(drawing), [JSON.stringify(drawing), zone.value])
  return { place, tooltip, pointAt: (at: number | null) => plot.current?.pointAt(at) }
}

function Plot(props: PlotProps) {
  const { label, drawing, isEmpty } = props
  const { place, tooltip, pointAt } = usePlot(props)
  const [pointed, setPointed] = useState<number | null>(null)
  const last = drawing.times.length - 1
  const point = (at: number | null) => {
    setPointed(at)
    pointAt(at)
  }
  const press = (event: KeyboardEvent) => {
    const to = stepOf(event.key, pointed, last)
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    point(to)
  }
  if (isEmpty)
    return (
      <div class="plot" style={{ height: `${drawing.height}px` }}>
        <p class="empty">{texts.nothingYet}</p>
      </div>
    )
  const at = Math.min(pointed ?? last, last)
  return (
    <>
      <div ref={tooltip} class="pointed" aria-hidden="true" hidden />
      <div
        ref={place}
        class="plot"
        style={{ height: `${drawing.height}px` }}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={at}
        aria-valuetext={linesAt(drawing, at)
          .map(({ title, value }) => `${title} ${value}`)
          .join(', ')}
        onKeyDown={press}
        onBlur={() => pointed !== null && point(null)}
      />
    </>
  )
}

/** The span that a key press points at; null if it points at no span, undefined for other keys. */
function stepOf(key: string, from: number | null, last: number): number | null | undefined {
  if (key === 'ArrowRight') return Math.min((from ?? last - 1) + 1, last)
  if (key === 'ArrowLeft') return Math.max((from ?? last + 1) - 1, 0)
  if (key === 'Home') return 0
  if (key === 'End') return last
  return key === 'Escape' && from !== null ? null : undefined
}

function Legend({
  series,
  hidden,
  hasBefore,
  toggle,
}: {
  series: readonly Shown[]
  hidden: ReadonlySet<string>
  hasBefore: boolean
  toggle(title: string): void
}) {
  return (
    <ul class="legend">
      {series.map(({ title, look }) => (
        <li key={title}>
          <button
            type="button"
            class="plain"
            aria-pressed={!hidden.has(title)}
            title={hidden.has(title) ? texts.showSeries : texts.hideSeries}
            onClick={() => toggle(title)}
          >
            <Swatch look={look} /> {title}
          </button>
        </li>
      ))}
      {hasBefore && (
        <li>
          <i class="swatch before" /> {texts.comparedWith[comparison()]}
        </li>
      )}
    </ul>
  )
}

function Swatch({ look: { colour, stripes } }: { look: Look }) {
  return (
    <i
      class={`swatch ${stripes > 0 ? 'striped' : ''}`}
      style={{ '--own': colour, '--stripe': `${2 + stripes}px` }}
    />
  )
}

/** Figures as a table: a chart of a year has thousands of cells, which are needed only when it is opened. */
function Figures({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{texts.asTable}</summary>
      {isOpen && children}
    </details>
  )
}

interface Line {
  title: string
  value: string
  look?: Look
}

/** The figures of a span: its time, each series that has one, the total, and the previous period. */
function linesAt({ kind, times, spanMs, series, before, write }: NamedDrawing, at: number): Line[] {
  const time = times[at]
  if (time === undefined) return []
  const lines: Line[] = series.flatMap(({ title, values, look }) => {
    const value = values[at]
    return value ? [{ title, value: write(value), look }] : []
  })
  // Lines are not parts of a whole, such as p50 and p99.
  if (kind === 'bars' && lines.length > 1) {
    const total = series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)
    lines.push({ title: texts.total, value: write(total) })
  }
  const past = before?.[at]
  if (past) lines.push({ title: texts.comparedWith[comparison()], value: write(past) })
  return [
    { title: texts.span(time, spanMs), value: '' },
    ...(lines.length > 0 ? lines : [{ title: texts.nothing, value: '' }]),
  ]
}

/** Shows the figures of a span in a box next to the pointer, without moving anything else on the page. */
function showFigures(
  tooltip: HTMLElement | null,
  plot: HTMLElement,
  drawing: NamedDrawing,
  at: number | null,
  pixel: number,
): void {
  if (!tooltip) return
  tooltip.hidden = at === null
  if (at === null) return
  tooltip.replaceChildren(
    ...linesAt(drawing, at).flatMap(({ title, value, look }, index) => {
      const line = document.createElement('div')
      const swatch = document.createElement('i')
      swatch.className = `swatch ${look ? '' : 'none'} ${look && look.stripes > 0 ? 'striped' : ''}`
      if (look) swatch.style.setProperty('--own', look.colour)
      const [name, figure] = [document.createElement('span'), document.createElement('span')]
      name.textContent = title
      figure.textContent = value
      line.append(swatch, name, ' ', figure)
      return index === 0 ? [line] : ['\n', line]
    }),
  )
  const isRoomAtRight = pixel + TOOLTIP_GAP + tooltip.offsetWidth < innerWidth
  const x = isRoomAtRight ? pixel + TOOLTIP_GAP : pixel - TOOLTIP_GAP - tooltip.offsetWidth
  tooltip.style.left = `${Math.max(0, x)}px`
  tooltip.style.top = `${plot.getBoundingClientRect().top}px`
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
