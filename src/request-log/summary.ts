// Sums of logged requests: their number, failures by cause, payments, durations, the same over time, and the values of each facet
// with their counts. A facet counts the rows that meet all other conditions, so that a second value can be chosen next to the
// first. Nothing here must be used for money: rows can be lost.

import type { RowCodec } from '../db/encryption/codec'
import { PARTIES, type Party } from './failure'
import { DurationCounts } from './figures'
import { type RequestFilter, type RowCondition, rowConditionsOf, statusWords } from './filter'
import { columnsForTests, type PageColumns, type SearchedTexts, type TextColumn } from './page-columns'

/** Filters whose values are counted. */
export const FACETS = [
  'status',
  'error',
  'failedBy',
  'model',
  'keyId',
  'spenderId',
  'account',
  'upstream',
  'operation',
] as const
export type Facet = (typeof FACETS)[number]

export interface FacetValue {
  value: string
  requests: number
  failed: number
}

export interface RequestSums {
  requests: number
  /** Requests that ended in an error. */
  failed: number
  amountNano: number
}

export interface RequestSummary extends RequestSums {
  /** Failed ones by cause; rows of older gateways do not have this. */
  failedBy: Record<Party, number>
  inputTokens: number
  outputTokens: number
  /** Times of answered requests. */
  firstBytes: DurationCounts
  durations: DurationCounts
  /** Sums by the beginning of a time span, in order. */
  spans: (RequestSums & { since: number })[]
  spanMs: number
  facets: Record<Facet, FacetValue[]>
  /** Matching requests whose row does not contain a price, such as tasks. */
  unpaid: Unpaid[]
  /** Rows that were read, and the time since which they are complete; undefined for the whole period. */
  looked: number
  coveredSince: number | undefined
}

export interface Unpaid {
  id: string
  at: number
  operation: string
}

/** Number of listed values per facet, the most frequent ones. */
const MAX_VALUES = 50
/** Maximum number of recorded requests without a price. */
const MAX_UNPAID = 5_000
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SPANS_MS = [
  ...[1, 5, 15].map((count) => count * SECOND),
  ...[1, 5, 15, 30].map((count) => count * MINUTE),
  ...[1, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 30].map((count) => count * DAY),
]
/** Maximum number of spans per period. */
const MAX_SPANS = 60

/** The columns of each facet that are texts. */
const COLUMNS: Record<Exclude<Facet, 'status'>, readonly TextColumn[]> = {
  error: ['error_code'],
  failedBy: ['failed_by'],
  model: ['model', 'asked_model'],
  keyId: ['key_id'],
  spenderId: ['spender_id'],
  account: ['account'],
  upstream: ['upstream'],
  operation: ['operation'],
}
/** Conditions that need the texts that only searches need. */
const SEARCHES: readonly (keyof RequestFilter)[] = ['text', 'metadata']
/** Statuses are below this. */
const MAX_STATUS = 1_000
/** Marks of rows: all conditions are met, or several are not; a number from 0 on is the index of the only unmet one. */
const [MET, MISSED] = [-1, -2]

/** Sums rows that match a filter in a period. */
export class Summing {
  private readonly conditions: RowCondition[]
  readonly isSearch: boolean
  private readonly counts = new Map(FACETS.map((facet) => [facet, new Map<string, FacetValue>()]))
  /** Requests by their status: those that did not fail, and those that did. */
  private readonly statuses = [new Uint32Array(MAX_STATUS), new Uint32Array(MAX_STATUS)] as const
  private readonly spans: (RequestSums & { since: number })[]
  private readonly spanMs: number
  private readonly sums: Omit<RequestSummary, 'spans' | 'spanMs' | 'facets' | 'coveredSince'> = {
    ...noSums(),
    failedBy: { caller: 0, gateway: 0, vendor: 0 },
    inputTokens: 0,
    outputTokens: 0,
    firstBytes: DurationCounts.none(),
    durations: DurationCounts.none(),
    unpaid: [],
    looked: 0,
  }
  private readonly since: number
  private readonly until: number
  private oldest = Number.MAX_SAFE_INTEGER

  constructor(filter: RequestFilter & { since: number; until: number }, codec: RowCodec) {
    const { since, until } = filter
    this.since = since
    this.until = until
    this.conditions = rowConditionsOf(filter, codec)
    this.isSearch = this.conditions.some(({ name }) => SEARCHES.includes(name))
    const length = until - since
    this.spanMs = SPANS_MS.find((span) => length / span <= MAX_SPANS) ?? 30 * DAY
    const first = since - (since % this.spanMs)
    const count = Math.min(Math.max(Math.ceil((until - first) / this.spanMs), 1), 4 * MAX_SPANS)
    this.spans = Array.from({ length: count }, (_, span) => ({
      since: first + span * this.spanMs,
      ...noSums(),
    }))
  }

  /** Adds a page. */
  readonly add = (page: PageColumns, searched?: SearchedTexts): void => {
    const { status } = page.numbers
    const errors = page.texts.error_code.places
    const marks = this.marksOf(page, searched)
    const failed = new Uint8Array(page.rows)
    for (let row = 0; row < page.rows; row++) {
      failed[row] = (status[row] as number) >= 400 || errors[row] !== -1 ? 1 : 0
    }
    this.oldest = Math.min(this.oldest, page.oldestAt)
    this.sums.looked += page.rows
    this.addToSums(page, marks, failed)
    for (const facet of FACETS) this.addToFacet(facet, page, marks, failed)
  }

  /** For each row, whether it meets the conditions: see MET. */
  private marksOf(page: PageColumns, searched: SearchedTexts | undefined): Int8Array {
    const marks = new Int8Array(page.rows)
    const { conditions } = this
    const isWithin = page.oldestAt >= this.since && page.newestAt < this.until
    if (isWithin && conditions.every(({ name }) => name === 'since' || name === 'until'))
      return marks.fill(MET)
    const rows = columnsForTests(page, searched)
    const tests = conditions.map(({ on }) => on(rows))
    for (let row = 0; row < page.rows; row++) {
      let mark = MET
      for (let place = 0; place < tests.length; place++) {
        if (tests[place]?.(row)) continue
        mark = mark === MET ? place : MISSED
        if (mark === MISSED) break
      }
      marks[row] = mark
    }
    return marks
  }

  /** `isWhole`: all rows of the period were read. */
  summary(isWhole: boolean): RequestSummary {
    this.counts.set('status', this.statusCounts())
    const facets = Object.fromEntries(
      [...this.counts].map(([facet, values]) => [
        facet,
        [...values.values()]
          .sort((one, two) => two.requests - one.requests || (one.value < two.value ? -1 : 1))
          .slice(0, MAX_VALUES),
      ]),
    ) as Record<Facet, FacetValue[]>
    const { sums, spans, spanMs, oldest } = this
    return { ...sums, spans, spanMs, facets, coveredSince: isWhole ? undefined : oldest }
  }

  /** Requests by the words of their statuses. */
  private statusCounts(): Map<string, FacetValue> {
    const counts = new Map<string, FacetValue>()
    for (const [isFailed, counters] of this.statuses.entries())
      for (const [status, requests] of counters.entries())
        if (requests > 0)
          for (const word of statusWords(status, isFailed === 1 ? 'failed' : null))
            count(counts, word, requests, isFailed * requests)
    return counts
  }

  /** Adds the payment for a request after its end. */
  addAmount(at: number, amountNano: number): void {
    this.sums.amountNano += amountNano
    const span = this.spanAt(at)
    if (span) span.amountNano += amountNano
  }

  private addToSums(page: PageColumns, marks: Int8Array, failed: Uint8Array): void {
    const { sums } = this
    const { at, amount, input_tokens, output_tokens, duration_ms, first_byte_ms } = page.numbers
    const { failed_by: failedBy, operation } = page.texts
    const parties = failedBy.values.map((value) => PARTIES.find((each) => each === value))
    for (let row = 0; row < page.rows; row++) {
      if (marks[row] !== MET) continue
      const [time, isFailed, paid] = [at[row] as number, failed[row] === 1, amount[row] ?? 0]
      addOne(sums, isFailed, paid)
      const span = this.spanAt(time)
      if (span) addOne(span, isFailed, paid)
      sums.inputTokens += input_tokens[row] ?? 0
      sums.outputTokens += output_tokens[row] ?? 0
      if (isFailed) {
        const party = parties[failedBy.places[row] as number]
        if (party) sums.failedBy[party]++
        continue
      }
      sums.durations.add(duration_ms[row] ?? 0)
      const firstByte = first_byte_ms[row] ?? null
      if (firstByte !== null) sums.firstBytes.add(firstByte)
      const id = page.unpaid.get(row)
      if (id !== undefined && sums.unpaid.length < MAX_UNPAID)
        sums.unpaid.push({ id, at: time, operation: operation.values[operation.places[row] as number] ?? '' })
    }
  }

  private addToFacet(facet: Facet, page: PageColumns, marks: Int8Array, failed: Uint8Array): void {
    // Rows that only the facet's own filter excludes count too, so that a second value can be chosen.
    const own = this.conditions.findIndex(({ name }) => name === facet)
    const counts = (row: number) => marks[row] === MET || (own >= 0 && marks[row] === own)
    if (facet === 'status') {
      for (let row = 0; row < page.rows; row++) {
        const status = page.numbers.status[row] as number
        const counters = this.statuses[failed[row] === 1 ? 1 : 0]
        if (counts(row) && status < MAX_STATUS) counters[status] = (counters[status] ?? 0) + 1
      }
      return
    }
    for (const column of COLUMNS[facet]) {
      const { values, places } = page.texts[column]
      if (values.length === 0) continue
      const [requests, failures] = [new Uint32Array(values.length), new Uint32Array(values.length)]
      for (let row = 0; row < page.rows; row++) {
        const place = places[row] as number
        if (place === -1 || !counts(row)) continue
        requests[place] = (requests[place] as number) + 1
        failures[place] = (failures[place] as number) + (failed[row] as number)
      }
      const known = this.counts.get(facet) as Map<string, FacetValue>
      for (const [place, value] of values.entries())
        count(known, value, requests[place] ?? 0, failures[place] ?? 0)
    }
  }

  private spanAt(at: number): (RequestSums & { since: number }) | undefined {
    return this.spans[Math.floor((at - (this.spans[0]?.since ?? 0)) / this.spanMs)]
  }
}

function addOne(sums: RequestSums, isFailed: boolean, amountNano: number): void {
  sums.requests++
  if (isFailed) sums.failed++
  sums.amountNano += amountNano
}

function noSums(): RequestSums {
  return { requests: 0, failed: 0, amountNano: 0 }
}

function count(counts: Map<string, FacetValue>, value: string, requests: number, failed: number): void {
  if (requests === 0) return
  const found = counts.get(value)
  if (found) {
    found.requests += requests
    found.failed += failed
  } else counts.set(value, { value, requests, failed })
}
