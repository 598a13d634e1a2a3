// Usage: requests and what was paid for them, by any two dimensions, as a chart and as a table whose columns add up, and as
// a file.

import { address, hrefOf, period, periodQuery, setQuery } from '../address'
import { call, fileAddress, type Reply } from '../api'
import { Chart } from '../parts/chart'
import { FilterBar } from '../parts/filter-bar'
import { Loaded } from '../parts/loaded'
import { dollarsOf, dollarsText, Money, moneyText, sumUsd } from '../parts/money'
import { type Column, Table } from '../parts/table'
import { useQuery } from '../query'
import { SPANS_MS, spanStarts, timeOfSpan } from '../spans'
import { texts } from '../texts'

const words = texts.usage
const DIMENSIONS = ['key', 'account', 'model', 'operation', 'day', 'hour'] as const
/** A dimension of all requests, or a name of their metadata. */
type Dimension = (typeof DIMENSIONS)[number] | `metadata.${string}`
const METADATA = 'metadata.'

/** Bars that a chart tells apart; the others are one. */
const MOST_SERIES = 7

type UsageReply = Reply<'getUsage'>
type UsageRow = UsageReply['rows'][number] & Partial<Record<Dimension, string>>

function dimensionOf(word: string | undefined): Dimension | undefined {
  if (word?.startsWith(METADATA)) return word as Dimension
  return DIMENSIONS.find((each) => each === word)
}

/** The name of the metadata that a dimension is; undefined for another one. */
function metadataName(dimension: Dimension): string | undefined {
  return dimension.startsWith(METADATA) ? dimension.slice(METADATA.length) : undefined
}

/** The name of a dimension as people read it, for a choice. */
function nameOf(dimension: Dimension): string {
  return metadataName(dimension) ?? dimension
}

export default function Usage() {
  const { query } = address.value
  const by = dimensionOf(query.by) ?? 'day'
  const chosen = dimensionOf(query.and)
  const and = chosen === by ? undefined : chosen
  const isSaved = query.saved === 'on'
  const saved = isSaved ? ('true' as const) : undefined
  const asked = { by, and, key: query.key, account: query.account, saved, ...periodQuery() }
  const load = useQuery(['usage', asked], (signal) => call('getUsage', { query: asked, signal }))
  const known = [
    ...new Set([...(load.data?.dimensions ?? DIMENSIONS), by, ...(and ? [and] : [])]),
  ] as Dimension[]
  return (
    <>
      <h1 class="hidden">{words.title}</h1>
      <FilterBar
        filters={[
          { name: 'key', title: texts.requests.key },
          { name: 'account', title: texts.requests.account },
        ]}
      >
        <DimensionChoice name="by" title={words.by} value={by} dimensions={known} />
        <DimensionChoice
          name="and"
          title={words.and}
          value={and ?? ''}
          dimensions={known}
          none={words.nothingElse}
        />
        <MonthChoice />
        <button
          type="button"
          aria-pressed={isSaved}
          title={words.savedHint}
          onClick={() => setQuery({ saved: isSaved ? null : 'on' })}
        >
          {words.saved}
        </button>
        <a class="button" href={fileAddress('getUsage', { query: { ...asked, format: 'csv' } })} download>
          CSV
        </a>
      </FilterBar>
      <Loaded of={load}>{(usage) => <Report usage={usage} by={by} and={and} />}</Loaded>
    </>
  )
}

function DimensionChoice({
  name,
  title,
  value,
  dimensions,
  none,
}: {
  name: string
  title: string
  value: string
  dimensions: readonly Dimension[]
  none?: string
}) {
  return (
    <label>
      <span class="hidden">{title}</span>
      <select value={value} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        {none !== undefined && <option value="">{none}</option>}
        {dimensions.map((word) => (
          <option value={word} key={word}>
            {none === undefined ? words.byDimension(nameOf(word)) : words.andDimension(nameOf(word))}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Calendar months in UTC, as statements have them. */
function MonthChoice() {
  const { since } = period.value
  const months = Array.from({ length: 12 }, (_, back) => {
    const now = new Date()
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString()
  })
  return (
    <label>
      <span class="hidden">{words.month}</span>
      <select
        value={months.find((month) => month === since) ?? ''}
        onChange={(event) => {
          const month = event.currentTarget.value
          if (month === '') return setQuery({ since: null, until: null })
          const next = new Date(month)
          next.setUTCMonth(next.getUTCMonth() + 1)
          setQuery({ range: null, since: month, until: next.toISOString() })
        }}
      >
        <option value="">{words.month}</option>
        {months.map((month) => (
          <option value={month} key={month}>
            {month.slice(0, 7)}
          </option>
        ))}
      </select>
    </label>
  )
}

interface ReportProps {
  usage: UsageReply
  by: Dimension
  and: Dimension | undefined
}

function Report({ usage, by, and }: ReportProps) {
  const rows = usage.rows as UsageRow[]
  const hasCost = usage.total.cost_usd !== null
  return (
    <>
      <UsageChart rows={rows} by={by} and={and} />
      <Table
        label={words.title}
        rows={rows}
        columns={columnsOf(usage, by, and, hasCost)}
        keyOf={(row) => `${row[by]} ${and ? row[and] : ''}`}
        empty={texts.nothingYet}
      />
      {usage.total.saved_unknown ? (
        <p class="quiet">{words.savedUnknown(usage.total.saved_unknown)}</p>
      ) : null}
    </>
  )
}

function columnsOf(
  usage: UsageReply,
  by: Dimension,
  and: Dimension | undefined,
  hasCost: boolean,
): Column<UsageRow>[] {
  const { total } = usage
  const name = (dimension: Dimension, isFirst: boolean): Column<UsageRow> => ({
    title: metadataName(dimension) ?? words.dimensions[dimension as keyof typeof words.dimensions],
    isFirstLine: isFirst,
    cell: (row) => <NameLink dimension={dimension} name={row[dimension] ?? ''} />,
    ...(isFirst && { footer: words.total }),
  })
  const count = (title: string, of: 'requests' | 'running' | 'released'): Column<UsageRow> => ({
    title,
    isNumber: true,
    cell: (row) => row[of].toLocaleString('en'),
    footer: total[of].toLocaleString('en'),
  })
  const money = (
    title: string,
    of: 'amount_usd' | 'cost_usd' | 'margin_usd' | 'shortfall_usd' | 'saved_usd',
    isMain = false,
  ): Column<UsageRow> => ({
    title,
    isNumber: true,
    isFirstLine: isMain,
    cell: (row) => <Money usd={row[of] ?? null} />,
    footer: <Money usd={total[of] ?? null} />,
  })
  return [
    name(by, true),
    ...(and ? [name(and, false)] : []),
    count(words.requests, 'requests'),
    count(words.running, 'running'),
    count(words.free, 'released'),
    ...(hasCost ? [money(words.cost, 'cost_usd'), money(words.margin, 'margin_usd')] : []),
    ...(total.saved_usd === undefined ? [] : [money(words.saved, 'saved_usd')]),
    ...(total.shortfall_usd === '0.00' ? [] : [money(words.shortfall, 'shortfall_usd')]),
    money(words.paid, 'amount_usd', true),
  ]
}

const LINKED: readonly Dimension[] = ['key', 'account', 'model', 'operation']
const UNNAMED = /^\((none|other)\)$/

/** A name that leads to its requests. */
function NameLink({ dimension, name }: { dimension: Dimension; name: string }) {
  const { key, account } = address.value.query
  const link = (filter: Readonly<Record<string, string>>) => (
    <a href={hrefOf('requests', { key, account, ...filter })}>{name}</a>
  )
  const ofMetadata = metadataName(dimension)
  // Usage counts what has no value, and what came beyond the most, under a word in brackets.
  if (ofMetadata !== undefined) return UNNAMED.test(name) ? name : link({ metadata: `${ofMetadata}=${name}` })
  return LINKED.includes(dimension) ? link({ [dimension]: name }) : name
}

function UsageChart({
  rows,
  by,
  and,
}: {
  rows: readonly UsageRow[]
  by: Dimension
  and: Dimension | undefined
}) {
  const time = [by, and].find((each) => each === 'day' || each === 'hour')
  if (!time || rows.length === 0) return <Shares rows={rows} by={by} and={and} />
  const other = time === by ? and : by
  const spanMs = SPANS_MS[time]
  const at = (row: UsageRow) => timeOfSpan(row[time] ?? '')
  const known = rows.map(at)
  const times = spanStarts(Math.min(...known), Math.max(...known) + spanMs, spanMs)
  const names = namesByAmount(rows, (row) => (other ? (row[other] ?? '') : words.paid))
  const shown = names.slice(0, MOST_SERIES)
  const titles = names.length > shown.length ? [...shown, words.others] : shown
  const sums = new Map<string, string>()
  for (const row of rows) {
    const own = other ? (row[other] ?? '') : words.paid
    const key = `${at(row)} ${shown.includes(own) ? own : words.others}`
    sums.set(key, sumUsd([sums.get(key), row.amount_usd]))
  }
  return (
    <Chart
      label={words.chart(time)}
      kind="bars"
      times={times}
      spanMs={spanMs}
      series={titles.map((title) => ({
        title,
        values: times.map((each) => dollarsOf(sums.get(`${each} ${title}`) ?? '0')),
      }))}
      write={dollarsText}
    />
  )
}

function namesByAmount(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): string[] {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(nameOf(row), (sums.get(nameOf(row)) ?? 0) + dollarsOf(row.amount_usd))
  return [...sums].toSorted(([, one], [, two]) => two - one).map(([name]) => name)
}

/** Shares of what has no time: a bar for each row, the most expensive first. */
function Shares({ rows, by, and }: { rows: readonly UsageRow[]; by: Dimension; and: Dimension | undefined }) {
  const most = Math.max(0, ...rows.map((row) => dollarsOf(row.amount_usd)))
  if (most === 0) return null
  return (
    <ul class="shares">
      {rows.slice(0, MOST_SERIES).map((row) => (
        <li key={`${row[by]} ${and ? row[and] : ''}`}>
          <span>
            {row[by]} {and && <span class="quiet">{row[and]}</span>}
          </span>
          <i style={{ width: `${(dollarsOf(row.amount_usd) / most) * 100}%` }} />
          <span class="number">{moneyText(row.amount_usd)}</span>
        </li>
      ))}
    </ul>
  )
}
