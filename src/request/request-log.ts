// The request log: one row for each request, without bodies, in a file of its own so that it never delays money. Rows
// are written in batches, each as one page of JSON: a statement for each row takes twice the time. The last rows may be
// lost in a power failure, so nothing here must be used for money.

import { DatabaseUnavailable, type Db, type Row, type Value } from '../db/db'

export interface RequestLogRow {
  id: string
  at: number
  /** The moment of `at` on the monotonic clock, from which durations are measured. Not written. */
  startedAt: number
  operation: string
  account: string | null
  keyId: string | null
  model: string | null
  upstream: string | null
  stream: boolean
  status: number
  errorCode: string | null
  /** Milliseconds from the request's arrival to the first byte of the answer, and to its last. */
  firstByteMs: number | null
  durationMs: number
  inputTokens: number | null
  outputTokens: number | null
  amountNano: number | null
  usageSource: string | null
  endedBy: string | null
}

/** The row of a new request; the rest is filled in later. */
export function newLogRow(
  incoming: { requestId: string; operation: { name: string } },
  { now, monotonic }: { now: () => number; monotonic: () => number },
): RequestLogRow {
  return {
    id: incoming.requestId,
    at: now(),
    startedAt: monotonic(),
    operation: incoming.operation.name,
    account: null,
    keyId: null,
    model: null,
    upstream: null,
    stream: false,
    status: 0,
    errorCode: null,
    firstByteMs: null,
    durationMs: 0,
    inputTokens: null,
    outputTokens: null,
    amountNano: null,
    usageSource: null,
    endedBy: null,
  }
}

export interface RequestLog {
  write(logRow: RequestLogRow): void
  /** The newest rows, newest first. */
  recent(limit: number): Promise<Row[]>
  /** Drops rows that are older than the log keeps, a little at a time. */
  trim(now: number): Promise<void>
  flush(): Promise<void>
  close(): Promise<void>
}

const FLUSH_MS = 250
/** Rows that are written at once: writing thousands together would delay requests. */
const FLUSH_ROWS = 256
const MAX_BUFFERED = 10_000
const KEEP_MS = 30 * 86_400_000
const KEEP_ROWS = 2_000_000
const TRIM_PAGES = 500

/** The table. `number` is that of a page's last row, and `newest_at` the latest time in it. */
const TABLE =
  'create table if not exists pages (number integer primary key, newest_at integer not null, rows text not null)'
const INSERT = `insert into pages (number, newest_at, rows)
  values (coalesce((select max(number) from pages), 0) + $1, $2, $3)`

/** Columns of a row besides its number, in this order. */
const COLUMNS = [
  'id',
  'at',
  'operation',
  'account',
  'key_id',
  'model',
  'upstream',
  'stream',
  'status',
  'error_code',
  'first_byte_ms',
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'amount',
  'usage_source',
  'ended_by',
] as const

export async function openRequestLog(
  db: Db,
  log: (event: string, fields: Record<string, unknown>) => void,
): Promise<RequestLog> {
  await db.batch([{ sql: TABLE }])
  let buffered: RequestLogRow[] = []
  let timer: Timer | undefined
  let flushing = Promise.resolve()

  /** Resolves when every row so far is in the file, those of a running flush included. */
  function flush(): Promise<void> {
    flushing = flushing.then(insertBuffered, insertBuffered)
    return flushing
  }

  async function insertBuffered(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const entries = buffered
    buffered = []
    if (entries.length === 0) return
    try {
      const newestAt = entries.reduce((newest, { at }) => Math.max(newest, at), 0)
      const rows = JSON.stringify(entries.map(valuesOf))
      await db.batch([{ sql: INSERT, parameters: [entries.length, newestAt, rows] }])
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      log('journal_lost', { rows: entries.length, reason: error.message })
    }
  }

  return {
    write(logRow) {
      if (buffered.length < MAX_BUFFERED) buffered.push(logRow)
      if (buffered.length === FLUSH_ROWS) flush()
      else timer ??= setTimeout(flush, FLUSH_MS)
    },
    async recent(limit) {
      const pages = await db.query({
        sql: `select number, rows from pages where number > (select max(number) from pages) - $1
          order by number desc`,
        parameters: [limit],
      })
      return pages.flatMap(rowsOf).slice(0, limit)
    },
    async trim(now) {
      await db.batch([
        {
          sql: `delete from pages where number in (select number from pages
            where newest_at < $1 or number <= (select max(number) from pages) - $2 order by number limit $3)`,
          parameters: [now - KEEP_MS, KEEP_ROWS, TRIM_PAGES],
        },
      ])
    },
    flush,
    async close() {
      await flush()
      await db.close()
    },
  }
}

/** The rows of a page, newest first. */
function rowsOf(page: Row): Row[] {
  const rows: Value[][] = JSON.parse(page.rows as string)
  return rows
    .map((values, index) => ({
      number: (page.number as number) - rows.length + 1 + index,
      ...Object.fromEntries(COLUMNS.map((name, column) => [name, values[column] as Value])),
    }))
    .reverse()
}

function valuesOf(logRow: RequestLogRow): Value[] {
  return [
    logRow.id,
    logRow.at,
    logRow.operation,
    logRow.account,
    logRow.keyId,
    logRow.model,
    logRow.upstream,
    logRow.stream ? 1 : 0,
    logRow.status,
    logRow.errorCode,
    logRow.firstByteMs === null ? null : Math.round(logRow.firstByteMs),
    Math.round(logRow.durationMs),
    logRow.inputTokens,
    logRow.outputTokens,
    logRow.amountNano,
    logRow.usageSource,
    logRow.endedBy,
  ]
}
