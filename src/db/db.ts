// The seam between the gateway and its database: one function reads, one changes, never in an interactive transaction.
// SQL stands in the file whose meaning it is and is the same for every database: integers and text, $1 parameters in
// order, `returning` only where the rows are wanted, because they cost time.

export type Value = string | number | null
export type Row = Record<string, Value>

export interface Statement {
  sql: string
  parameters?: readonly Value[]
  /** Must hit at least one row, or the whole batch is undone: it names the state that the change expects. */
  guard?: boolean
}

/** The rows of each statement, or the index of the guarded statement that hit no row (then nothing was changed). */
export type BatchResult = { rows: Row[][] } | { missed: number }

export interface Db {
  kind: 'sqlite' | 'postgres'
  /** Reads. */
  query(statement: Statement): Promise<Row[]>
  /** Changes rows: all statements in order and in one transaction, durable when the promise resolves. */
  batch(statements: readonly Statement[]): Promise<BatchResult>
  close(): Promise<void>
}

/** The database cannot take a change now: disk full, connection lost. Nothing was changed. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable'
}

/** Like `batch`, for changes without a guard. */
export async function apply(db: Db, statements: readonly Statement[]): Promise<Row[][]> {
  const result = await db.batch(statements)
  if ('missed' in result) throw new Error(`statement ${result.missed} hit no row`)
  return result.rows
}

/** Like `batch`, for changes that may come too late. False when a guard hit no row: then nothing was changed. */
export async function tryApply(db: Db, statements: readonly Statement[]): Promise<boolean> {
  return 'rows' in (await db.batch(statements))
}
