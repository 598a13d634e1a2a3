// The request log in PostgreSQL, for all nodes together: one partition a day, so that old days are dropped as a whole. A
// batch of rows is one statement. Its tables are no part of the numbered schema, because they can be lost without harm.

import type { Db, Statement, Value } from '../db/db'
import {
  EQUAL_COLUMNS,
  type PageWish,
  type RequestFilter,
  type RequestPage,
  statusRange,
  UnknownCursor,
} from './filter'
import type { RequestReader, RequestStore } from './request-log'
import { COLUMNS, type LoggedRequest, type RequestLogRow, valuesOf } from './row'

const DAY_MS = 86_400_000
const NAMES = COLUMNS.map(([name]) => name).join(', ')

/** The tables. `number` tells the order in which rows were stored. */
const TABLES = [
  'create sequence if not exists request_log_numbers',
  `create table if not exists request_log (number bigint not null default nextval('request_log_numbers'),
    ${COLUMNS.map((column) => column.join(' ')).join(', ')})
    partition by range (at)`,
  'create index if not exists request_log_by_number on request_log (number)',
  'create index if not exists request_log_by_id on request_log (id)',
  'create index if not exists request_log_failed on request_log (number) where status >= 400',
  ...EQUAL_COLUMNS.map(
    ([, column]) => `create index if not exists request_log_of_${column} on request_log (${column}, number)`,
  ),
]

const INSERT = `insert into request_log (${NAMES})
  select ${COLUMNS.map(([, type], index) => `cast(value ->> ${index} as ${type})`).join(', ')}
  from jsonb_array_elements(cast(cast($1 as text) as jsonb)) as rows (value)`

export async function openPartitions(db: Db, keepMs: number, now: number): Promise<RequestStore> {
  await createTables(db, now)
  return {
    async insert(rows) {
      const statement = { sql: INSERT, parameters: [JSON.stringify(rows.map(valuesOf))] }
      try {
        await db.batch([statement])
      } catch (error) {
        if (!isWithoutPartition(error)) throw error
        await createDays(db, daysOf(rows))
        await db.batch([statement])
      }
    },
    async trim(now) {
      await createDays(db, [dayOf(now), dayOf(now + DAY_MS)])
      await dropBefore(db, dayOf(now - keepMs))
    },
    ...readPartitions(db),
  }
}

/** Reads the tables; an empty log if there are none yet. */
export function readPartitions(db: Db): RequestReader {
  const isThere = async () => {
    const [row] = await db.query({ sql: `select to_regclass('request_log') is not null as found` })
    return Boolean(row?.found)
  }
  return {
    list: async (filter, wish) =>
      (await isThere()) ? listRows(db, filter, wish) : { rows: [], next: null, looked: null },
    async find(id) {
      if (!(await isThere())) return undefined
      const sql = `select ${NAMES} from request_log where id = $1 limit 1`
      const [row] = await db.query({ sql, parameters: [id] })
      return row as LoggedRequest | undefined
    },
    // The database belongs to the gateway.
    async close() {},
  }
}

async function createTables(db: Db, now: number): Promise<void> {
  const statements = TABLES.map((sql) => ({ sql }))
  // Nodes that start at once can collide here in spite of `if not exists`. The second try then finds the tables.
  await db.batch(statements).catch(() => db.batch(statements))
  await createDays(db, [dayOf(now), dayOf(now + DAY_MS)])
}

/** The day of a time, counted since 1970. */
function dayOf(at: number): number {
  return Math.floor(at / DAY_MS)
}

function daysOf(rows: readonly RequestLogRow[]): number[] {
  return [...new Set(rows.map(({ at }) => dayOf(at)))]
}

function nameOf(day: number): string {
  return `request_log_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`
}

async function createDays(db: Db, days: readonly number[]): Promise<void> {
  const existing = new Set(await partitionNames(db))
  for (const day of days) {
    if (existing.has(nameOf(day))) continue
    const sql = `create table if not exists ${nameOf(day)} partition of request_log
      for values from (${day * DAY_MS}) to (${(day + 1) * DAY_MS})`
    await db.batch([{ sql }]).catch(() => db.batch([{ sql }]))
  }
}

async function dropBefore(db: Db, day: number): Promise<void> {
  const oldest = nameOf(day)
  const old = (await partitionNames(db)).filter((name) => name < oldest)
  for (const name of old) await db.batch([{ sql: `drop table if exists ${name}` }])
}

async function partitionNames(db: Db): Promise<string[]> {
  const rows = await db.query({
    sql: `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = to_regclass('request_log')`,
  })
  return rows.map(({ name }) => String(name)).filter((name) => /^request_log_\d{8}$/.test(name))
}

/** Whether no partition takes a row: `check_violation`. */
function isWithoutPartition(error: unknown): boolean {
  return (error as { errno?: string }).errno === '23514'
}

async function listRows(db: Db, filter: RequestFilter, { limit, after }: PageWish): Promise<RequestPage> {
  const rows = (await db.query(selectionOf(filter, after, limit + 1))) as LoggedRequest[]
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { rows: shown, next: rows.length > limit && last ? String(last.number) : null, looked: null }
}

function selectionOf(filter: RequestFilter, after: string | undefined, limit: number): Statement {
  const parameters: Value[] = []
  const place = (value: Value) => `$${parameters.push(value)}`
  const conditions = EQUAL_COLUMNS.flatMap(([name, column]) => {
    const value = filter[name]
    return value === undefined ? [] : [`${column} = ${place(value)}`]
  })
  const range = filter.status === undefined ? undefined : statusRange(filter.status)
  // In figures, because a partial index is only used for a condition that the plan can read.
  if (range) conditions.push(`status >= ${range[0]} and status <= ${range[1]}`)
  if (filter.since !== undefined) conditions.push(`at >= ${place(filter.since)}`)
  if (filter.until !== undefined) conditions.push(`at < ${place(filter.until)}`)
  if (after !== undefined) {
    if (!/^\d{1,15}$/.test(after)) throw new UnknownCursor()
    conditions.push(`number < ${place(Number(after))}`)
  }
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  return {
    sql: `select number, ${NAMES} from request_log ${where} order by number desc limit ${limit}`,
    parameters,
  }
}
