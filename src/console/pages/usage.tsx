// Usage: requests, payments for them and the number of failures, by any two dimensions, next to an earlier period, as a chart, as a
// table with sums, and as a file.

import { address, hrefOf, period, periodQuery, setQuery } from '../address'
import { call, fileAddress, type Reply } from '../api'
import { comparedPeriod, comparison } from '../comparison'
import { spanOf } from '../earlier-period'
import { decimalText, numberText } from '../language'
import { FilterBar } from '../parts/filter-bar'
import { Failed, Loaded } from '../parts/loaded'
import { dollarsOf, Money, moneyText, nanoOf } from '../parts/money'
import { type Column, Table } from '../parts/table'
import { useQuery } from '../query'
import { Failures } from '../records/failures'
import { texts } from '../texts'
import { UsageChart } from './usage-chart'

const words = texts.usage
const DIMENSIONS = ['key', 'account', 'model', 'operation', 'day', 'hour'] as const
/** A dimension of all requests, or a name of their metadata. */
export type Dimension = (typeof DIMENSIONS)[number] | `metadata.${string}`
const METADATA = 'metadata.'

type UsageReply = Reply<'getUsage'>
export type UsageRow = UsageReply['rows'][number] & Partial<Record<Dimension, string>>

function dimensionOf(word: string | undefined): Dimension | undefined {
  if (word?.startsWith(METADATA)) return word as Dimension
  return DIMENSIONS.find((each) => each === word)
}

/** The name of the metadata by which a dimension groups; undefined for other dimensions. */
function metadataName(dimension: Dimension): string | undefined {
  return dimension.startsWith(METADATA) ? dimension.slice(METADATA.length) : undefined
}

/** The displayed name of a dimension, for a choice. */
function nameOf(dimension: Dimension): string {
  return metadataName(dimension) ?? dimension
}

export default function Usage() {
  const { query } = address.value
  const by = dimensionOf(query.by) ?? spanOf(shownPeriod())
  const chosen = dimensionOf(query.and)
  const and = chosen === by ? undefined : chosen
  const isSaved = query.saved === 'on'
  const saved = isSaved ? ('true' as const) : undefined
  const filter = { by, and, key: query.key, account: query.account }
  const asked = { ...filter, saved, ...periodQuery() }
  const load = useQuery(['usage', asked], (signal) => call('getUsage', { query: asked, signal }))
  const before = comparedPeriod()
  const earlier = useQuery(['usage', filter, before], async (signal) =>
    before ? call('getUsage', { query: { ...filter, ...before }, signal }) : null,
  )
  const file = fileAddress('getUsage', { query: { ...asked, format: 'csv' } })
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
        <a class="button" href={file} download>
          CSV
        </a>
      </FilterBar>
      {load.error?.code === 'too_many_rows' ? (
        <p class="empty">
          {words.tooMany}{' '}
          <a href={file} download>
            {words.asFile}
          </a>
        </p>
      ) : (
        <div aria-busy={earlier.isLoading}>
          <Loaded of={load}>
            {(usage) => <Report usage={usage} earlier={earlier.data ?? undefined} by={by} and={and} />}
          </Loaded>
        </div>
      )}
      {earlier.error && earlier.error.code !== 'too_many_rows' && (
        <Failed error={earlier.error} retry={earlier.reload} />
      )}
    </>
  )
}

function shownPeriod() {
  const { since, until } = period.value
  return { since: Date.parse(since), until: until === null ? Date.now() : Date.parse(until) }
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

/** Calendar months in UTC, as in statements. */
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
  earlier: UsageReply | undefined
  by: Dimension
  and: Dimension | undefined
}

function Report({ usage, earlier, by, and }: ReportProps) {
  const { query } = address.value
  const used = usage.rows as UsageRow[]
  const earlierRows = (earlier?.rows ?? []) as UsageRow[]
  const shiftMs = earlier ? Date.parse(usage.since) - Date.parse(earlier.since) : 0
  const nameOf = (row: UsageRow) => `${row[by]}\n${and ? row[and] : ''}`
  // The chart compares days and hours: a row of the table has no earlier one to compare with.
  const isOfTime = [by, and].some((each) => each === 'day' || each === 'hour')
  const before = isOfTime ? undefined : new Map(earlierRows.map((row) => [nameOf(row), row.amount_usd]))
  const rows = before ? [...used, ...goneFrom(used, earlierRows, nameOf)] : used
  return (
    <>
      <Failures of={usage.total} owner={{ key: query.key, account: query.account }} />
      <UsageChart rows={used} by={by} and={and} earlier={earlier && { rows: earlierRows, shiftMs }} />
      <Table
        label={words.title}
        rows={rows}
        columns={columnsOf(
          usage,
          { by, and },
          earlier && before && { of: (row) => before.get(nameOf(row)), total: earlier.total.amount_usd },
        )}
        keyOf={nameOf}
        empty={texts.nothingYet}
      />
      {earlier && <Change now={usage.total.amount_usd} before={earlier.total.amount_usd} />}
      {usage.total.saved_unknown ? (
        <p class="quiet">{words.savedUnknown(usage.total.saved_unknown)}</p>
      ) : null}
    </>
  )
}

/** Names that paid in the earlier period and have nothing in this one: without them the earlier amounts would not add up. */
function goneFrom(
  rows: readonly UsageRow[],
  earlierRows: readonly UsageRow[],
  nameOf: (row: UsageRow) => string,
): UsageRow[] {
  const known = new Set(rows.map(nameOf))
  return earlierRows.flatMap((row) => (known.has(nameOf(row)) ? [] : [{ ...row, ...NOTHING }]))
}

const NOTHING = {
  requests: 0,
  running: 0,
  released: 0,
  failed_by_vendor: 0,
  failed_by_gateway: 0,
  failed_by_caller: 0,
  amount_usd: '0.00',
  cost_usd: null,
  margin_usd: null,
  amount_with_cost_usd: '0.00',
  shortfall_usd: '0.00',
}

/** The sums of both periods in a sentence. */
function Change({ now, before }: { now: string; before: string }) {
  const compared = texts.comparedWith[comparison()]
  const percent = changeText(now, before)
  return (
    <p class="quiet">
      {percent === null
        ? words.nothingBefore(compared)
        : words.changed(moneyText(now), percent, compared, moneyText(before))}
    </p>
  )
}

/** The change from one amount to another: `+12 %`; null if the first is zero. */
function changeText(now: string, before: string): string | null {
  if (nanoOf(before) <= 0n) return null
  const percent = (dollarsOf(now) / dollarsOf(before) - 1) * 100
  const figure = decimalText(percent, Math.abs(percent) >= 10 ? 0 : 1)
  return `${percent > 0 ? '+' : ''}${figure} %`.replace('-', '−')
}

interface Earlier {
  /** The amount paid in the earlier period under a row's name; undefined if nothing was paid. */
  of(row: UsageRow): string | undefined
  total: string
}

function columnsOf(
  { rows, total }: UsageReply,
  { by, and }: Pick<ReportProps, 'by' | 'and'>,
  earlier: Earlier | undefined,
): Column<UsageRow>[] {
  const name = (dimension: Dimension, isFirst: boolean): Column<UsageRow> => ({
    title: metadataName(dimension) ?? words.dimensions[dimension as keyof typeof words.dimensions],
    isFirstLine: isFirst,
    sort: (row) => row[dimension] ?? '',
    cell: (row) => (
      <span class="whole">
        <NameLink dimension={dimension} name={row[dimension] ?? ''} />
      </span>
    ),
    ...(isFirst && { footer: words.total }),
  })
  const count = (title: string, of: Count, priority: number): Column<UsageRow> => ({
    title,
    isNumber: true,
    priority,
    cell: (row) => numberText(row[of] ?? 0),
    footer: numberText(total[of] ?? 0),
  })
  const money = (title: string, of: Amount, priority: number, isMain = false): Column<UsageRow> => ({
    title,
    isNumber: true,
    isFirstLine: isMain,
    priority,
    cell: (row) => <Money usd={row[of] ?? null} />,
    footer: <Money usd={total[of] ?? null} />,
  })
  const isKnown = rows.some((row) => row.failed_by_vendor !== undefined)
  const hasFailed = isKnown && FAILED.some(([, of]) => (total[of] ?? 0) > 0)
  return [
    name(by, true),
    ...(and ? [name(and, false)] : []),
    count(words.requests, 'requests', 2),
    ...(total.running > 0 ? [count(words.running, 'running', 4)] : []),
    ...(total.released > 0 ? [count(words.notCharged, 'released', 4)] : []),
    ...(hasFailed ? FAILED.map(([title, of]) => count(title, of, 4)) : []),
    money(words.revenue, 'amount_usd', 1, true),
    ...(total.cost_usd === null
      ? []
      : [money(words.cost, 'cost_usd', 2), money(words.margin, 'margin_usd', 1), shareColumn(total)]),
    ...(total.saved_usd === undefined ? [] : [money(words.saved, 'saved_usd', 3)]),
    ...(total.shortfall_usd === '0.00' ? [] : [money(words.shortfall, 'shortfall_usd', 3)]),
    ...(earlier ? earlierColumns(earlier, total) : []),
  ]
}

type Count = 'requests' | 'running' | 'released' | (typeof FAILED)[number][1]
type Amount = 'amount_usd' | 'cost_usd' | 'margin_usd' | 'shortfall_usd' | 'saved_usd'
/** Failed requests by cause. */
const FAILED = [
  [words.failedByVendor, 'failed_by_vendor'],
  [words.failedByGateway, 'failed_by_gateway'],
  [words.failedByCaller, 'failed_by_caller'],
] as const

/** The margin as a share of the earnings from requests with a known cost. */
function shareColumn(total: UsageReply['total']): Column<UsageRow> {
  const share = ({ margin_usd: margin, amount_with_cost_usd: costed }: UsageReply['total']) =>
    margin === null ? '' : texts.share(dollarsOf(margin), dollarsOf(costed))
  return { title: words.marginShare, isNumber: true, priority: 3, cell: share, footer: share(total) }
}

function earlierColumns(earlier: Earlier, total: UsageReply['total']): Column<UsageRow>[] {
  const compared = comparison()
  const change = (now: string, before: string) =>
    changeText(now, before) ?? (nanoOf(now) > 0n ? words.isNew : '')
  return [
    {
      title: words.before[compared],
      isNumber: true,
      priority: 3,
      cell: (row) => <Money usd={earlier.of(row) ?? '0'} />,
      footer: <Money usd={earlier.total} />,
    },
    {
      title: words.change,
      isNumber: true,
      priority: 2,
      cell: (row) => change(row.amount_usd, earlier.of(row) ?? '0'),
      footer: change(total.amount_usd, earlier.total),
    },
  ]
}

const LINKED: readonly Dimension[] = ['key', 'account', 'model', 'operation']
/** A word in brackets stands for requests without a value, or for values beyond the maximum. */
const UNNAMED = /^\((none|other)\)$/

/** A name that links to its requests. */
function NameLink({ dimension, name }: { dimension: Dimension; name: string }) {
  const { key, account } = address.value.query
  const link = (filter: Readonly<Record<string, string>>) => (
    <a href={hrefOf('requests', { key, account, ...filter })}>{name}</a>
  )
  const ofMetadata = metadataName(dimension)
  if (UNNAMED.test(name)) return name
  if (ofMetadata !== undefined) return link({ metadata: `${ofMetadata}=${name}` })
  return LINKED.includes(dimension) ? link({ [dimension]: name }) : name
}
