// PostgreSQL behind the database interface, for several nodes: a pool of connections, one transaction for each batch.
// It must never leave a transaction open between calls.

import { SQL } from 'bun'
import { clearCodec } from './codec'
import { type BatchResult, DatabaseUnavailable, type Db, type Row, type Statement, type Value } from './db'

const POOL_SIZE = 16
const CONNECT_TIMEOUT_SECONDS = 5
/** Longest statement: row locks that it holds keep others waiting. */
const STATEMENT_TIMEOUT_MS = 5_000
const NO_TIMEOUT = 0

/** Rows, and how many were read or changed. */
type ResultRows = Record<string, Value | bigint>[] & { count: number }

class Missed extends Error {
  constructor(readonly index: number) {
    super('a guarded statement hit no row')
  }
}

/** Opens a pool. With `patient`, statements have no time limit, but still wait only a limited time for a lock. */
export function openPostgres(url: string, { patient = false, codec = clearCodec } = {}): Db {
  const sql = new SQL(url, {
    max: POOL_SIZE,
    bigint: true,
    connectionTimeout: CONNECT_TIMEOUT_SECONDS,
    connection: {
      statement_timeout: patient ? NO_TIMEOUT : STATEMENT_TIMEOUT_MS,
      lock_timeout: STATEMENT_TIMEOUT_MS,
    },
  })

  async function run(connection: { unsafe: SQL['unsafe'] }, statement: Statement) {
    const rows = (await connection.unsafe(statement.sql, [...(statement.parameters ?? [])])) as ResultRows
    return { hits: rows.count, found: rows.map(toRow) }
  }

  return {
    kind: 'postgres',
    codec,
    async query(statement) {
      try {
        return (await run(sql, statement)).found
      } catch (error) {
        throw unavailable(error)
      }
    },
    async batch(statements): Promise<BatchResult> {
      try {
        return await sql.begin(async (transaction) => {
          const rows: Row[][] = []
          for (const [index, statement] of statements.entries()) {
            const { hits, found } = await run(transaction, statement)
            if (statement.guard && hits === 0) throw new Missed(index)
            rows.push(found)
          }
          return { rows }
        })
      } catch (error) {
        if (error instanceof Missed) return { missed: error.index }
        throw unavailable(error)
      }
    },
    async close() {
      await sql.close({ timeout: CONNECT_TIMEOUT_SECONDS })
    },
  }
}

/** A row with numbers instead of the bigints that PostgreSQL returns; all of ours are exact as numbers. */
function toRow(row: Record<string, Value | bigint>): Row {
  const result: Row = {}
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === 'bigint' && !Number.isSafeInteger(Number(value))) {
      throw new RangeError(`${name} is too large: ${value}`)
    }
    result[name] = typeof value === 'bigint' ? Number(value) : value
  }
  return result
}

/** Maps lost connections, time-outs and server shutdowns to DatabaseUnavailable. Faults of our SQL stay as they are. */
function unavailable(error: unknown): unknown {
  const { code = '', errno = '' } = error as { code?: string; errno?: string }
  const passing =
    /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|.*TIMEOUT)|ECONN)/.test(code) || /^(08|53|57|40|55)/.test(errno)
  if (!passing) return error
  return new DatabaseUnavailable(`PostgreSQL: ${(error as Error).message}`, { cause: error })
}
