// SQLite behind the database interface: one writer connection, WAL with full sync, group commit. Batches that arrive in
// one turn of the event loop (two under load) share one commit and so one wait for the disk. Each batch is still atomic
// by itself, and its promise must never resolve before the commit. There is no timer.

import { Database, type Statement as Prepared, SQLiteError, type SQLQueryBindings } from 'bun:sqlite'
import { type BatchResult, DatabaseUnavailable, type Db, type Row, type Statement } from './db'
import { makePrivate } from './private-file'

/** A prepared statement, and whether it returns rows. */
interface Known {
  statement: Prepared
  hasRows: boolean
}

interface Waiting {
  statements: readonly Statement[]
  resolve(result: BatchResult): void
  reject(error: unknown): void
}

/** How long a commit waits for another process that writes, such as a CLI command, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000
/** Batches in one turn of the event loop that count as load, under which more come in the next turn. */
const CROWD = 4
const NO_ROWS: Row[] = []
/** SQLite's name for a database without a file. */
const IN_MEMORY = ':memory:'

/**
 * Opens a database. `durable: false` leaves the sync to the system: a power failure may lose the last commits, a crash
 * of the process never does.
 */
export function openSqlite(path: string, { durable = true } = {}): Db {
  if (path !== IN_MEMORY) makePrivate(path)
  const database = new Database(path, { create: true, strict: true })
  // Set first: switching to WAL can meet another process that does the same.
  database.run(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  database.run('pragma journal_mode = wal')
  database.run(`pragma synchronous = ${durable ? 'full' : 'normal'}`)
  // A checkpoint takes milliseconds; with SQLite's default of 1,000 pages one request in a hundred would meet it.
  database.run('pragma wal_autocheckpoint = 2000')
  database.run('pragma journal_size_limit = 67108864')
  const begin = database.prepare('begin immediate')
  const end = database.prepare('commit')
  const prepared = new Map<string, Known>()
  let waiting: Waiting[] = []
  let closed = false

  function prepare(sql: string): Known {
    let known = prepared.get(sql)
    if (!known) {
      const statement = database.prepare(dialectOf(sql))
      known = { statement, hasRows: statement.columnNames.length > 0 }
      prepared.set(sql, known)
    }
    return known
  }

  function read(statement: Prepared, parameters: Statement['parameters']): Row[] {
    const rows = statement.all(bindingsOf(parameters)) as Row[]
    for (const row of rows) assertExact(row)
    return rows
  }

  /** Runs one batch inside the open transaction. A batch that misses leaves nothing behind. */
  function runBatch(statements: readonly Statement[]): BatchResult {
    // A first statement that misses has changed nothing; only a later guard can leave something to undo.
    const undoable = hasLaterGuard(statements)
    if (undoable) database.run('savepoint guarded')
    const rows: Row[][] = []
    let missed = -1
    for (let index = 0; index < statements.length && missed === -1; index++) {
      const { sql, parameters, guard } = statements[index] as Statement
      const { statement, hasRows } = prepare(sql)
      const found = hasRows ? read(statement, parameters) : NO_ROWS
      const hits = hasRows ? found.length : statement.run(bindingsOf(parameters)).changes
      if (guard && hits === 0) missed = index
      rows.push(found)
    }
    if (undoable) database.run(missed === -1 ? 'release guarded' : 'rollback to guarded; release guarded')
    return missed === -1 ? { rows } : { missed }
  }

  /** Runs a group again after one batch threw, each batch in a savepoint, so that only the faulty one is undone. */
  function runSeparately(group: Waiting[]): (BatchResult | { error: unknown })[] {
    return group.map(({ statements }) => {
      database.run('savepoint batch')
      try {
        const result = runBatch(statements)
        database.run('release batch')
        return result
      } catch (error) {
        // A full disk ends the whole transaction: nothing in it counts.
        if (!database.inTransaction) throw error
        database.run('rollback to batch; release batch')
        return { error }
      }
    })
  }

  function attempt<Result>(work: () => Result): Result {
    begin.run()
    try {
      const result = work()
      end.run()
      return result
    } catch (error) {
      if (database.inTransaction) database.run('rollback')
      throw error
    }
  }

  function commit(group: Waiting[]): (BatchResult | { error: unknown })[] {
    try {
      return attempt(() => group.map(({ statements }) => runBatch(statements)))
    } catch (error) {
      if (isUnavailable(error)) throw error
      return attempt(() => runSeparately(group))
    }
  }

  /** Waits one more turn under load: larger groups mean fewer waits for the disk. */
  function gather(): void {
    if (waiting.length < CROWD) flush()
    else setImmediate(flush)
  }

  function flush(): void {
    if (waiting.length === 0) return
    const group = waiting
    waiting = []
    try {
      const results = commit(group)
      for (let index = 0; index < group.length; index++) {
        const result = results[index] as BatchResult | { error: unknown }
        const { resolve, reject } = group[index] as Waiting
        if ('error' in result) reject(unavailable(result.error))
        else resolve(result)
      }
    } catch (error) {
      for (const { reject } of group) reject(unavailable(error))
    }
  }

  return {
    kind: 'sqlite',
    async query(statement) {
      if (closed) throw new DatabaseUnavailable('the database is closed')
      try {
        const { statement: prepared } = prepare(statement.sql)
        return read(prepared, statement.parameters)
      } catch (error) {
        throw unavailable(error)
      }
    },
    batch(statements) {
      return new Promise<BatchResult>((resolve, reject) => {
        if (closed) return reject(new DatabaseUnavailable('the database is closed'))
        waiting.push({ statements, resolve, reject })
        if (waiting.length === 1) setImmediate(gather)
      })
    },
    async close() {
      if (closed) return
      if (waiting.length > 0) flush()
      closed = true
      for (const { statement } of prepared.values()) statement.finalize()
      begin.finalize()
      end.finalize()
      database.close()
    },
  }
}

/** Passes the list itself: spreading it would copy every value twice. */
function bindingsOf(parameters: Statement['parameters']): SQLQueryBindings {
  return (parameters ?? []) as unknown as SQLQueryBindings
}

function hasLaterGuard(statements: readonly Statement[]): boolean {
  for (let index = 1; index < statements.length; index++) {
    if (statements[index]?.guard) return true
  }
  return false
}

/** Rewrites the common SQL for SQLite: small tables are stored by their key, without a second index. */
function dialectOf(sql: string): string {
  const text = sql.replaceAll(/\$(\d+)/g, '?$1').replaceAll(' bigint', ' integer')
  const smallRows = /^create table .*(text primary key|primary key \(key_id)/s.test(text)
  return smallRows ? `${text} without rowid` : text
}

/** Throws for an integer beyond 2^53, which a number cannot hold exactly. */
function assertExact(row: Row): void {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      throw new RangeError(`${name} is too large: ${value}`)
    }
  }
}

/** Whether the error is a passing fault of the disk or of another process. All others are faults of our SQL. */
function isUnavailable(error: unknown): boolean {
  return (
    error instanceof SQLiteError &&
    /^SQLITE_(FULL|IOERR|READONLY|BUSY|LOCKED|CANTOPEN|NOMEM)/.test(error.code ?? '')
  )
}

function unavailable(error: unknown): unknown {
  if (!isUnavailable(error)) return error
  return new DatabaseUnavailable(`SQLite: ${(error as Error).message}`, { cause: error })
}
