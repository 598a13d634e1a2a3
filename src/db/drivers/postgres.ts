// PostgreSQL behind the database interface, for several nodes: a pool of connections, one transaction per batch. It must never
// leave a transaction open between calls.

import type { ReservedSQL, SQL } from 'bun'
import {
  type BatchOptions,
  type BatchResult,
  batchOf,
  DatabaseUnavailable,
  type Db,
  exactInteger,
  type Guard,
  type Movement,
  type Row,
  type Statement,
  type Value,
} from '../db'
import { clearCodec, type RowCodec } from '../encryption/codec'
import { MovementGroups } from '../movements/groups'
import { MOVE_MONEY } from '../movements/records'
import { type SilenceWatch, watchSilence } from './hang-detector'
import { hangs, PostgresServers } from './postgres-servers'

const POOL_SIZE = 16
/** Connections of a command, which runs one query after another. */
const PATIENT_POOL_SIZE = 2
const CONNECT_TIMEOUT_SECONDS = 5
/** Maximum duration of a statement: its row locks make others wait. */
const STATEMENT_TIMEOUT_MS = 5_000
const NO_TIMEOUT = 0
/** When work that can be given up is refused if it has no answer: a connection and a statement have reached their limits by then. */
const LATE_MS = 10_000
/** Maximum time in which a pending query gets no answer. A few statements in one transaction take less. */
const SILENCE_MS = 20_000
/** Maximum time without an answer if statements have no limit: a change of the schema takes long on a large database. */
const PATIENT_SILENCE_MS = 3_600_000
/** How often a transaction is retried after conflicts with others; all the pauses together take about a second. */
const MAX_ATTEMPTS = 16
const FIRST_PAUSE_MS = 4
const MAX_PAUSE_MS = 250
/** Limits of a transaction if a pooler gives it a session that others have used. */
const LIMIT_LOCKS = `set_config('lock_timeout', '${STATEMENT_TIMEOUT_MS}', true)`
const LIMITS: Statement = {
  sql: `select ${LIMIT_LOCKS} as locks, set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', true) as statements`,
}
const MOVE = `${MOVE_MONEY}($1, $2, $3, $4) as answer`
const MOVE_AT_ONCE = `select ${MOVE}`
const MOVE_IN_TIME = `select ${LIMIT_LOCKS} as locks, ${MOVE}`
/** Rows, and the number of rows that were read or changed. */
type ResultRows = Record<string, Value | bigint>[] & { count: number }

class Missed extends Error {
  constructor(readonly guard: Guard) {
    super('a guarded statement hit no row')
  }
}

interface PostgresOptions {
  /** For commands: the pool is small, and statements have no time limit except for locks. */
  patient?: boolean
  /** For read-only use: the server refuses changes. */
  readonly?: boolean
  codec?: RowCodec
  /** How long the server may stay silent while a query is pending, before it counts as gone. */
  silenceMs?: number
}

/** Running work that can be given up at any time: queries, and changes that may be late. */
class PendingWork {
  private readonly refusals = new Set<(error: unknown) => void>()

  constructor(private readonly late: SilenceWatch) {}

  /** Resolves and rejects as the work does, unless it is refused before: with all others, or because it has no answer. */
  add<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.refusals.add(reject)
      this.late
        .during(work, () => reject(unavailable(hangs())))
        .then(resolve, reject)
        .finally(() => this.refusals.delete(reject))
    })
  }

  refuse(error: unknown): void {
    for (const reject of this.refusals) reject(error)
  }
}

/** Opens a pool. */
export function openPostgres(url: string, options: PostgresOptions = {}): Db {
  const { patient = false, readonly = false, codec = clearCodec } = options
  const { silenceMs = patient ? PATIENT_SILENCE_MS : SILENCE_MS } = options
  const late = watchSilence(patient ? PATIENT_SILENCE_MS : LATE_MS)
  const abandonable = new PendingWork(late)
  const servers = openServers(url, { patient, readonly, silenceMs }, () => {
    // Nothing is sent to a vendor for them. Other changes wait, because they may already have been applied.
    const error = unavailable(hangs())
    abandonable.refuse(error)
    groups.refuseHolds(error)
  })

  /** Time limits that a dedicated session would have. */
  const limits = servers.isPooled && !patient ? LIMITS : undefined
  async function batch(statements: readonly Statement[], options?: BatchOptions): Promise<BatchResult> {
    if (options?.mayBeLate) return abandonable.add(() => batch(statements))
    try {
      return await commit(db, () =>
        servers.use((connection, answered) => transact(connection, statements, limits, answered)),
      )
    } catch (error) {
      if (error instanceof Missed) return { missed: error.guard }
      throw unavailable(error)
    }
  }

  /** False if the function is missing or not allowed: then each movement is a transaction of its own. */
  let hasFunction = true
  const groups = new MovementGroups({
    async call({ names, ends, holds, singles }) {
      const call = {
        sql: limits ? MOVE_IN_TIME : MOVE_AT_ONCE,
        parameters: [names, ends, holds, singles],
      }
      try {
        const send = () => commit(db, () => servers.useForGroup((connection) => run(connection, call)))
        const [row] = (await late.during(send, () => groups.refuseHolds(unavailable(hangs())))).found
        return row?.answer as string
      } catch (error) {
        if (isUnsupported(error)) hasFunction = false
        throw error
      }
    },
    isRefused: (error) => errnoOf(error) !== '' && !isPassing(error),
    translate: unavailable,
    moveAlone: (movement) => batch(batchOf(movement), waitOf(movement)),
  })

  const db: Db = {
    kind: 'postgres',
    codec,
    async query(statement) {
      try {
        const read = () => repeated(() => servers.read((pool) => run(pool, statement)))
        return (await abandonable.add(read)).found
      } catch (error) {
        throw unavailable(error)
      }
    },
    batch,
    move: (movement) => (hasFunction ? groups.add(movement) : batch(batchOf(movement), waitOf(movement))),
    losses: () => servers.losses,
    isReplaced: () => servers.isReplaced,
    async close() {
      await groups.whenIdle()
      await servers.close(CONNECT_TIMEOUT_SECONDS)
    },
  }
  return db
}

/** The hold of a refused request is undone, whether it was applied or not. */
function waitOf({ kind }: Movement): BatchOptions {
  return { mayBeLate: kind === 'hold' }
}

/** `onHang` is called only if statements have a time limit. */
function openServers(
  url: string,
  { patient, readonly, silenceMs }: { patient: boolean; readonly: boolean; silenceMs: number },
  onHang: () => void,
): PostgresServers {
  return new PostgresServers(url, {
    poolSize: patient ? PATIENT_POOL_SIZE : POOL_SIZE,
    connectTimeoutSeconds: CONNECT_TIMEOUT_SECONDS,
    silenceMs,
    session: {
      statement_timeout: patient ? NO_TIMEOUT : STATEMENT_TIMEOUT_MS,
      lock_timeout: STATEMENT_TIMEOUT_MS,
      ...(readonly && { default_transaction_read_only: 1 }),
    },
    ...(!patient && { onHang }),
  })
}

/**
 * Runs statements in one transaction. Throws if a guard misses, so that nothing is changed. A server that answers one statement
 * after the other is not silent, however long the transaction takes.
 */
async function transact(
  connection: ReservedSQL,
  statements: readonly Statement[],
  before: Statement | undefined,
  answered: () => void,
): Promise<{ rows: Row[][] }> {
  const [only] = statements
  // A single statement is a transaction by itself, without the round trips that begin and end one.
  if (only && statements.length === 1 && !before) {
    const { hits, found } = await run(connection, only)
    if (only.guard && hits === 0) throw new Missed(only.guard)
    return { rows: [found] }
  }
  return connection.begin(async (transaction) => {
    if (before) await run(transaction, before)
    const rows: Row[][] = []
    for (const statement of statements) {
      const { hits, found } = await run(transaction, statement)
      answered()
      if (statement.guard && hits === 0) throw new Missed(statement.guard)
      rows.push(found)
    }
    return { rows }
  })
}

async function run(connection: { unsafe: SQL['unsafe'] }, statement: Statement) {
  const rows = (await connection.unsafe(statement.sql, [...(statement.parameters ?? [])])) as ResultRows
  return { hits: rows.count, found: rows.map(toRow) }
}

/** Runs a transaction, and returns its duration. */
async function commit<Result>(db: Db, work: () => Promise<Result>): Promise<Result> {
  const at = db.onCommit && performance.now()
  const result = await repeated(work)
  if (at !== undefined) db.onCommit?.(performance.now() - at)
  return result
}

/** Repeats a transaction that the server aborted in favour of another, after a growing pause. */
async function repeated<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !/^40(001|P01)$/.test(errnoOf(error))) throw error
      await Bun.sleep(Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt))
    }
  }
}

/** A row with numbers instead of the bigints that PostgreSQL returns; all of ours are exact as numbers. */
export function toRow(row: Record<string, Value | bigint>): Row {
  const result: Row = {}
  for (const [name, value] of Object.entries(row)) {
    result[name] = typeof value === 'bigint' ? exactInteger(name, value) : value
  }
  return result
}

/** Maps lost connections, time-outs and server shutdowns to DatabaseUnavailable. Errors in our SQL stay unchanged. */
function unavailable(error: unknown): unknown {
  if (!isPassing(error)) return error
  return new DatabaseUnavailable(`PostgreSQL: ${(error as Error).message}`, { cause: error })
}

function isPassing(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  const isLost = /^(ERR_POSTGRES_(CONNECTION|IDLE|LIFETIME|.*TIMEOUT)|ECONN)/.test(code)
  return isLost || /^(08|53|57|40|55|25006)/.test(errnoOf(error))
}

/** SQLSTATEs: not allowed, not supported, undefined function, undefined object. */
const UNSUPPORTED = /^(42501|0A000|42883|42704)$/

/** Whether the server lacks something, such as functions or partitions, or does not allow the user to use or create it. */
export function isUnsupported(error: unknown): boolean {
  return UNSUPPORTED.test(errnoOf(error))
}

/** The SQLSTATE of an error that the server has reported; empty for others. */
function errnoOf(error: unknown): string {
  return String((error as { errno?: string }).errno ?? '')
}
