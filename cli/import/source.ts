// The database of another gateway, opened for reading: a SQLite file, a MySQL dump, or a PostgreSQL or MySQL URL. It must never be
// written to, and its URL, which may contain a password, must never be shown.

import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { type ReservedSQL, SQL } from 'bun'
import { LAST_TIME } from '../../src/db/iso-time'
import { lineOf } from '../../src/lib/error-line'
import { CommandFailed } from '../lib/errors'
import { isDump, openDump } from './dump'

export type SourceRow = Readonly<Record<string, unknown>>

/** The other gateway may keep serving while it is read: all rows belong to one snapshot. */
export interface SourceDatabase {
  /** All rows of a table in the order of a column; empty if there is no such table, unless it must exist. */
  rows(table: string, orderBy: string, need?: 'needed'): Promise<SourceRow[]>
  close(): Promise<void>
}

const ADDRESS = /^(postgres(ql)?|mysql|mariadb):\/\//

export function openSource(place: string): SourceDatabase {
  return ADDRESS.test(place) ? openServer(place) : openFile(place)
}

function without(table: string, need: 'needed' | undefined): SourceRow[] {
  if (!need) return []
  throw new CommandFailed(`This is not a database of that gateway: it has no table ${table}.`)
}

function openFile(file: string): SourceDatabase {
  if (!existsSync(file))
    throw new CommandFailed(
      `There is no file ${file}. Give the SQLite file of the other gateway, a dump of its MySQL, or its URL: postgres://… or mysql://…`,
    )
  if (isDump(file)) return openDump(file, without)
  const database = new Database(file, { readonly: true, safeIntegers: false })
  return {
    async rows(table, orderBy, need) {
      try {
        if (!database.inTransaction) database.run('begin')
        const known = database.query('select 1 from sqlite_master where name = ?').get(table)
        if (!known) return without(table, need)
        return database.query(`select * from "${table}" order by "${orderBy}"`).all() as SourceRow[]
      } catch (error) {
        if (error instanceof CommandFailed) throw error
        throw new CommandFailed(`${file} cannot be read as a SQLite database: ${lineOf(error)}.`)
      }
    },
    async close() {
      database.close()
    },
  }
}

/** The statement that begins a snapshot in which nothing can be written, the condition for tables of the address, and quotes of names. */
const SERVERS = {
  postgres: {
    begin: 'begin isolation level repeatable read read only',
    own: 'table_schema = any (current_schemas(false))',
    quote: '"',
  },
  mysql: {
    begin: 'start transaction with consistent snapshot, read only',
    own: 'table_schema = database()',
    quote: '`',
  },
} as const

/**
 * The connection to an address. As in the programs of MySQL and PostgreSQL, TLS is used if the server offers it, unless the URL
 * says otherwise.
 */
function connectTo(address: string): SQL {
  const url = URL.parse(address)
  if (!url)
    throw new CommandFailed(
      'This is not the address of a database: write characters of its password such as # and / as %23 and %2F.',
    )
  const allowPublicKeyRetrieval = url.searchParams.get('allowPublicKeyRetrieval') === 'true'
  const saysHow = [...url.searchParams.keys()].some((name) => /^(ssl|tls)/i.test(name))
  if (!saysHow) url.searchParams.set('sslmode', 'prefer')
  return new SQL(url.href, { max: 1, allowPublicKeyRetrieval })
}

/**
 * Texts for errors whose own text does not help. MySQL 8 signs in with `caching_sha2_password`: on an unencrypted connection the
 * password is encrypted with a key that the server sends, which anybody in between could replace.
 */
const ADVICE: Readonly<Record<string, string>> = {
  ERR_MYSQL_PUBLIC_KEY_RETRIEVAL_NOT_ALLOWED:
    'the server takes a password over TLS only, and this connection has none. Switch TLS on there, or add ?allowPublicKeyRetrieval=true to the address where the network is trusted',
  ERR_MYSQL_AUTHENTICATION_FAILED:
    'it refused the sign-in. Where the address asks for TLS, the server may not offer it',
}

function openServer(address: string): SourceDatabase {
  const database = connectTo(address)
  const { begin, own, quote } = SERVERS[address.startsWith('postgres') ? 'postgres' : 'mysql']
  const quoted = (name: string) => `${quote}${name}${quote}`
  let snapshot: Promise<ReservedSQL> | undefined
  async function beginSnapshot(): Promise<ReservedSQL> {
    const connection = await database.reserve()
    await connection.unsafe(begin)
    return connection
  }
  return {
    async rows(table, orderBy, need) {
      try {
        snapshot ??= beginSnapshot()
        const connection = await snapshot
        const known = await connection.unsafe(
          `select 1 as known from information_schema.tables where table_name = '${table}' and ${own} limit 1`,
        )
        if (known.length === 0) return without(table, need)
        return await connection.unsafe(`select * from ${quoted(table)} order by ${quoted(orderBy)}`)
      } catch (error) {
        if (error instanceof CommandFailed) throw error
        throw new CommandFailed(`The other gateway's database cannot be read: ${hidden(error, address)}.`)
      }
    },
    close: () => database.close({ timeout: 0 }),
  }
}

/** An error with advice, and without the password in the URL. */
function hidden(error: unknown, address: string): string {
  const password = URL.parse(address)?.password
  const text = ADVICE[(error as { code?: string }).code ?? ''] ?? lineOf(error)
  return password ? text.replaceAll(decodeURIComponent(password), '…').replaceAll(password, '…') : text
}

/** The text of a column; empty if it has none. */
export function textIn(row: SourceRow, column: string): string {
  const value = row[column]
  return value === null || value === undefined ? '' : String(value).trim()
}

/** The number of a column; undefined if it has none. */
export function numberIn(row: SourceRow, column: string): number | undefined {
  const value = row[column]
  if (value === null || value === undefined || value === '') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

/** The switch of a column: SQLite and MySQL write numbers. */
export function isIn(row: SourceRow, column: string): boolean {
  const value = row[column]
  return value === true || value === 1 || value === 1n || value === '1' || value === 't' || value === 'true'
}

/** The time in a column in milliseconds since 1970; null if it is empty, or after the year 9999, which means never. */
export function timeIn(row: SourceRow, column: string): number | null {
  const value = row[column]
  return knownTime(value instanceof Date ? value.getTime() : Date.parse(utc(String(value ?? ''))))
}

/** The time in a column of seconds since 1970; null as in `timeIn`, and for values up to 0. */
export function secondsIn(row: SourceRow, column: string): number | null {
  const seconds = numberIn(row, column) ?? 0
  return seconds > 0 ? knownTime(Math.trunc(seconds * 1_000)) : null
}

function knownTime(at: number): number | null {
  return Math.abs(at) <= LAST_TIME ? at : null
}

/** A time without a zone is in UTC. */
function utc(text: string): string {
  return /\d{2}:\d{2}(:[\d.]+)?$/.test(text) ? `${text.replace(' ', 'T')}Z` : text
}

/** The JSON in a column, which some databases return parsed. */
export function jsonIn(row: SourceRow, column: string): unknown {
  const value = row[column]
  if (typeof value !== 'string') return value ?? undefined
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

/** The texts in a column: a PostgreSQL list, JSON, or words separated by commas. */
export function listIn(row: SourceRow, column: string): string[] {
  const value = jsonIn(row, column) ?? row[column]
  if (Array.isArray(value)) return value.map(String)
  const text = textIn(row, column).replaceAll(/^\{|\}$/g, '')
  return text.split(',').flatMap((word) => word.trim().replaceAll('"', '') || [])
}
