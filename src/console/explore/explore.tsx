// Explores requests: a search, the chosen conditions, how many there were over time, their sums, and the values of each filter with
// counts, next to the list itself. The address contains all of it. A count always ignores the filter of its own facet, so that a
// second value can be chosen.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { address, setQuery } from '../address'
import type { Reply } from '../api'
import { numberText } from '../language'
import { Chart } from '../parts/chart'
import { Icon } from '../parts/icon'
import { Failed, Loaded } from '../parts/loaded'
import { dollarsOf, dollarsText, Money, moneyText } from '../parts/money'
import { type Column, Table } from '../parts/table'
import { durationText } from '../parts/time'
import type { Load } from '../query'
import { texts } from '../texts'
import { type FacetName, FILTER_NAMES, type FilterName, toggled, valuesOf, withTyped } from './search'

const words = texts.explore

type RequestSums = Reply<'summariseRequests'>

/** The filters of a list of requests that the address has. */
export function filtersOf(): Partial<Record<FilterName, string>> {
  const { query } = address.value
  return Object.fromEntries(FILTER_NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

interface ExploreProps {
  sums: Load<RequestSums>
  /** The filters that are listed with their values, in order. */
  facets: readonly FacetName[]
  /** Buttons next to the search. */
  actions?: ComponentChildren
  /** The list. */
  children: ComponentChildren
}

export function Explore({ sums, facets, actions, children }: ExploreProps) {
  return (
    <>
      <Search sums={sums.data} facets={facets}>
        {actions}
      </Search>
      <Chips />
      {sums.error && <Failed error={sums.error} retry={sums.reload} />}
      <div class="explore">
        <Facets sums={sums.data} facets={facets} />
        <div class="explored">
          {!sums.error && (
            <Loaded of={sums}>
              {(found) => (
                <>
                  <Histogram sums={found} />
                  <SumLine sums={found} />
                </>
              )}
            </Loaded>
          )}
          {children}
        </div>
      </div>
    </>
  )
}

function Search({
  sums,
  facets,
  children,
}: {
  sums: RequestSums | undefined
  facets: readonly FacetName[]
  children: ComponentChildren
}) {
  const [typed, setTyped] = useState('')
  const known = facets.flatMap((name) => sums?.facets[name]?.map(({ value }) => `${name}:${value}`) ?? [])
  return (
    <search class="filters" aria-label={texts.filters}>
      <form
        class="request-search"
        onSubmit={(event) => {
          event.preventDefault()
          setQuery(withTyped(filtersOf(), typed))
          setTyped('')
        }}
      >
        <label>
          <span class="hidden">{words.search}</span>
          <input
            type="search"
            list="request-values"
            value={typed}
            placeholder={words.searchExample}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <datalist id="request-values">
          {known.map((value) => (
            <option value={value} key={value} />
          ))}
          {['>1s', '>5s', '>$0.01', '>$0.10'].map((value) => (
            <option value={value} key={value} />
          ))}
        </datalist>
        <button type="submit">{words.find}</button>
      </form>
      <div class="filters-end">{children}</div>
    </search>
  )
}

/** The chosen conditions, each of which can be removed with a click. */
function Chips() {
  const filters = filtersOf()
  const names = FILTER_NAMES.filter((name) => filters[name])
  if (names.length === 0) return null
  const chips = names.flatMap((name) => {
    const filter = filters[name] ?? ''
    if (!(name in words.facets))
      return [{ name, text: words.condition(name, limitText(name, filter)), left: undefined }]
    return valuesOf(filter).map((value) => ({
      name,
      text: `${words.facets[name as FacetName]}: ${shown(name, value)}`,
      left: toggled(filter, value),
    }))
  })
  return (
    <ul class="chips" aria-label={words.conditions}>
      {chips.map(({ name, text, left }) => (
        <li key={text}>
          <button type="button" title={words.remove} onClick={() => setQuery({ [name]: left ?? null })}>
            {text} <Icon name="close" />
          </button>
        </li>
      ))}
      <li>
        <button
          type="button"
          class="plain"
          onClick={() => setQuery(Object.fromEntries(FILTER_NAMES.map((name) => [name, null])))}
        >
          {texts.clearFilters}
        </button>
      </li>
    </ul>
  )
}

/** The value of a condition with its unit. */
function limitText(name: string, value: string): string {
  if (name === 'slower_ms') return durationText(Number(value))
  return name === 'above_usd' ? moneyText(value) : value
}

function shown(name: string, value: string): string {
  if (name === 'operation') return texts.operations[value] ?? value
  if (name === 'failed_by') return texts.requests.parties[value] ?? value
  return value
}

/** Failed ones first, then classes of statuses, then each. */
function rankOf(status: string): number {
  if (status === texts.requests.failed) return 0
  return status.endsWith('xx') ? Number(status[0]) : Number(status)
}

/** Number of values of a facet that are shown at first. */
const FIRST_VALUES = 6
/** The width from which the facets are next to the list. */
const WIDE = matchMedia('(min-width: 1101px)')

function Facets({ sums, facets }: { sums: RequestSums | undefined; facets: readonly FacetName[] }) {
  return (
    <details class="facets" open={WIDE.matches}>
      <summary>{texts.filters}</summary>
      {facets.map((name) => (
        <FacetValues name={name} values={sums?.facets[name] ?? []} key={name} />
      ))}
    </details>
  )
}

function FacetValues({ name, values }: { name: FacetName; values: RequestSums['facets'][string] }) {
  const [isWhole, setWhole] = useState(false)
  const filter = address.value.query[name]
  const chosen = valuesOf(filter)
  // A chosen value stays in its place even if nothing matches it now.
  const missing = chosen.filter((value) => values.every((each) => each.value !== value))
  const all = [...values, ...missing.map((value) => ({ value, requests: 0, failed: 0 }))]
  if (name === 'status') all.sort((one, two) => rankOf(one.value) - rankOf(two.value))
  if (all.length === 0) return null
  const first = all.filter(({ value }, index) => index < FIRST_VALUES || chosen.includes(value))
  const listed = isWhole ? all : first
  return (
    <fieldset>
      <legend>{words.facets[name]}</legend>
      {listed.map(({ value, requests, failed }) => (
        <label key={value} title={failed > 0 ? words.ofWhichFailed(failed) : undefined}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={() => setQuery({ [name]: toggled(filter, value) ?? null })}
          />
          <span class="facet-value">{shown(name, value)}</span>
          <span class="number quiet">{numberText(requests)}</span>
        </label>
      ))}
      {all.length > first.length && (
        <button type="button" class="plain" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? words.fewer : words.more(all.length - first.length)}
        </button>
      )}
    </fieldset>
  )
}

type SpanRow = RequestSums['spans'][number]

function Histogram({ sums }: { sums: RequestSums }) {
  const isSpend = address.value.query.over === 'spend'
  const { spans, span_ms: spanMs } = sums
  const times = spans.map(({ since }) => Date.parse(since))
  const label = isSpend ? words.spendOverTime : words.requestsOverTime
  const series = isSpend
    ? [{ title: words.paid, values: spans.map(({ amount_usd }) => dollarsOf(amount_usd)) }]
    : [
        { title: words.answered, colour: 'var(--accent)', values: spans.map(answeredIn) },
        { title: words.failed, colour: 'var(--bad)', values: spans.map(({ failed }) => failed) },
      ]
  const columns: readonly Column<SpanRow>[] = [
    { title: texts.time, isFirstLine: true, cell: ({ since }) => texts.span(Date.parse(since), spanMs) },
    { title: words.answered, isNumber: true, cell: answeredIn },
    { title: words.failed, isNumber: true, cell: ({ failed }) => failed },
    {
      title: words.paid,
      isNumber: true,
      isFirstLine: true,
      cell: ({ amount_usd }) => <Money usd={amount_usd} />,
    },
  ]
  return (
    <div class="histogram">
      <button
        type="button"
        class="plain"
        aria-pressed={isSpend}
        onClick={() => setQuery({ over: isSpend ? null : 'spend' })}
      >
        {words.spend}
      </button>
      <Chart
        label={label}
        kind="bars"
        times={times}
        spanMs={spanMs}
        series={series}
        height={96}
        write={isSpend ? dollarsText : numberText}
      >
        <Table
          label={label}
          columns={columns}
          rows={spans.filter(({ requests }) => requests > 0)}
          keyOf={({ since }) => since}
          empty={texts.nothingYet}
        />
      </Chart>
    </div>
  )
}

function answeredIn({ requests, failed }: SpanRow): number {
  return requests - failed
}

function SumLine({ sums }: { sums: RequestSums }) {
  const { failed, failed_by: by } = sums
  const parts = [
    words.requests(sums.requests),
    failed > 0 && words.failedBy(texts.share(failed, sums.requests), failed, by),
    words.paidInAll(moneyText(sums.amount_usd)),
    words.tokens(sums.input_tokens, sums.output_tokens),
    percentiles(words.firstByte, sums.first_byte_p50_ms, sums.first_byte_p99_ms),
    percentiles(words.duration, sums.duration_p50_ms, sums.duration_p99_ms),
  ]
  return (
    <p class="sum-line" role="status">
      {parts.flatMap((part) => (part ? [<span key={part}>{part}</span>] : []))}
      {sums.covered_since !== null && (
        <span class="warning">{words.covered(sums.looked, new Date(sums.covered_since))}</span>
      )}
    </p>
  )
}

function percentiles(name: string, p50: number | null, p99: number | null): string | null {
  return p50 === null || p99 === null ? null : words.percentiles(name, durationText(p50), durationText(p99))
}
