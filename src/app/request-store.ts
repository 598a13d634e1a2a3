// Opens the store of request rows: PostgreSQL, or a file next to SQLite. For the server, and for commands that read
// what it has stored.

import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { keepRequestsMs, keptBodiesOf } from '../config/log'
import type { Config } from '../config/schema'
import type { Db } from '../db/db'
import { openSqlite } from '../db/drivers/sqlite'
import type { Log } from '../lib/system'
import { BodyLog, findBodies, type KeptBodies } from '../request-log/bodies'
import { openPageFile, readPageFile } from '../request-log/page-file'
import { openPartitions, readPartitions } from '../request-log/partitions'
import type { RequestReader, RequestStore } from '../request-log/request-log'

export interface StoreParts {
  db: Db
  dataDir: string
}

export async function openRequestStore(
  { log }: Pick<Config, 'log'>,
  { db, dataDir }: StoreParts,
  now: number,
): Promise<RequestStore> {
  const keepMs = keepRequestsMs(log)
  if (db.kind === 'postgres') return openPartitions(db, keepMs, now)
  return openPageFile(openSqlite(renamedFile(dataDir), { durable: false, codec: db.codec }), keepMs)
}

/** Opens the rows for a command, which must not write to the database. */
export function openRequestReader({ db, dataDir }: StoreParts): RequestReader {
  if (db.kind === 'postgres') return readPartitions(db)
  const file = filesOf(dataDir).find(existsSync)
  if (file === undefined) return NO_ROWS
  return readPageFile(openSqlite(file, { durable: false, codec: db.codec, readonly: true }))
}

/** Opens the store of bodies; null unless it is configured. */
export async function openBodies(
  config: Pick<Config, 'log'>,
  { db, dataDir }: StoreParts,
  log: Log,
): Promise<BodyLog | null> {
  const limits = keptBodiesOf(config.log)
  if (!limits) return null
  return BodyLog.open(db.kind === 'postgres' ? db : openBodyFile(db, dataDir), limits, log)
}

/** The bodies of a request for a command; undefined if none are kept. */
export async function readBodies({ db, dataDir }: StoreParts, id: string): Promise<KeptBodies | undefined> {
  if (db.kind === 'postgres') return findBodies(db, id)
  if (!existsSync(bodyFile(dataDir))) return undefined
  const file = openBodyFile(db, dataDir, true)
  return findBodies(file, id).finally(() => file.close())
}

function openBodyFile({ codec }: Db, dataDir: string, readonly = false): Db {
  return openSqlite(bodyFile(dataDir), { durable: false, codec, readonly })
}

function bodyFile(dataDir: string): string {
  return join(dataDir, 'bodies.sqlite')
}

/** The log of a server that has never run. */
const NO_ROWS: RequestReader = {
  list: async () => ({ rows: [], next: null, looked: null }),
  find: async () => undefined,
  scan: async () => true,
  close: async () => {},
}

/** The file of the request log, and the name that it had before 1.0. */
function filesOf(dataDir: string): readonly [file: string, earlier: string] {
  return [join(dataDir, 'requests.sqlite'), join(dataDir, 'journal.sqlite')]
}

/**
 * The file of the request log, under its current name from now on. The log of the file is renamed first: if a process is killed
 * between two of these steps, the next one continues.
 */
function renamedFile(dataDir: string): string {
  const [file, earlier] = filesOf(dataDir)
  for (const end of existsSync(file) ? [] : ['-wal', '-shm', '']) {
    if (existsSync(earlier + end) && !existsSync(file + end)) renameSync(earlier + end, file + end)
  }
  return file
}
