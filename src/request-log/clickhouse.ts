// The request log in ClickHouse, over its HTTP interface (https://clickhouse.com/docs/interfaces/http). A batch that may
// have arrived is sent once more, so rows of one id are one: the table replaces, and answers take one of each. Values
// go as parameters, never into a query.

import type { ClickHouseConfig } from '../config/log'
import { DatabaseUnavailable } from '../db/db'
import type { Origin, Transport } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'
import {
  EQUAL_COLUMNS,
  FAILED,
  metadataText,
  type RequestFilter,
  type RequestPage,
  statusRange,
  timeOfId,
  UnknownCursor,
} from './filter'
import type { RequestStore } from './request-log'
import { COLUMNS, type LoggedRequest, type RequestLogRow, valuesOf } from './row'

const TIMEOUT_MS = 10_000
const ATTEMPTS = 3
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
/** How far the clock that made an id may be from the gateway's, in milliseconds. */
const CLOCKS_MS = 3_600_000

interface Parts {
  keepMs: number
  transport: Transport
}

export async function openClickHouse(
  config: ClickHouseConfig,
  { keepMs, transport }: Parts,
): Promise<RequestStore> {
  const server = new ClickHouse(config, transport)
  const { table = 'request_log' } = config
  await server.run(tableOf(table, keepMs))
  // A table of an earlier version has them not.
  for (const column of [
    'metadata Nullable(String)',
    'quantities Nullable(String)',
    'upstream_key Nullable(Int64)',
  ])
    await server.run(`alter table ${table} add column if not exists ${column}`)
  return {
    insert: (rows) => server.run(`insert into ${table} format JSONEachRow`, {}, linesOf(rows)).then(() => {}),
    async list(filter, { limit, after }): Promise<RequestPage> {
      const { where, values } = conditionsOf(filter, after)
      const sql = `select * from ${table} ${where} order by at desc, id desc limit 1 by id limit ${limit + 1}`
      const rows = await server.rows(sql, values)
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      return { rows: shown, next: rows.length > limit && last ? `${last.at}.${last.id}` : null, looked: null }
    },
    async find(id) {
      const at = timeOfId(id)
      const near = at === undefined ? '' : 'and at >= {from:Int64} and at < {to:Int64}'
      const times = at !== undefined && { from: String(at - CLOCKS_MS), to: String(at + CLOCKS_MS) }
      const values = { id, ...times }
      const [row] = await server.rows(`select * from ${table} where id = {id:String} ${near} limit 1`, values)
      return row
    },
    // The table forgets by itself.
    async trim() {},
    async close() {
      server.close()
    },
  }
}

/** Rows in the order of their time; whole days are dropped. */
function tableOf(table: string, keepMs: number): string {
  const columns = COLUMNS.map(([name, type]) => `${name} ${typeOf(name, type)}`).join(', ')
  return `create table if not exists ${table} (${columns}) engine = ReplacingMergeTree
    partition by toYYYYMMDD(fromUnixTimestamp64Milli(at)) order by (at, id)
    ttl toDateTime(fromUnixTimestamp64Milli(at)) + interval ${Math.ceil(keepMs / 1000)} second
    settings ttl_only_drop_parts = 1`
}

function typeOf(name: string, type: 'text' | 'bigint'): string {
  const base = type === 'text' ? 'String' : 'Int64'
  return name === 'id' || name === 'at' ? base : `Nullable(${base})`
}

function linesOf(rows: readonly RequestLogRow[]): string {
  const line = (row: RequestLogRow) => {
    const values = valuesOf(row)
    return JSON.stringify(Object.fromEntries(COLUMNS.map(([name], index) => [name, values[index]])))
  }
  return rows.map(line).join('\n')
}

function conditionsOf(filter: RequestFilter, after: string | undefined) {
  const values: Record<string, string> = {}
  const conditions: string[] = []
  for (const [name, column] of EQUAL_COLUMNS) {
    const value = filter[name]
    if (value === undefined) continue
    values[column] = value
    conditions.push(`${column} = {${column}:String}`)
  }
  if (filter.metadata !== undefined) {
    values.metadata = metadataText(filter.metadata)
    conditions.push('position(metadata, {metadata:String}) > 0')
  }
  const range = filter.status === undefined ? undefined : statusRange(filter.status)
  if (filter.status === FAILED) conditions.push('(status >= 400 or error_code is not null)')
  if (range) conditions.push(`status between ${range[0]} and ${range[1]}`)
  if (filter.since !== undefined) conditions.push(`at >= ${Math.floor(filter.since)}`)
  if (filter.until !== undefined) conditions.push(`at < ${Math.floor(filter.until)}`)
  if (after !== undefined) {
    const [, at, id] = /^(\d{1,15})\.(\S{1,64})$/.exec(after) ?? []
    if (at === undefined || id === undefined) throw new UnknownCursor()
    values.after_id = id
    conditions.push(`(at, id) < (${at}, {after_id:String})`)
  }
  return { where: conditions.length > 0 ? `where ${conditions.join(' and ')}` : '', values }
}

class ClickHouse {
  private readonly origin: Origin
  private readonly basePath: string
  private readonly headers: Readonly<Record<string, string>>
  private readonly database: string

  constructor({ url, database = 'default', user, password }: ClickHouseConfig, transport: Transport) {
    this.origin = transport.open(url)
    this.basePath = new URL(url).pathname
    this.database = database
    this.headers = {
      'content-type': 'text/plain',
      ...(user !== undefined && { 'x-clickhouse-user': user }),
      ...(password !== undefined && { 'x-clickhouse-key': password }),
    }
  }

  async rows(sql: string, values: Readonly<Record<string, string>>): Promise<LoggedRequest[]> {
    const text = await this.run(`${sql} format JSON`, values)
    return (JSON.parse(text) as { data: LoggedRequest[] }).data
  }

  /** Runs a statement, again if the server cannot be reached or fails. `body` are the rows of an insert. */
  async run(sql: string, values: Readonly<Record<string, string>> = {}, body = ''): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.attempt(sql, values, body)
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || attempt === ATTEMPTS) throw error
      }
    }
  }

  close(): void {
    this.origin.close()
  }

  private async attempt(
    sql: string,
    values: Readonly<Record<string, string>>,
    body: string,
  ): Promise<string> {
    const search = new URLSearchParams({
      query: sql,
      database: this.database,
      // Numbers as numbers: all of ours are exact.
      output_format_json_quote_64bit_integers: '0',
      ...Object.fromEntries(Object.entries(values).map(([name, value]) => [`param_${name}`, escaped(value)])),
    })
    const signal = new CancelToken()
    const timer = setTimeout(() => signal.abort(new Error('no answer in 10 s')), TIMEOUT_MS)
    try {
      const response = await this.origin.send({
        method: 'POST',
        path: `${this.basePath}?${search}`,
        headers: this.headers,
        body,
        signal: signal.signal,
      })
      const text = Buffer.from(await response.body.bytes(MAX_ANSWER_BYTES)).toString()
      if (response.ok) return text
      const reason = `ClickHouse: HTTP ${response.status}: ${text.slice(0, 300)}`
      throw response.status >= 500 ? new DatabaseUnavailable(reason) : new Error(reason)
    } catch (error) {
      if (
        error instanceof DatabaseUnavailable ||
        (error instanceof Error && /^ClickHouse/.test(error.message))
      )
        throw error
      throw new DatabaseUnavailable(`ClickHouse: ${String(error)}`, { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }
}

/** A value of a parameter in the form that the server reads: backslashes and control characters are escaped. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n')
}
