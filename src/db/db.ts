// The interface between the gateway and its database: one function reads, one changes, never in an interactive transaction. SQL is
// written in the file that owns its meaning and is the same for every database: integers and text, $1 parameters in order,
// `returning` only if the rows are needed, because they cost time.

import type { RowCodec } from './encryption/codec'

export type Value = string | number | null
export type Row = Record<string, Value>

/**
 * Columns whose numbers are compared and never summed: times, and the limits of keys and accounts. A value beyond 2^53 means never,
 * or no limit.
 */
const COMPARED = /^(at|\w+_at|requests_per_minute|tokens_per_minute|concurrency|budget|account_budget)$/

/**
 * An integer of a row as a number. A value beyond 2^53, which a number cannot hold exactly, becomes the largest exact number if it
 * is only compared: one such row must not hide the others. Throws a RangeError for all others, such as money.
 */
export function exactInteger(column: string, value: number | bigint): number {
  const number = Number(value)
  if (Math.abs(number) <= Number.MAX_SAFE_INTEGER) return number
  if (!COMPARED.test(column)) throw new RangeError(`${column} is too large: ${value}`)
  return number > 0 ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER
}

export interface Statement {
  sql: string
  parameters?: readonly Value[]
  /**
   * Requires at least one row to be affected, or the whole batch is undone: the statement contains the state that the change
   * expects. A text is the name that is reported if none is affected; `true` is for a guard that no caller has to distinguish.
   */
  guard?: boolean | string
  /** Data that the server's function for movements reads instead, by the names of its columns. */
  columns?: Columns
}

export type Columns = Record<string, Value | boolean>

/** The rows of each statement, or the guard of the statement that affected no row (then nothing was changed). */
export type BatchResult = { rows: Row[][] } | { missed: Guard }

export type Guard = NonNullable<Statement['guard']>

/**
 * A change of money: a batch of statements, and the same as data, for a database that applies all simultaneous movements together.
 * Each is still applied entirely or not at all, by itself.
 */
export interface Movement {
  /** The list in which the server's function receives it. Others run as statements, in the same call. */
  kind: 'hold' | 'end' | 'other'
  /** The account whose row is locked for it. */
  account: string
  /** Data that the function reads, by the names of its columns. Called only for a database with such a function. */
  columns(): Columns
  /** Equivalent statements, without `also`. The function returns the same results. */
  statements(): Statement[]
  /** Additional statements that are executed with it or not at all. */
  also: readonly Statement[]
}

export interface BatchOptions {
  /**
   * True if the change is harmless even if it is applied after it was refused. Then there is no waiting for a hanging server: a
   * request that has sent nothing to a vendor is refused at once.
   */
  mayBeLate?: boolean
}

export interface Db {
  kind: 'sqlite' | 'postgres'
  /** For columns that a copy of the database must not reveal: texts are encoded when written, and decoded when read. */
  codec: RowCodec
  /** Reads rows. */
  query(statement: Statement): Promise<Row[]>
  /** Changes rows: all statements in order and in one transaction, durable when the promise resolves. */
  batch(statements: readonly Statement[], options?: BatchOptions): Promise<BatchResult>
  /**
   * Moves money: like `batch` with the statements of the movement. Of the returned rows, only the amount that an end paid is
   * guaranteed. A hold without other statements survives the end of the process at once, and a power failure after the next end or
   * batch.
   */
  move(movement: Movement): Promise<BatchResult>
  /**
   * Rewrites the file so that it contains nothing of deleted or replaced data. It blocks the process meanwhile; absent if a server
   * has the files.
   */
  compact?(): Promise<void>
  /**
   * How often the connection to the server was lost. The server that answers now may be a replica that lacks the last changes, so
   * cached rows must be read again. Absent for a file, whose rows cannot disappear.
   */
  losses?(): number
  /**
   * Whether the only available servers are older than one that this process has used. It never uses them: only a new process does,
   * which has not seen the newer one. Absent if there are no servers.
   */
  isReplaced?(): boolean
  /** Called with the milliseconds of each commit; absent without measurement. */
  onCommit?: (milliseconds: number) => void
  close(): Promise<void>
}

/** Thrown if the database cannot accept a change now: disk full, connection lost. Nothing was changed. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
}

/** A movement as a batch of statements. */
export function batchOf({ statements, also }: Movement): Statement[] {
  return append(statements(), also)
}

/** Adds statements to the end of a list, and returns that list. A spread of the list, mostly empty, would copy it twice. */
export function append(statements: Statement[], also: readonly Statement[]): Statement[] {
  for (const statement of also) statements.push(statement)
  return statements
}

/** A database that calls back for each transaction that it has written. */
export function notifyingDb(db: Db, onWrite: () => void): Db {
  const reported = async (writing: Promise<BatchResult>) => {
    const result = await writing
    if ('rows' in result) onWrite()
    return result
  }
  return {
    ...db,
    get kind() {
      return db.kind
    },
    batch: (statements, options) => reported(db.batch(statements, options)),
    move: (movement) => reported(db.move(movement)),
  }
}

/** A database that is read through `reader` until the first change: then it is opened for writing. */
export function writableOnDemand(reader: Db, openToWrite: () => Promise<Db>): Db {
  let opening: Promise<Db> | undefined
  let current = reader
  const writer = () => {
    opening ??= openToWrite().then(async (db) => {
      current = db
      await reader.close()
      return db
    })
    return opening
  }
  return {
    get kind() {
      return current.kind
    },
    codec: reader.codec,
    query: (statement) => current.query(statement),
    batch: async (statements, options) => (await writer()).batch(statements, options),
    move: async (movement) => (await writer()).move(movement),
    compact: async () => (await writer()).compact?.(),
    async close() {
      await opening?.catch(() => {})
      await current.close()
    },
  }
}

/** Runs changes that have no guard, like `batch`. Returns the rows of each statement. */
export async function apply(
  db: Db,
  statements: readonly Statement[],
  options?: BatchOptions,
): Promise<Row[][]> {
  const result = await db.batch(statements, options)
  if ('missed' in result) throw new Error(`a statement with the guard ${result.missed} hit no row`)
  return result.rows
}

/** Runs changes that may be too late, like `batch`. False if a guard affected no row: then nothing was changed. */
export async function tryApply(
  db: Db,
  statements: readonly Statement[],
  options?: BatchOptions,
): Promise<boolean> {
  return 'rows' in (await db.batch(statements, options))
}
