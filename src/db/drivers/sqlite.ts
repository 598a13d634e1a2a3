// SQLite behind the database interface: one writer connection, WAL. A batch is atomic by itself, even if it shares a commit with
// others, and its promise must never resolve before the commit, which is synced except for holds.

import { Database, type Statement as Prepared, SQLiteError, type SQLQueryBindings } from 'bun:sqlite'
import {
  type BatchResult,
  batchOf,
  DatabaseUnavailable,
  type Db,
  exactInteger,
  type Guard,
  type Row,
  type Statement,
} from '../db'
import { clearCodec } from '../encryption/codec'
import { makePrivate } from '../private-file'
import { type BatchOutcome, GroupCommit, mustSync, type WaitingBatch } from './group-commit'
import { MAX_UNSYNCED, requireWholeLog } from './sqlite-file'

/** A prepared statement, and whether it returns rows. */
interface Known {
  statement: Prepared
  hasRows: boolean
}

/** How long a commit waits for another writing process, such as a CLI command, in milliseconds. */
const BUSY_TIMEOUT_MS = 5_000
const NO_ROWS: Row[] = []
/** SQLite's name for a database without a file. */
const IN_MEMORY = ':memory:'

/**
 * Opens a database. `durable: false` leaves the sync to the system: a power failure may lose the last commits, a crash
 * of the process never does. `readonly` leaves all its files unchanged, including the log. Throws if a durable database has lost
 * commits.
 */
export function openSqlite(path: string, { durable = true, codec = clearCodec, readonly = false } = {}): Db {
  if (durable && path !== IN_MEMORY) requireWholeLog(path)
  const connection = new SqliteConnection(openDatabase(path, readonly), durable)
  const commits = new GroupCommit((group) => {
    if (!db.onCommit) return connection.commit(group)
    const at = performance.now()
    const outcomes = connection.commit(group)
    db.onCommit(performance.now() - at)
    return outcomes
  }, unavailable)
  let isClosed = false
  const add = (statements: readonly Statement[], synced: boolean) =>
    isClosed ? Promise.reject(closed()) : commits.add(statements, synced)
  const db: Db = {
    kind: 'sqlite',
    codec,
    async query(statement) {
      if (isClosed) throw closed()
      try {
        return connection.query(statement)
      } catch (error) {
        throw unavailable(error)
      }
    },
    batch: (statements) => add(statements, true),
    // A hold alone needs no sync: a power failure also ends its request, and its money is released. The end of the hold is synced,
    // and the hold with it.
    move: (movement) => add(batchOf(movement), movement.kind !== 'hold' || movement.also.length > 0),
    async compact() {
      try {
        connection.compact()
      } catch (error) {
        throw unavailable(error)
      }
    },
    async close() {
      if (isClosed) return
      commits.flush()
      isClosed = true
      connection.close()
    },
  }
  return db
}

function closed(): DatabaseUnavailable {
  return new DatabaseUnavailable('the database is closed')
}

function openDatabase(path: string, readonly: boolean): Database {
  if (path !== IN_MEMORY && !readonly) makePrivate(path)
  const database = new Database(path, readonly ? { readonly, strict: true } : { create: true, strict: true })
  // Set first: switching to WAL can collide with another process that does the same.
  database.run(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  if (readonly) return database
  database.run('pragma journal_mode = wal')
  // A checkpoint takes milliseconds; with SQLite's default of 1,000 pages it would delay one request in a hundred.
  database.run('pragma wal_autocheckpoint = 2000')
  database.run('pragma journal_size_limit = 67108864')
  return database
}

/** The connection with its prepared statements. Everything in it is complete when the call returns. */
class SqliteConnection {
  private readonly database: Database
  private readonly begin: Prepared
  private readonly end: Prepared
  private readonly prepared = new Map<string, Known>()
  private readonly durable: boolean
  private isSyncing: boolean | undefined
  /** Commits since the last synced one. */
  private unsynced = 0

  constructor(database: Database, durable: boolean) {
    this.database = database
    this.durable = durable
    this.sync(durable)
    this.begin = database.prepare('begin immediate')
    this.end = database.prepare('commit')
  }

  query({ sql, parameters }: Statement): Row[] {
    return read(this.prepare(sql).statement, parameters)
  }

  /** Commits all batches in one transaction. Returns the result of each, in order. Throws if nothing was changed. */
  commit(group: readonly WaitingBatch[]): BatchOutcome[] {
    this.unsynced = mustSync(group) || this.unsynced === MAX_UNSYNCED ? 0 : this.unsynced + 1
    this.sync(this.durable && this.unsynced === 0)
    try {
      return this.transact(() => group.map(({ statements }) => this.runBatch(statements)))
    } catch (error) {
      if (isUnavailable(error)) throw error
      return this.transact(() => this.runSeparately(group))
    }
  }

  compact(): void {
    this.database.run('vacuum')
    const checkpoint = this.database.query('pragma wal_checkpoint(truncate)').get() as { busy: number }
    if (checkpoint.busy) throw new DatabaseUnavailable('SQLite: another process reads the database')
  }

  close(): void {
    for (const { statement } of this.prepared.values()) statement.finalize()
    this.begin.finalize()
    this.end.finalize()
    this.database.close()
  }

  /** Sets whether the next commits wait for the disk. */
  private sync(isSyncing: boolean): void {
    if (isSyncing === this.isSyncing) return
    this.database.run(`pragma synchronous = ${isSyncing ? 'full' : 'normal'}`)
    this.isSyncing = isSyncing
  }

  private prepare(sql: string): Known {
    let known = this.prepared.get(sql)
    if (!known) {
      const statement = this.database.prepare(dialectOf(sql))
      known = { statement, hasRows: statement.columnNames.length > 0 }
      this.prepared.set(sql, known)
    }
    return known
  }

  /** Runs one batch inside the open transaction. A batch that misses leaves no changes. */
  private runBatch(statements: readonly Statement[]): BatchResult {
    // If the first statement misses, nothing was changed; only a later guard can leave something to undo.
    const undoable = hasLaterGuard(statements)
    if (undoable) this.database.run('savepoint guarded')
    const rows: Row[][] = []
    let missed: Guard = false
    for (const { sql, parameters, guard } of statements) {
      const { statement, hasRows } = this.prepare(sql)
      const found = hasRows ? read(statement, parameters) : NO_ROWS
      const hits = hasRows ? found.length : statement.run(bindingsOf(parameters)).changes
      if (guard && hits === 0) {
        missed = guard
        break
      }
      rows.push(found)
    }
    if (undoable) this.database.run(missed ? 'rollback to guarded; release guarded' : 'release guarded')
    return missed ? { missed } : { rows }
  }

  /** Runs a group again after one batch threw, each batch in a savepoint, so that only the faulty one is undone. */
  private runSeparately(group: readonly WaitingBatch[]): BatchOutcome[] {
    return group.map(({ statements }) => {
      this.database.run('savepoint batch')
      try {
        const result = this.runBatch(statements)
        this.database.run('release batch')
        return result
      } catch (error) {
        // A full disk ends the whole transaction: nothing in it is valid.
        if (!this.database.inTransaction) throw error
        this.database.run('rollback to batch; release batch')
        return { error }
      }
    })
  }

  private transact<Result>(work: () => Result): Result {
    this.begin.run()
    try {
      const result = work()
      this.end.run()
      return result
    } catch (error) {
      if (this.database.inTransaction) this.database.run('rollback')
      throw error
    }
  }
}

function read(statement: Prepared, parameters: Statement['parameters']): Row[] {
  const rows = statement.all(bindingsOf(parameters)) as Row[]
  for (const row of rows) makeExact(row)
  return rows
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
  const smallRows = /^create table .*(text primary key|primary key \((key_id|span))/s.test(text)
  return smallRows ? `${text} without rowid` : text
}

/** Replaces integers beyond 2^53, which a number cannot hold exactly, or throws. */
function makeExact(row: Row): void {
  for (const name in row) {
    const value = row[name]
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      row[name] = exactInteger(name, value)
    }
  }
}

/** Whether the error is a temporary fault of the disk or of another process. All others are errors in our SQL. */
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
