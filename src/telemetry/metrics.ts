// All metrics of a gateway, and the text that a monitoring system reads. Nothing here runs unless a place for metrics is
// configured.

import type { After, Log } from '../lib/system'
import type { RequestLogRow } from '../request-log/row'
import { expose } from './exposition'
import { Counter, Histogram, type Metric } from './instruments'
import { RequestMetrics } from './request-metrics'
import { type StateWorld, stateMetrics } from './state-metrics'

const LAGS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const COMMITS = [0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
/** How often the loop is measured, in milliseconds. */
const LAG_MS = 250

export class Metrics {
  private readonly requests: RequestMetrics
  private readonly lines = new Counter(
    'gateway_log_lines_total',
    'Log lines by event, including those below the log level; without lines of requests.',
    ['event'],
  )
  private readonly commits = new Histogram(
    'gateway_database_commit_seconds',
    'Duration of a commit, which several requests may share.',
    COMMITS,
  )
  private readonly lag = new Histogram(
    'gateway_event_loop_lag_seconds',
    'Delay of a timer: how long other work blocked the event loop.',
    LAGS,
  )
  private state: readonly Metric[] = []

  constructor(now: () => number) {
    this.requests = new RequestMetrics(now)
  }

  /** Counts ended requests. */
  readonly fold = (rows: readonly RequestLogRow[]): void => this.requests.fold(rows)

  /** Counts the price of a video, which is known when its task has ended. */
  addVideo({ model, upstream }: { model: string; upstream: string }, paidNano: number): void {
    this.requests.addCost(model, upstream, paidNano)
  }

  /** A log whose lines are counted. */
  counted(log: Log): Log {
    return (event, fields) => {
      this.lines.of(event).value++
      log(event, fields)
    }
  }

  readonly commit = (milliseconds: number): void => this.commits.of().observe(milliseconds / 1000)

  /** Begins to show the state of a gateway, and to measure its loop. Returns the function that ends that. */
  watch(world: StateWorld, { monotonic, after }: { monotonic: () => number; after: After }): () => void {
    this.state = stateMetrics(world)
    let cancel = () => {}
    const measure = () => {
      const dueAt = monotonic() + LAG_MS
      cancel = after(LAG_MS, () => {
        this.lag.of().observe(Math.max(0, monotonic() - dueAt) / 1000)
        measure()
      })
    }
    measure()
    return () => cancel()
  }

  all(): readonly Metric[] {
    return [...this.requests.all, this.lines, this.commits, this.lag, ...this.state]
  }

  /** The metrics in the form that a reader accepts. */
  read(accept: string | null, log: Log): Promise<{ contentType: string; text: string }> {
    return expose(this.all(), accept, log)
  }
}
