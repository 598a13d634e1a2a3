// What was spent in the time range: a chart by hour or day, and a table by model. Used by holders for a key, and by operators for a
// customer.

import { period, periodQuery } from '../address'
import { useLive } from '../live'
import { Chart } from '../parts/chart'
import { Loaded } from '../parts/loaded'
import { dollarsOf, dollarsText, Money } from '../parts/money'
import { type Column, Table } from '../parts/table'
import { useQuery } from '../query'
import { SPANS_MS, spanStarts, timeOfSpan } from '../spans'
import { texts } from '../texts'

const words = texts.spend
/** Ranges up to this are shown by hour. */
const HOURLY_MS = 3 * SPANS_MS.day

export type SpentRow = Record<string, string | number> & { requests: number; amount_usd: string }

export interface SpendUsage {
  rows: readonly SpentRow[]
  total: { requests: number; amount_usd: string }
}

type UsageQuery = {
  by: 'hour' | 'day' | 'model'
  since: string
  until?: string
}

interface SpendProps {
  /** The owner of the spend, for the cached answers. */
  name: string
  ask(query: UsageQuery, signal: AbortSignal): Promise<SpendUsage>
  /** The rows that a model links to. */
  hrefOfModel(model: string): string
  /** The address of the same figures as a file. */
  fileOf(query: UsageQuery): string
  /** Shown instead of an empty table: what to do next. */
  empty: string
  isLive?: boolean
}

export function Spend({ name, ask, hrefOfModel, fileOf, empty, isLive = false }: SpendProps) {
  const { since, until } = period.value
  const end = until === null ? Date.now() : Date.parse(until)
  const by = end - Date.parse(since) <= HOURLY_MS ? 'hour' : 'day'
  const news = useLive('overview', isLive)
  const asked = periodQuery()
  const times = useQuery([name, by, asked], (signal) => ask({ ...asked, by }, signal), news)
  const models = useQuery([name, 'model', asked], (signal) => ask({ ...asked, by: 'model' }, signal), news)
  return (
    <div class="columns">
      <section class="part">
        <Loaded of={times}>
          {({ rows }) => (
            <SpendChart rows={rows} by={by} since={Date.parse(since)} until={end} empty={empty} />
          )}
        </Loaded>
      </section>
      <section class="part">
        <div class="page-head">
          <h2>{words.byModel}</h2>
          <div class="actions">
            <a href={fileOf({ ...asked, by: 'model' })} download>
              {words.csvByModel}
            </a>
            <a href={fileOf({ ...asked, by })} download>
              {words.csvBy(by)}
            </a>
          </div>
        </div>
        <Loaded of={models}>
          {(usage) => <ByModel usage={usage} hrefOfModel={hrefOfModel} empty={empty} />}
        </Loaded>
      </section>
    </div>
  )
}

interface SpendChartProps {
  rows: readonly SpentRow[]
  by: 'hour' | 'day'
  since: number
  until: number
  empty: string
}

function SpendChart({ rows, by, since, until, empty }: SpendChartProps) {
  const spanMs = SPANS_MS[by]
  const paid = new Map(rows.map((row) => [timeOfSpan(String(row[by])), row.amount_usd]))
  const times = spanStarts(since - (since % spanMs), until, spanMs)
  const columns: readonly Column<SpentRow>[] = [
    { title: by === 'hour' ? words.hour : words.day, isFirstLine: true, cell: (row) => `${row[by]} UTC` },
    { title: words.requests, isNumber: true, cell: ({ requests }) => requests },
    { title: words.amount, isNumber: true, isFirstLine: true, cell: (row) => <Money usd={row.amount_usd} /> },
  ]
  return (
    <Chart
      label={words.spend(by)}
      kind="bars"
      times={times}
      spanMs={spanMs}
      series={[
        {
          title: words.amount,
          values: times.map((time) => dollarsOf(paid.get(time) ?? '0')),
          colour: 'var(--series-0)',
        },
      ]}
      write={dollarsText}
    >
      <Table
        label={words.spend(by)}
        columns={columns}
        rows={rows}
        keyOf={(row) => String(row[by])}
        empty={empty}
      />
    </Chart>
  )
}

function ByModel({
  usage: { rows, total },
  hrefOfModel,
  empty,
}: {
  usage: SpendUsage
  hrefOfModel(model: string): string
  empty: string
}) {
  const share = (usd: string) => {
    const percent = (dollarsOf(usd) / dollarsOf(total.amount_usd)) * 100
    if (dollarsOf(total.amount_usd) === 0) return '–'
    return percent > 0 && percent < 1 ? '< 1 %' : `${Math.round(percent)} %`
  }
  const columns: readonly Column<SpentRow>[] = [
    { title: words.model, isFirstLine: true, cell: ({ model }) => model, footer: words.total },
    { title: words.requests, isNumber: true, cell: (row) => row.requests, footer: total.requests },
    { title: words.share, isNumber: true, cell: ({ amount_usd }) => share(amount_usd) },
    {
      title: words.amount,
      isNumber: true,
      isFirstLine: true,
      cell: ({ amount_usd }) => <Money usd={amount_usd} />,
      footer: <Money usd={total.amount_usd} />,
    },
  ]
  return (
    <Table
      label={words.byModel}
      columns={columns}
      rows={rows}
      keyOf={({ model }) => String(model)}
      hrefOf={({ model }) => hrefOfModel(String(model))}
      empty={empty}
    />
  )
}
