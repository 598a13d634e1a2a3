// The overview: spending and requests, their course by hour, what needs attention, and how upstreams perform. Each figure links to
// its rows.

import { hrefOf, period, periodQuery } from '../address'
import { call, type Reply } from '../api'
import { comparedPeriod, comparison } from '../comparison'
import { decimalText, numberText } from '../language'
import { useLive } from '../live'
import { Chart, type Series } from '../parts/chart'
import { Figure } from '../parts/figure'
import { Loaded } from '../parts/loaded'
import { centsText, dollarsOf, dollarsText, Money, moneyText, nanoOf, sumUsd } from '../parts/money'
import { type Column, Table } from '../parts/table'
import { Duration, durationText } from '../parts/time'
import { RunningDrills, UpstreamState } from '../parts/upstream-state'
import { useQuery } from '../query'
import { texts } from '../texts'
import { Attention } from './overview-attention'
import { FirstSteps } from './overview-first-steps'

const words = texts.overview
type Figures = Reply<'getOverview'>

export default function Overview() {
  const earlier = comparedPeriod()
  const asked = { ...periodQuery(), before_since: earlier?.since, before_until: earlier?.until }
  const news = useLive('overview', asked.until === undefined)
  const load = useQuery(['overview', asked], (signal) => call('getOverview', { query: asked, signal }), news)
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <RunningDrills />
      <Loaded of={load}>
        {(figures) => (
          <>
            {figures.first_steps && <FirstSteps steps={figures.first_steps} />}
            <Totals figures={figures} />
            <Charts figures={figures} />
            <div class="columns">
              <section class="part">
                <h2>{words.attention}</h2>
                <Attention figures={figures} />
              </section>
              <section class="part">
                <h2>{texts.upstreams.title}</h2>
                <Upstreams figures={figures} />
              </section>
            </div>
          </>
        )}
      </Loaded>
    </>
  )
}

function Totals({ figures: { total, open } }: { figures: Figures }) {
  const { first_byte_p50_ms: p50, first_byte_p99_ms: p99 } = total
  return (
    <div class="figures">
      <Figure
        title={words.revenue}
        href={hrefOf('usage', { by: 'model' })}
        note={changeOf(total.amount_usd, total.amount_before_usd)}
      >
        <Money usd={total.amount_usd} />
      </Figure>
      <Figure
        title={words.cost}
        href={hrefOf('usage', { by: 'model' })}
        note={total.costed_usd === null ? words.costUnknown : words.ofCosted(centsText(total.costed_usd))}
      >
        <Money usd={total.cost_usd} />
      </Figure>
      <Figure
        title={words.margin}
        href={hrefOf('usage', { by: 'model' })}
        note={total.margin_usd === null ? words.costUnknown : moneyText(total.margin_usd)}
      >
        {marginOf(total)}
      </Figure>
      <Figure title={words.requests} href={hrefOf('requests')} note={words.charged(total.charged_requests)}>
        {numberText(total.requests)}
      </Figure>
      <Figure title={words.failures} href={hrefOf('requests', { status: 'failed' })} note={failuresOf(total)}>
        {texts.share(total.failed, total.requests) || '–'}
      </Figure>
      <Figure
        title={words.firstByte}
        href={hrefOf('upstreams')}
        note={p99 === null ? words.noAnswers : words.p99(durationText(p99))}
      >
        {p50 === null ? '–' : durationText(p50)}
      </Figure>
      <Figure title={words.held} href={hrefOf('accounts', { held: 'true' })} note={words.holds(open.holds)}>
        <Money usd={open.held_usd} />
      </Figure>
      <Figure
        title={words.openTasks}
        href={hrefOf('tasks', { state: 'submitted' })}
        note={words.unknownAmong(open.unknown_tasks)}
      >
        {numberText(open.tasks)}
      </Figure>
    </div>
  )
}

/** Failures by cause, if all of them have one: rows of older gateways do not. */
function failuresOf(total: Figures['total']): string {
  const { failed, failed_by_vendor: vendor, failed_by_gateway: gateway, failed_by_caller: caller } = total
  return vendor + gateway + caller === failed ? words.failedBy(vendor, gateway, caller) : words.failed(failed)
}

/** The margin as a share of the earnings from requests with a known cost. */
function marginOf({ margin_usd: margin, costed_usd: costed }: Figures['total']): string {
  if (margin === null || costed === null) return '–'
  return texts.share(dollarsOf(margin), dollarsOf(costed)) || '–'
}

/** The change against the previous period, in percent. */
function changeOf(nowUsd: string, beforeUsd: string): string {
  const [now, before] = [nanoOf(nowUsd), nanoOf(beforeUsd)]
  const { word } = period.value
  if (comparison() === 'none') return ''
  const length = word === null ? words.period : (texts.ranges[word] ?? word)
  const compared = comparison() === 'year' ? words.aYearBefore : words.previous(length)
  if (before === 0n) return words.nothingBefore(compared)
  const percent = Number(((now - before) * 1000n) / before) / 10
  const text = decimalText(percent, Math.abs(percent) >= 10 ? 0 : 1)
  return words.change(`${percent > 0 ? '+' : ''}${text}`.replace('-', '−'), compared)
}

function Charts({ figures }: { figures: Figures }) {
  const { spans, span_ms: spanMs, spend } = figures
  const times = spans.map(({ at }) => Date.parse(at ?? ''))
  const common = { times, spanMs }
  const unit = words.spanUnit(spanMs)
  const requests = [
    {
      title: words.answered,
      values: spans.map((each) => each.requests - each.failed),
      colour: 'var(--series-0)',
    },
    { title: words.failedSeries, values: spans.map((each) => each.failed), colour: 'var(--bad)' },
  ]
  return (
    <>
      <section class="part">
        <Chart
          {...common}
          kind="bars"
          label={words.spendChart(unit)}
          series={spend.map(({ model, amounts_usd }) => ({
            title: model,
            values: amounts_usd.map(dollarsOf),
          }))}
          {...(comparison() !== 'none' && { before: figures.spend_before_usd.map(dollarsOf) })}
          write={dollarsText}
        >
          <SpendTable figures={figures} />
        </Chart>
      </section>
      <div class="columns">
        <section class="part">
          <Chart
            {...common}
            kind="bars"
            height={130}
            label={words.requestsChart(unit)}
            series={requests}
            write={wholeCount}
          >
            <SpanTable figures={figures} />
          </Chart>
        </section>
        <section class="part">
          <Chart
            {...common}
            kind="lines"
            height={130}
            label={words.speedChart(unit)}
            series={speedsOf(spans)}
            write={durationText}
          >
            <SpanTable figures={figures} />
          </Chart>
        </section>
      </div>
    </>
  )
}

/** Lines for response times. */
function speedsOf(spans: Figures['spans']): Series[] {
  return [
    {
      title: words.firstByteP50,
      values: spans.map((each) => each.first_byte_p50_ms),
      colour: 'var(--series-0)',
    },
    {
      title: words.firstByteP99,
      values: spans.map((each) => each.first_byte_p99_ms),
      colour: 'var(--series-1)',
    },
    {
      title: words.durationP50,
      values: spans.map((each) => each.duration_p50_ms),
      colour: 'var(--warning)',
    },
  ]
}

/** A count as text; empty for axis positions between two counts. */
function wholeCount(count: number): string {
  return Number.isInteger(count) ? numberText(count) : ''
}

function SpendTable({ figures: { spans, span_ms: spanMs, spend } }: { figures: Figures }) {
  const rows = spans.map(({ at }, index) => ({
    at: at ?? '',
    amounts: spend.map((each) => each.amounts_usd[index] ?? '0'),
  }))
  const columns: Column<(typeof rows)[number]>[] = [
    {
      title: texts.time,
      isFirstLine: true,
      cell: ({ at }) => texts.span(Date.parse(at), spanMs),
      footer: texts.usage.total,
    },
    ...spend.map(({ model, amounts_usd }, index) => ({
      title: model,
      isNumber: true,
      cell: ({ amounts }: (typeof rows)[number]) => <Money usd={amounts[index]} />,
      footer: <Money usd={sumUsd(amounts_usd)} />,
    })),
  ]
  return (
    <Table
      label={words.spend}
      rows={rows}
      columns={columns}
      keyOf={({ at }) => at}
      empty={texts.nothingYet}
    />
  )
}

const spanColumns = (spanMs: number): Column<Figures['spans'][number]>[] => [
  { title: texts.time, isFirstLine: true, cell: ({ at }) => texts.span(Date.parse(at ?? ''), spanMs) },
  { title: words.requests, isNumber: true, cell: ({ requests }) => numberText(requests) },
  { title: words.failedSeries, isNumber: true, cell: ({ failed }) => numberText(failed) },
  { title: words.firstByteP50, isNumber: true, cell: (each) => <Duration ms={each.first_byte_p50_ms} /> },
  { title: words.firstByteP99, isNumber: true, cell: (each) => <Duration ms={each.first_byte_p99_ms} /> },
  { title: words.durationP50, isNumber: true, cell: (each) => <Duration ms={each.duration_p50_ms} /> },
]

function SpanTable({ figures: { spans, span_ms } }: { figures: Figures }) {
  return (
    <Table
      label={words.requests}
      rows={spans}
      columns={spanColumns(span_ms)}
      keyOf={({ at }) => at ?? ''}
      empty={texts.nothingYet}
    />
  )
}

function isDown({ breaker }: Figures['upstreams'][number]): boolean {
  return breaker !== null && breaker !== 'closed'
}

const upstreamColumns: readonly Column<Figures['upstreams'][number]>[] = [
  { title: texts.upstreams.upstream, isFirstLine: true, cell: ({ upstream }) => upstream },
  {
    title: texts.state,
    isFirstLine: true,
    cell: ({ breaker }) => <UpstreamState breaker={breaker} />,
  },
  { title: words.errors, isNumber: true, cell: ({ failed, requests }) => texts.share(failed, requests) },
  {
    title: words.firstByte,
    isNumber: true,
    cell: ({ first_byte_p50_ms: ms, requests }) => requests > 0 && <Duration ms={ms} />,
  },
]

/** Upstreams that have a key or were called, first those that do not answer, then the most used ones. */
function Upstreams({ figures: { upstreams } }: { figures: Figures }) {
  const shown = upstreams
    .filter(({ breaker, requests }) => breaker !== null || requests > 0)
    .toSorted((one, other) => Number(isDown(other)) - Number(isDown(one)) || other.requests - one.requests)
  return (
    <Table
      label={texts.upstreams.title}
      rows={shown}
      columns={upstreamColumns}
      keyOf={({ upstream }) => upstream}
      hrefOf={({ upstream }) => hrefOf('upstreams', {}, upstream)}
      empty={texts.upstreams.empty}
    />
  )
}
