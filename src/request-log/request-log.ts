// The request log: rows of ended requests are collected, passed to counters, and stored in batches, so that a request never waits
// for any of it. A power failure may lose the last rows, and rows are dropped if the store cannot keep up, so nothing here must be
// used for money.

import { DatabaseUnavailable } from '../db/db'
import type { Log } from '../lib/system'
import type { BodyLog } from './bodies'
import type { PageRequest, RequestFilter, RequestPage } from './filter'
import type { PageVisitor } from './page-search'
import type { LoggedRequest, RequestLogRow } from './row'
import { UnknownCallers } from './unknown-callers'

/** A source of rows. */
export interface RequestReader {
  /** Matching rows, newest first. */
  list(filter: RequestFilter, page: PageRequest): Promise<RequestPage>
  find(id: string): Promise<LoggedRequest | undefined>
  /**
   * Passes pages of rows, newest first, up to a limit: all pages with matching rows, and possibly others. Returns whether these are
   * all.
   */
  scan(filter: RequestFilter, visitor: PageVisitor): Promise<boolean>
  close(): Promise<void>
}

function readerOf(store: RequestReader): Pick<RequestReader, 'list' | 'find' | 'scan'> {
  return {
    list: (filter, page) => store.list(filter, page),
    find: (id) => store.find(id),
    scan: (filter, visitor) => store.scan(filter, visitor),
  }
}

/** A store of rows. */
export interface RequestStore extends RequestReader {
  /** Stores rows, in order. Rejects with DatabaseUnavailable if it cannot do so now. */
  insert(rows: readonly RequestLogRow[]): Promise<void>
  /** Drops expired rows, a few at a time. */
  trim(now: number): Promise<void>
}

export interface RequestLog extends Omit<RequestStore, 'insert'> {
  write(logRow: RequestLogRow): void
  /** Stores bodies of requests; null unless the operator has enabled it. */
  bodies: BodyLog | null
  /** The newest rows, newest first. */
  recent(limit: number): Promise<LoggedRequest[]>
  /** Number of rows that were dropped because the store could not accept them. */
  lostRows(): number
  flush(): Promise<void>
}

/** Receives rows of ended requests, soon after their end. It must return quickly, and must not keep a row. */
export type ReadRows = (rows: readonly RequestLogRow[]) => void

interface RowReaders {
  /** Counts all requests. */
  counting?: readonly ReadRows[]
  /** Writes what the store receives too: all requests, except an excess of those whose key is unknown. */
  writing?: readonly ReadRows[]
}

const FLUSH_MS = 250
/** Number of rows per write: writing thousands together would delay requests. */
const FLUSH_ROWS = 256
/** Number of rows that may wait for a slow store. */
const MAX_WAITING = 10_000

export function openRequestLog(
  store: RequestStore,
  log: Log,
  { counting = [], writing = [] }: RowReaders = {},
  bodies: BodyLog | null = null,
): RequestLog {
  let buffered: RequestLogRow[] = []
  let timer: Timer | undefined
  let storing = Promise.resolve()
  let waiting = 0
  let lost = 0
  const unknownCallers = new UnknownCallers(log)
  /** Resolves when every row so far is stored, including those of a running flush. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (buffered.length === 0) return storing
    for (const read of counting) read(buffered)
    const rows = buffered.filter((row) => unknownCallers.admits(row))
    buffered = []
    if (rows.length === 0) return storing
    for (const read of writing) read(rows)
    if (waiting + rows.length > MAX_WAITING) {
      lose(rows.length, 'the store is too slow')
    } else {
      waiting += rows.length
      storing = storing.then(() => insert(rows))
    }
    return storing
  }

  async function insert(rows: readonly RequestLogRow[]): Promise<void> {
    try {
      await store.insert(rows)
    } catch (error) {
      lose(rows.length, error instanceof DatabaseUnavailable ? error.message : String(error))
    } finally {
      waiting -= rows.length
    }
  }

  function lose(rows: number, reason: string): void {
    lost += rows
    log('request_rows_lost', { rows, reason })
  }

  return {
    write(logRow) {
      buffered.push(logRow)
      if (buffered.length === FLUSH_ROWS) void flush()
      else timer ??= setTimeout(flush, FLUSH_MS)
    },
    bodies,
    ...readerOf(store),
    recent: async (limit) => (await store.list({}, { limit })).rows,
    async trim(now) {
      unknownCallers.report(now)
      await store.trim(now)
      await bodies?.trim(now)
    },
    lostRows: () => lost,
    flush,
    async close() {
      await flush()
      await bodies?.close()
      await store.close()
    },
  }
}
