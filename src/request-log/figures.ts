// Figures of requests by hour, and of calls by model and upstream: how many, how many failed, how long they took. Summed as
// requests end, so that a million of them are shown as fast as ten. Nothing here must be used for money.

import type { Db, Row, Statement } from '../db/db'
import { type CallOutcome, earlierCalls, isFailure, lastOutcome } from './calls'
import { HourlySums } from './hourly-sums'
import { endedInError, type RequestLogRow } from './row'

export type RequestFigures = ReturnType<typeof figuresOfRow>

function figuresOfRow(row: Row) {
  return {
    /** The beginning of the hour in which they ended, in milliseconds since 1970. */
    hour: row.hour as number,
    model: row.model as string,
    upstream: row.upstream as string,
    /**
     * Calls to the upstream for the model, and those that failed there. If both names are empty: requests, and failed ones, in
     * addition to the calls, such as those that the gateway refused; negative if a route made several calls. The sum of all rows is
     * the number of requests.
     */
    requests: row.requests as number,
    failed: row.failed as number,
    /** Times to the first byte of an answer, and to its last. */
    firstBytes: DurationCounts.parse(row.first_bytes as string),
    durations: DurationCounts.parse(row.durations as string),
    /** Failed requests by cause. */
    failedBy: {
      vendor: row.failed_by_vendor as number,
      gateway: row.failed_by_gateway as number,
      caller: row.failed_by_caller as number,
    },
  }
}

const HOUR_MS = 3_600_000
/** How long figures are kept, in milliseconds. */
const KEEP_MS = 400 * 24 * HOUR_MS

/** A histogram of durations: each bucket is a tenth longer than the previous one, so a percentile is accurate to 5 %. */
export class DurationCounts {
  private static readonly GROWTH = Math.log(1.1)
  private static readonly MOST = 160

  private constructor(private readonly counts: Map<number, number>) {}

  static none(): DurationCounts {
    return new DurationCounts(new Map())
  }

  /** Reads what `toString` has written. */
  static parse(text: string): DurationCounts {
    const pairs =
      text === '' ? [] : text.split(' ').map((pair) => pair.split(':').map(Number) as [number, number])
    return new DurationCounts(new Map(pairs))
  }

  toString(): string {
    return [...this.counts].map((pair) => pair.join(':')).join(' ')
  }

  add(milliseconds: number): void {
    const bucket = Math.round(Math.log(Math.max(1, milliseconds)) / DurationCounts.GROWTH)
    this.count(Math.min(bucket, DurationCounts.MOST), 1)
  }

  addAll(other: DurationCounts): void {
    for (const [bucket, count] of other.counts) this.count(bucket, count)
  }

  /** The duration that this share of all durations does not exceed, in milliseconds; null for an empty histogram. */
  percentile(share: number): number | null {
    const all = [...this.counts.values()].reduce((sum, count) => sum + count, 0)
    let rest = Math.ceil(all * share)
    for (const [bucket, count] of [...this.counts].toSorted(([one], [other]) => one - other)) {
      rest -= count
      if (rest <= 0) return Math.round(Math.exp(bucket * DurationCounts.GROWTH))
    }
    return null
  }

  private count(bucket: number, by: number): void {
    this.counts.set(bucket, (this.counts.get(bucket) ?? 0) + by)
  }
}

/** Sums up the requests of one process. */
export class FigureKeeper {
  private readonly sums: HourlySums<RequestFigures>

  /** `source` identifies the process among all that have written. */
  constructor(db: Db, source: string) {
    this.sums = new HourlySums(db, (figures) => saveFigures(source, figures), noFigures)
  }

  /** Counts ended requests. */
  readonly fold = (rows: readonly RequestLogRow[]): void => {
    for (const row of rows) {
      const outcome = lastOutcome(row)
      const isFailed = endedInError(row.status, row.errorCode)
      const isOneCall = !isFailed && row.attempts === null && outcome !== undefined
      if (!isOneCall) this.addCalls(row, outcome, isFailed)
      if (isFailed) {
        const failed = this.sumsOf(row, outcome && row)
        failed.failedBy[row.failedBy ?? 'gateway']++
        this.sums.noteChange(failed)
        continue
      }
      const last = this.sumsOf(row, outcome && row)
      if (isOneCall) this.count(last, 1, 0)
      last.durations.add(row.durationMs)
      // An accepted task is not an answer yet.
      if (row.firstByteMs !== null && row.status !== 202) last.firstBytes.add(row.firstByteMs)
    }
  }

  /** Counts the calls of a request that is more than one call with its answer, and the rest of the request. */
  private addCalls(row: RequestLogRow, outcome: CallOutcome | undefined, isFailed: boolean): void {
    const calls = [...earlierCalls(row)]
    const { model, upstream } = row
    if (outcome && model !== null && upstream !== null) calls.push({ model, upstream, outcome })
    for (const call of calls) this.count(this.sumsOf(row, call), 1, isFailure(call.outcome) ? 1 : 0)
    const failures = calls.filter((call) => isFailure(call.outcome)).length
    const [further, failed] = [1 - calls.length, (isFailed ? 1 : 0) - failures]
    if (further !== 0 || failed !== 0) this.count(this.sumsOf(row, undefined), further, failed)
  }

  private count(sums: RequestFigures, requests: number, failed: number): void {
    sums.requests += requests
    sums.failed += failed
    this.sums.noteChange(sums)
  }

  /** Writes the changed sums, and drops past hours. Rejects with DatabaseUnavailable. */
  store(now: number): Promise<void> {
    return this.sums.store(now)
  }

  /** The sums of the hour in which a request ended, for a call or for no call. */
  private sumsOf(
    row: RequestLogRow,
    call: Pick<RequestLogRow, 'model' | 'upstream'> | undefined,
  ): RequestFigures {
    return this.sums.of(row, [call?.model ?? '', call?.upstream ?? ''])
  }
}

function noFigures(hour: number, [model = '', upstream = '']: readonly string[]): RequestFigures {
  return {
    hour,
    model,
    upstream,
    requests: 0,
    failed: 0,
    firstBytes: DurationCounts.none(),
    durations: DurationCounts.none(),
    failedBy: { vendor: 0, gateway: 0, caller: 0 },
  }
}

function saveFigures(source: string, figures: RequestFigures): Statement {
  return {
    sql: `insert into request_figures (hour, source, model, upstream, requests, failed, first_bytes, durations,
        failed_by_vendor, failed_by_gateway, failed_by_caller)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
      on conflict (hour, source, model, upstream) do update set requests = excluded.requests,
        failed = excluded.failed, first_bytes = excluded.first_bytes, durations = excluded.durations,
        failed_by_vendor = excluded.failed_by_vendor, failed_by_gateway = excluded.failed_by_gateway,
        failed_by_caller = excluded.failed_by_caller`,
    parameters: [
      figures.hour,
      source,
      figures.model,
      figures.upstream,
      figures.requests,
      figures.failed,
      String(figures.firstBytes),
      String(figures.durations),
      figures.failedBy.vendor,
      figures.failedBy.gateway,
      figures.failedBy.caller,
    ],
  }
}

/** Figures of whole hours, for all processes, in chronological order. */
export async function figuresBetween(db: Db, since: number, until: number): Promise<RequestFigures[]> {
  const rows = await db.query({
    sql: `select * from request_figures
      where hour >= $1 and hour < $2 order by hour`,
    parameters: [since - (since % HOUR_MS), until],
  })
  return rows.map(figuresOfRow)
}

/** Removes expired figures, together with failures of keys. */
export function forgetFigures(now: number): Statement[] {
  return ['request_figures', 'key_failures'].map((table) => ({
    sql: `delete from ${table} where hour < $1`,
    parameters: [now - KEEP_MS],
  }))
}
