// The state of the gateway as metrics: holds, tasks, webhooks, backups, upstreams, database and process. Database figures are read
// on request, at most every few seconds, so that a busy reader costs nothing.

import { lastBackup } from '../backup/schedule'
import type { Upstream } from '../contract/upstream'
import type { Db, Row } from '../db/db'
import type { Program } from '../db/schema/program'
import { NANO_PER_USD } from '../lib/money'
import { figure, gauge, type Metric, type MetricSample } from './instruments'

/** Figures of the process that only the outermost program can read. */
export interface ProcessFigures {
  residentBytes: number
  cpuSeconds: number
}

export interface StateWorld {
  db: Db
  now: () => number
  program: Program
  upstreams(): Iterable<Upstream>
  /** Running requests of this process. */
  runningRequests(): number
  /** Bytes of answers that wait for slow callers. */
  waitingBytes(): number
  /** Rows of requests that could not be kept. */
  lostRows(): number
  /** Free room on the disk of the data directory, in bytes. Rejects if the disk cannot be checked. */
  freeBytes(): Promise<number>
  /** When the certificate of the gateway expires, in milliseconds since 1970; undefined if none can be read. */
  certificateEndsAt(): number | undefined
  /** How often backups are made; undefined if they are not made automatically. */
  backupEveryMs(): number | undefined
  processFigures?: (() => ProcessFigures) | undefined
}

/** How long database figures are reused, in milliseconds. */
const FRESH_MS = 5_000
const BREAKER_STATES = ['closed', 'half-open', 'open'] as const

export function stateMetrics(world: StateWorld): Metric[] {
  const { program, runningRequests, waitingBytes, lostRows, processFigures } = world
  const startedAt = world.now() / 1000
  return [
    gauge('gateway_build_info', 'The running version, its commit and its schema; always 1.', () => [
      { labels: { ...program, schema: String(program.schema) }, value: 1 },
    ]),
    figure('gateway_start_time_seconds', 'When the process started, in seconds since 1970.', () => startedAt),
    figure('gateway_running_requests', 'Running requests of this process.', runningRequests),
    figure('gateway_waiting_bytes', 'Bytes of answers buffered for callers.', waitingBytes),
    {
      ...figure(
        'gateway_request_rows_lost_total',
        'Rows of the request log that could not be stored.',
        lostRows,
      ),
      type: 'counter',
    },
    ...upstreamMetrics(world),
    ...databaseMetrics(world),
    ...upkeepMetrics(world),
    ...(processFigures ? processMetrics(processFigures) : []),
  ]
}

/** Metrics of the disk, the certificate and the backups, which no request shows. A metric without a figure has no sample. */
function upkeepMetrics({ db, freeBytes, certificateEndsAt, backupEveryMs }: StateWorld): Metric[] {
  const samples = (value: number | undefined): MetricSample[] =>
    value === undefined ? [] : [{ labels: {}, value }]
  const seconds = (milliseconds: number | undefined) =>
    samples(milliseconds === undefined ? undefined : milliseconds / 1000)
  return [
    gauge('gateway_disk_free_bytes', 'Free space on the disk of the data directory.', async () =>
      samples(await freeBytes().catch(() => undefined)),
    ),
    gauge(
      'gateway_certificate_expires_timestamp_seconds',
      'When the certificate of server.tls expires, in seconds since 1970.',
      () => seconds(certificateEndsAt()),
    ),
    gauge('gateway_backup_interval_seconds', 'Interval of automatic backups.', () =>
      seconds(backupEveryMs()),
    ),
    gauge(
      'gateway_backup_newest_timestamp_seconds',
      'When the newest backup was started, in seconds since 1970; 0 before the first backup.',
      async () => (backupEveryMs() === undefined ? [] : seconds((await lastBackup(db)).madeAt)),
    ),
  ]
}

function processMetrics(read: () => ProcessFigures): Metric[] {
  return [
    figure('process_resident_memory_bytes', 'Memory of the process.', () => read().residentBytes),
    {
      ...figure('process_cpu_seconds_total', 'Processor time of the process.', () => read().cpuSeconds),
      type: 'counter',
    },
  ]
}

function upstreamMetrics({ upstreams }: StateWorld): Metric[] {
  const each = (read: (upstream: Upstream) => number) => () =>
    [...upstreams()].map((upstream) => ({ labels: { upstream: upstream.name }, value: read(upstream) }))
  return [
    gauge(
      'gateway_upstream_running',
      'Running calls to an upstream.',
      each((upstream) => upstream.health().running),
    ),
    gauge(
      'gateway_upstream_concurrency_limit',
      'Maximum number of running calls to an upstream.',
      each((upstream) => upstream.health().concurrency),
    ),
    gauge('gateway_upstream_breaker_state', "State of an upstream's breaker: 1 for the current state.", () =>
      [...upstreams()].flatMap((upstream) => {
        const { breaker } = upstream.health()
        return BREAKER_STATES.map((state) => ({
          labels: { upstream: upstream.name, state },
          value: breaker === state ? 1 : 0,
        }))
      }),
    ),
  ]
}

function databaseMetrics({ db, now }: StateWorld): Metric[] {
  const row = cached(now, async (sql) => {
    const [first] = await db.query({ sql })
    return first ?? {}
  })
  const one = (column: string, sql: string) => async (): Promise<MetricSample[]> => [
    { labels: {}, value: Number((await row(sql))[column] ?? 0) },
  ]
  const holds = 'select count(*) as holds, cast(coalesce(sum(held), 0) as bigint) as held from open_charges'
  const dueTask = `select min(poll_at) as due from tasks where state = 'submitted' and upstream_id is not null`
  const webhooks = `select count(*) as pending, min(next_at) as due from webhooks where state = 'pending'`
  const late = (sql: string) => async () => [{ labels: {}, value: secondsLate(await row(sql), now()) }]
  return [
    gauge('gateway_holds', 'Charges that have not ended.', one('holds', holds)),
    gauge('gateway_held_usd', 'Dollars held by open charges.', async () => [
      { labels: {}, value: Number((await row(holds)).held ?? 0) / NANO_PER_USD },
    ]),
    gauge('gateway_tasks', 'Video tasks that have not ended, by stage.', async () =>
      tasksOf(await row(TASKS)),
    ),
    gauge('gateway_poll_lateness_seconds', 'Waiting time of the longest overdue task.', late(dueTask)),
    gauge('gateway_webhooks_pending', 'Undelivered webhooks.', one('pending', webhooks)),
    gauge('gateway_webhook_lateness_seconds', 'Waiting time of the longest overdue webhook.', late(webhooks)),
    gauge('gateway_database_bytes', 'Size of the database.', one('bytes', SIZES[db.kind])),
  ]
}

const TASKS = `select
    coalesce(sum(case when upstream_id is not null then 1 else 0 end), 0) as followed,
    coalesce(sum(case when upstream_id is null and error_code is not null then 1 else 0 end), 0) as unknown,
    coalesce(sum(case when upstream_id is null and error_code is null then 1 else 0 end), 0) as sent
  from tasks where state = 'submitted'`

const SIZES = {
  sqlite: 'select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()',
  postgres: 'select pg_database_size(current_database()) as bytes',
}

function tasksOf(row: Row): MetricSample[] {
  return ['followed', 'unknown', 'sent'].map((stage) => ({
    labels: { stage },
    value: Number(row[stage] ?? 0),
  }))
}

function secondsLate({ due }: Row, now: number): number {
  return due === null || due === undefined ? 0 : Math.max(0, (now - Number(due)) / 1000)
}

/** Reads at most every few seconds. */
function cached(now: () => number, read: (sql: string) => Promise<Row>): (sql: string) => Promise<Row> {
  const known = new Map<string, { at: number; row: Promise<Row> }>()
  return (sql) => {
    const before = known.get(sql)
    if (before && now() - before.at < FRESH_MS) return before.row
    const row = read(sql)
    known.set(sql, { at: now(), row })
    row.catch(() => known.delete(sql))
    return row
  }
}
