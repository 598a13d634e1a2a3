// The overview: what was spent and asked, how it went by hour, what wants attention, and how upstreams do. Each figure
// leads to its rows.

import { hrefOf, periodQuery } from '../address'
import { call, type Reply } from '../api'
import { useLive } from '../live'
import { Chart } from '../parts/chart'
import { Figure } from '../parts/figure'
import { Icon } from '../parts/icon'
import { Loaded } from '../parts/loaded'
import { dollarsOf, dollarsText, Money, moneyText, nanoOf, sumUsd } from '../parts/money'
import { type Column, Table } from '../parts/table'
import { Duration, durationText } from '../parts/time'
import { UpstreamState } from '../parts/upstream-state'
import { useQuery } from '../query'
import { texts } from '../texts'

const words = texts.overview
type Figures = Reply<'getOverview'>

export default function Overview() {
  const period = periodQuery()
  const news = useLive('overview', period.until === undefined)
  const load = useQuery(
    ['overview', period],
    (signal) => call('getOverview', { query: period, signal }),
    news,
  )
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <Loaded of={load}>
        {(figures) => (
          <>
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
      <Figure title={words.spend} href={hrefOf('usage', { by: 'model' })} note={changeOf(total)}>
        <Money usd={total.amount_usd} />
      </Figure>
      <Figure title={words.requests} href={hrefOf('requests')}>
        {total.requests.toLocaleString('en')}
      </Figure>
      <Figure
        title={words.errors}
        href={hrefOf('requests', { status: 'failed' })}
        note={words.failed(total.failed)}
      >
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
      <Figure title={words.openTasks} href={hrefOf('tasks', { state: 'submitted' })}>
        {open.tasks.toLocaleString('en')}
      </Figure>
    </div>
  )
}

/** The change against the period before, in percent. */
function changeOf({ amount_usd, amount_before_usd }: Figures['total']): string {
  const [now, before] = [nanoOf(amount_usd), nanoOf(amount_before_usd)]
  return before === 0n ? words.nothingBefore : words.change(Number(((now - before) * 1000n) / before) / 10)
}

function Charts({ figures }: { figures: Figures }) {
  const { spans, span_ms: spanMs, spend } = figures
  const times = spans.map(({ at }) => Date.parse(at ?? ''))
  const common = { times, spanMs }
  const unit = words.spanUnit(spanMs)
  const speeds = [
    { title: words.firstByteP50, values: spans.map((each) => each.first_byte_p50_ms) },
    { title: words.firstByteP99, values: spans.map((each) => each.first_byte_p99_ms) },
    { title: words.durationP50, values: spans.map((each) => each.duration_p50_ms) },
  ]
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
          before={figures.spend_before_usd.map(dollarsOf)}
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
            series={speeds}
            write={durationText}
          >
            <SpanTable figures={figures} />
          </Chart>
        </section>
      </div>
    </>
  )
}

/** A count as text; nothing for the places between two counts that an axis may have. */
function wholeCount(count: number): string {
  return Number.isInteger(count) ? count.toLocaleString('en') : ''
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
  { title: words.requests, isNumber: true, cell: ({ requests }) => requests.toLocaleString('en') },
  { title: words.failedSeries, isNumber: true, cell: ({ failed }) => failed.toLocaleString('en') },
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

function Attention({ figures: { attention, open, upstreams } }: { figures: Figures }) {
  const down = upstreams.filter(isDown)
  const lines: (readonly [href: string, text: string, title?: string | undefined])[] = [
    ...(open.unknown_tasks > 0
      ? [[hrefOf('tasks', { state: 'unknown' }), words.unknownTasks(open.unknown_tasks)] as const]
      : []),
    ...down.map(({ upstream }) => [hrefOf('upstreams', {}, upstream), words.down(upstream)] as const),
    ...attention.low_balances.map(
      ({ account, available_usd, hours_left }) =>
        [
          hrefOf('accounts', {}, account),
          words.low(account, moneyText(available_usd), hours_left),
          hours_left === null ? undefined : words.lowRate,
        ] as const,
    ),
    ...attention.keys_at_limit.map(
      ({ key, percent, budget_period }) =>
        [hrefOf('keys', {}, key), words.atLimit(key, percent, budget_period)] as const,
    ),
    ...attention.accounts_at_limit.map(({ account, plan, percent, budget_period }) =>
      plan === null
        ? ([hrefOf('accounts', {}, account), words.accountAtLimit(account, percent, budget_period)] as const)
        : ([hrefOf('plans', {}, plan), words.planAtLimit(account, percent, plan, budget_period)] as const),
    ),
    ...attention.ending_models.map(
      ({ model, retires, ended, successor }) =>
        [hrefOf('models', {}, model), words.ending(model, retires, ended, successor)] as const,
    ),
    ...(attention.failed_webhooks > 0
      ? [[hrefOf('tasks', { webhook: 'failed' }), words.failedWebhooks(attention.failed_webhooks)] as const]
      : []),
  ]
  if (lines.length === 0) return <p class="empty">{words.allWell}</p>
  return (
    <ul class="attention">
      {lines.map(([href, text, title]) => (
        <li key={text}>
          <Icon name="warning" />{' '}
          <a href={href} title={title}>
            {text}
          </a>
        </li>
      ))}
    </ul>
  )
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

/** Upstreams that have a key or were asked, first those that do not answer, then those that are asked most. */
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
