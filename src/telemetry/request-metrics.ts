// Counts ended requests: reads the rows of the request log in batches, so that a request itself counts nothing. Labels are ids of
// the configuration and HTTP figures, never a caller's text.

import { NANO_PER_USD } from '../lib/money'
import { type CallOutcome, earlierCalls, lastOutcome } from '../request-log/calls'
import { endedInError, overheadMsOf, type RequestLogRow } from '../request-log/row'
import { Counter, type Distribution, gauge, Histogram, type Metric, type Tally } from './instruments'

/** Seconds of requests, up to the longest that vendors take. */
const DURATIONS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800]
const FIRST_TOKENS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120]
const OVERHEADS = [0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
/** How long a key counts as being at a limit after it was refused, in milliseconds. */
const AT_LIMIT_MS = 60_000
/** Keys that are remembered for that. */
const MAX_KEYS = 100_000
const NONE = 'none'

/** The limits that refuse a request before it has a hold, by the code of its error. */
const LIMITS: Readonly<Record<string, string>> = {
  insufficient_balance: 'balance',
  budget_exceeded: 'budget',
  in_flight: 'in_flight',
  'Throttling.RateQuota': 'rate',
  'Throttling.ConcurrencyQuota': 'concurrency',
}

/** The series of rows with the same labels. */
interface RowSeries {
  requests: Tally
  duration: Distribution
  firstToken: Distribution | undefined
  /** The series of rows that were sent to an upstream. */
  sent: SentSeries | undefined
}

interface SentSeries {
  overhead: Distribution
  input: Tally
  output: Tally
  cost: Tally
  attempts: Tally
  upstreamDuration: Distribution
}

/** Combinations of labels whose series are remembered. */
const MAX_KNOWN = 4_000

export class RequestMetrics {
  readonly all: readonly Metric[]
  private readonly requests = new Counter(
    'gateway_requests_total',
    'Requests that have ended. The upstream is none where nothing was sent to it.',
    ['operation', 'model', 'upstream', 'status', 'failed_by'],
  )
  private readonly duration = new Histogram(
    'gateway_request_duration_seconds',
    'Time from the arrival of a request to the last byte of its answer.',
    DURATIONS,
    ['operation', 'model'],
  )
  private readonly firstToken = new Histogram(
    'gateway_time_to_first_token_seconds',
    'Time from the arrival of a request for a stream to the first byte of its answer.',
    FIRST_TOKENS,
    ['operation', 'model'],
  )
  private readonly overhead = new Histogram(
    'gateway_overhead_seconds',
    "The gateway's own part of the duration of answered requests: everything except the time of upstreams.",
    OVERHEADS,
    ['operation'],
  )
  private readonly tokens = new Counter('gateway_tokens_total', 'Tokens of answered requests.', [
    'model',
    'upstream',
    'direction',
  ])
  private readonly cost = new Counter(
    'gateway_cost_usd_total',
    'Dollars charged for answered requests; for videos when their task has ended.',
    ['model', 'upstream'],
  )
  private readonly attempts = new Counter(
    'gateway_upstream_attempts_total',
    'Calls to upstreams by how they ended: answered, refused (4xx), busy (429), failed (5xx, or stopped early), cut (by the caller or the gateway).',
    ['upstream', 'outcome'],
  )
  private readonly upstreamDuration = new Histogram(
    'gateway_upstream_duration_seconds',
    'Time that upstreams took for answered requests, from the call to the last byte.',
    DURATIONS,
    ['upstream'],
  )
  private readonly cache = new Counter(
    'gateway_response_cache_total',
    'Requests of models with a response cache, by result: hit, miss or bypass.',
    ['model', 'result'],
  )
  private readonly refusals = new Counter(
    'gateway_refused_total',
    'Requests refused by the gateway before anything was sent, by limit.',
    ['limit'],
  )
  private readonly known = new Map<string, RowSeries>()
  /** When each key was last refused, by limit. */
  private readonly refusedAt = new Map<string, Map<string, number>>()
  private readonly now: () => number

  constructor(now: () => number) {
    this.now = now
    this.all = [
      this.requests,
      this.duration,
      this.firstToken,
      this.overhead,
      this.tokens,
      this.cost,
      this.attempts,
      this.upstreamDuration,
      this.cache,
      this.refusals,
      gauge('gateway_keys_at_limit', 'Keys refused in the last minute, by limit.', () => this.keysAtLimit()),
    ]
  }

  readonly fold = (rows: readonly RequestLogRow[]): void => {
    for (const row of rows) this.add(row)
  }

  addCost(model: string, upstream: string, paidNano: number): void {
    this.cost.of(model, upstream).value += paidNano / NANO_PER_USD
  }

  private add(row: RequestLogRow): void {
    const series = this.seriesOf(row)
    series.requests.value++
    series.duration.observe(row.durationMs / 1000)
    if (row.stream && row.firstByteMs !== null) {
      series.firstToken ??= this.firstToken.of(row.operation, row.model ?? NONE)
      series.firstToken.observe(row.firstByteMs / 1000)
    }
    if (row.cache !== null) this.cache.of(row.model ?? NONE, row.cache.split(' ', 1)[0] ?? NONE).value++
    for (const { upstream, outcome } of earlierCalls(row)) this.attempts.of(upstream, outcome).value++
    const outcome = lastOutcome(row)
    if (outcome) {
      series.sent ??= this.sentSeriesOf(row, outcome)
      addSent(series.sent, row)
    }
    if (row.heldNano === null && row.errorCode !== null) this.addRefusal(row, LIMITS[row.errorCode])
  }

  /** The series that a row counts in, found by one look-up. */
  private seriesOf(row: RequestLogRow): RowSeries {
    const { operation, status, failedBy } = row
    const model = row.model ?? NONE
    const upstream = (row.isSent && row.upstream) || NONE
    const key = `${operation} ${model} ${upstream} ${status} ${failedBy}`
    const known = this.known.get(key)
    if (known) return known
    const series: RowSeries = {
      requests: this.requests.of(operation, model, upstream, String(status), failedBy ?? NONE),
      duration: this.duration.of(operation, model),
      firstToken: undefined,
      sent: undefined,
    }
    if (this.known.size < MAX_KNOWN) this.known.set(key, series)
    return series
  }

  private sentSeriesOf(row: RequestLogRow, outcome: CallOutcome): SentSeries {
    const model = row.model ?? NONE
    const upstream = row.upstream ?? NONE
    return {
      overhead: this.overhead.of(row.operation),
      input: this.tokens.of(model, upstream, 'input'),
      output: this.tokens.of(model, upstream, 'output'),
      cost: this.cost.of(model, upstream),
      attempts: this.attempts.of(upstream, outcome),
      upstreamDuration: this.upstreamDuration.of(upstream),
    }
  }

  private addRefusal({ keyId, at }: RequestLogRow, limit: string | undefined): void {
    if (limit === undefined || keyId === null) return
    this.refusals.of(limit).value++
    const keys = this.refusedAt.get(limit) ?? new Map<string, number>()
    this.refusedAt.set(limit, keys)
    // In the order of their last refusal, so that old ones are first.
    keys.delete(keyId)
    if (keys.size < MAX_KEYS) keys.set(keyId, at)
  }

  private keysAtLimit() {
    const oldest = this.now() - AT_LIMIT_MS
    return Object.values(LIMITS).map((limit) => {
      const keys = this.refusedAt.get(limit)
      for (const [key, at] of keys ?? []) {
        if (at >= oldest) break
        keys?.delete(key)
      }
      return { labels: { limit }, value: keys?.size ?? 0 }
    })
  }
}

function addSent(series: SentSeries, row: RequestLogRow): void {
  series.attempts.value++
  series.input.value += row.inputTokens ?? 0
  series.output.value += row.outputTokens ?? 0
  series.cost.value += (row.amountNano ?? 0) / NANO_PER_USD
  if (endedInError(row.status, row.errorCode)) return
  series.overhead.observe(overheadMsOf(row) / 1000)
  series.upstreamDuration.observe(row.upstreamMs / 1000)
}
