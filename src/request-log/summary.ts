// Requests of the log in sum: how many and how many failed, by whom, what was paid, how long they took, the same over time, and the
// values of each facet with their counts. A facet counts what meets all other conditions, so that a second value can be chosen
// beside the first. Nothing here must be used for money: rows can be lost.

import type { Value } from '../db/db'
import type { RowCodec } from '../db/encryption/codec'
import { REFUSERS } from './failure'
import { DurationCounts } from './figures'
import { columnPlace, type RequestFilter, rowConditionsOf, statusWords } from './filter'
import { endedInError } from './row'

/** Filters whose values are counted. */
export const FACETS = [
  'status',
  'error',
  'refusedBy',
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
  /** Those that ended in an error. */
  failed: number
  amountNano: number
}

export interface RequestSummary extends RequestSums {
  /** Failed ones by who refused; rows of older gateways do not say it. */
  failedBy: Record<(typeof REFUSERS)[number], number>
  inputTokens: number
  outputTokens: number
  /** Times of requests that were answered. */
  firstBytes: DurationCounts
  durations: DurationCounts
  /** RequestSums by the beginning of a span of time, in its order. */
  spans: (RequestSums & { since: number })[]
  spanMs: number
  facets: Record<Facet, FacetValue[]>
  /** Matching requests whose price is not in their row, such as tasks. */
  unpaid: Unpaid[]
  /** Rows that were read, and the time from which on they are all that there are; undefined for the whole period. */
  looked: number
  coveredSince: number | undefined
}

export interface Unpaid {
  id: string
  at: number
  operation: string
}

/** Values of a facet that are listed, the most frequent ones. */
const MOST_VALUES = 50
/** Requests without a price that are noted, at most. */
const MOST_UNPAID = 5_000
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
/** Spans of a period, at most. */
const MOST_SPANS = 60

const [ID, AT, OPERATION] = [columnPlace('id'), columnPlace('at'), columnPlace('operation')]
const [STATUS, ERROR, REFUSED_BY] = [
  columnPlace('status'),
  columnPlace('error_code'),
  columnPlace('refused_by'),
]
const [INPUT, OUTPUT, AMOUNT] = [
  columnPlace('input_tokens'),
  columnPlace('output_tokens'),
  columnPlace('amount'),
]
const [FIRST_BYTE, DURATION] = [columnPlace('first_byte_ms'), columnPlace('duration_ms')]
const PLACES: Record<Exclude<Facet, 'status'>, readonly number[]> = {
  error: [ERROR],
  refusedBy: [REFUSED_BY],
  model: [columnPlace('model'), columnPlace('asked_model')],
  keyId: [columnPlace('key_id')],
  spenderId: [columnPlace('spender_id')],
  account: [columnPlace('account')],
  upstream: [columnPlace('upstream')],
  operation: [OPERATION],
}

/** Adds rows up by a filter and in a period. */
export class Summing {
  private readonly conditions
  private readonly counts = new Map(FACETS.map((facet) => [facet, new Map<string, FacetValue>()]))
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
  private oldest = Number.MAX_SAFE_INTEGER

  constructor(filter: RequestFilter & { since: number; until: number }, codec: RowCodec) {
    const { since, until } = filter
    this.conditions = rowConditionsOf(filter, codec)
    const length = until - since
    this.spanMs = SPANS_MS.find((span) => length / span <= MOST_SPANS) ?? 30 * DAY
    const first = since - (since % this.spanMs)
    const count = Math.min(Math.max(Math.ceil((until - first) / this.spanMs), 1), 4 * MOST_SPANS)
    this.spans = Array.from({ length: count }, (_, span) => ({
      since: first + span * this.spanMs,
      ...noSums(),
    }))
  }

  readonly add = (values: readonly Value[]): void => {
    this.sums.looked++
    this.oldest = Math.min(this.oldest, Number(values[AT]))
    let missed: keyof RequestFilter | undefined
    for (const { name, isMet } of this.conditions) {
      if (isMet(values)) continue
      if (missed !== undefined) return
      missed = name
    }
    const isFailed = endedInError(Number(values[STATUS]), values[ERROR] ?? null)
    if (missed === undefined) {
      this.addToSums(values, isFailed)
      for (const facet of FACETS) this.addToFacet(facet, values, isFailed)
    } else if (this.counts.has(missed as Facet)) this.addToFacet(missed as Facet, values, isFailed)
  }

  /** `isWhole`: all rows of the period were shown. */
  summary(isWhole: boolean): RequestSummary {
    const facets = Object.fromEntries(
      [...this.counts].map(([facet, values]) => [
        facet,
        [...values.values()]
          .sort((one, two) => two.requests - one.requests || (one.value < two.value ? -1 : 1))
          .slice(0, MOST_VALUES),
      ]),
    ) as Record<Facet, FacetValue[]>
    const { sums, spans, spanMs, oldest } = this
    return { ...sums, spans, spanMs, facets, coveredSince: isWhole ? undefined : oldest }
  }

  /** Adds what was paid for a request after it ended. */
  addAmount(at: number, amountNano: number): void {
    this.sums.amountNano += amountNano
    const span = this.spanAt(at)
    if (span) span.amountNano += amountNano
  }

  private addToSums(values: readonly Value[], isFailed: boolean): void {
    const { sums } = this
    const [at, amount] = [Number(values[AT]), values[AMOUNT] ?? null]
    addOne(sums, isFailed, Number(amount ?? 0))
    const span = this.spanAt(at)
    if (span) addOne(span, isFailed, Number(amount ?? 0))
    sums.inputTokens += Number(values[INPUT] ?? 0)
    sums.outputTokens += Number(values[OUTPUT] ?? 0)
    if (isFailed) {
      const refuser = REFUSERS.find((each) => each === values[REFUSED_BY])
      if (refuser) sums.failedBy[refuser]++
      return
    }
    sums.durations.add(Number(values[DURATION] ?? 0))
    const firstByte = values[FIRST_BYTE] ?? null
    if (firstByte !== null) sums.firstBytes.add(Number(firstByte))
    if (amount === null && sums.unpaid.length < MOST_UNPAID)
      sums.unpaid.push({ id: String(values[ID]), at, operation: String(values[OPERATION]) })
  }

  private addToFacet(facet: Facet, values: readonly Value[], isFailed: boolean): void {
    const counts = this.counts.get(facet) as Map<string, FacetValue>
    if (facet === 'status')
      for (const word of wordsOf(Number(values[STATUS]), isFailed)) count(counts, word, isFailed)
    else
      for (const place of PLACES[facet]) {
        const value = values[place]
        if (typeof value === 'string') count(counts, value, isFailed)
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

function count(counts: Map<string, FacetValue>, value: string, isFailed: boolean): void {
  let found = counts.get(value)
  if (!found) {
    found = { value, requests: 0, failed: 0 }
    counts.set(value, found)
  }
  found.requests++
  if (isFailed) found.failed++
}

/** Words of statuses, which are made once and not for each row. */
const words = new Map<number, readonly string[]>()

function wordsOf(status: number, isFailed: boolean): readonly string[] {
  const key = isFailed ? -status : status
  const known = words.get(key)
  if (known) return known
  const made = statusWords(status, isFailed ? 'failed' : null)
  words.set(key, made)
  return made
}
