// Fresh databases for tests: SQLite files, and databases of a real PostgreSQL server.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import type { Db } from '../../../src/db/db'
import { openPostgres } from '../../../src/db/drivers/postgres'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { clearCodec } from '../../../src/db/encryption/codec'
import { migrate } from '../../../src/db/migrations'
import { whenTestsEnd } from '../ending'
import { type PostgresServer, startPostgres, TABLES, TEMPLATE } from './postgres'

export type DatabaseKind = Db['kind']
/** Databases of both kinds for tests; the quick tests omit PostgreSQL, which must be started. */
export const databaseKinds: readonly DatabaseKind[] = process.env.TEST_QUICK
  ? ['sqlite']
  : ['sqlite', 'postgres']

let administration: ReturnType<typeof openAdministration> | undefined

/** A folder that is removed when the tests end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  whenTestsEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * The URL of a new PostgreSQL database, empty unless another is copied, on the server of the whole run or on one that starts with
 * the first database. Statements have a limit of a minute there, unless their time limit is tested.
 */
export async function postgresUrl({ template = TEMPLATE } = {}): Promise<string> {
  administration ??= openAdministration()
  const { url, session } = await administration
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  // Copies files: writing the copy to the write-ahead log takes longer than the copy itself.
  await session.unsafe(`create database ${name} template ${template} strategy file_copy`)
  return new URL(name, url).href
}

/** One session for the databases of a test file: opening it takes a quarter of the time of a copy. */
async function openAdministration(): Promise<{ url: string; session: SQL }> {
  const url = process.env.TEST_POSTGRES_URL ?? (await startOwnServer()).url
  const session = new SQL(url, { max: 1 })
  whenTestsEnd(() => {
    administration = undefined
    return session.close()
  })
  return { url, session }
}

async function startOwnServer(): Promise<PostgresServer> {
  const server = await startPostgres(temporaryFolder())
  whenTestsEnd(() => server.stop())
  return server
}

/** The place of a new, empty database: the path of a SQLite file, or the address of a PostgreSQL database with few connections. */
export async function databaseAddress(kind: DatabaseKind): Promise<string> {
  return kind === 'sqlite'
    ? join(temporaryFolder(), 'gateway.sqlite')
    : withFewConnections(await postgresUrl())
}

/**
 * An address of PostgreSQL with a few connections: a pool opens all of its connections with its first statement, and each takes ten
 * milliseconds of processor time.
 */
export function withFewConnections(url: string): string {
  if (url.includes('connection_limit=')) return url
  // An address may name several servers, unlike a URL.
  return `${url}${url.includes('?') ? '&' : '?'}connection_limit=4`
}

/** Opens a SQLite file by its path, or a PostgreSQL database by its URL, with few connections. */
export function openAddress(address: string, codec = clearCodec): Db {
  return address.startsWith('postgres:')
    ? openPostgres(withFewConnections(address), { codec })
    : openSqlite(address, { codec })
}

/** A new database with the gateway's tables. */
export async function openTestDatabase(kind: DatabaseKind): Promise<Db> {
  if (kind === 'postgres') return openAddress(await postgresUrl({ template: TABLES }))
  const path = await databaseAddress(kind)
  await copyTables(path)
  return openAddress(path)
}

let tables: Promise<Uint8Array> | undefined

/**
 * Puts a copy of a SQLite database with the gateway's tables at a path: creating the tables takes thirty milliseconds each time.
 */
export async function copyTables(path: string): Promise<void> {
  tables ??= makeTables()
  writeFileSync(path, await tables, { mode: 0o600, flag: 'wx' })
}

async function makeTables(): Promise<Uint8Array> {
  const path = await databaseAddress('sqlite')
  const db = openSqlite(path)
  await migrate(db)
  await db.close()
  return readFileSync(path)
}
