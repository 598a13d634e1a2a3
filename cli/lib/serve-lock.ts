// Allows one server for each data directory. The lock belongs to the operating system, so it ends with a killed
// process. Checking the lock must never keep a server from starting.

import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { makePrivate } from '../../src/db/private-file'
import { CommandFailed, lineOf } from './errors'

const FILE_NAME = 'serve.lock'
/** How long to wait for the lock: longer than any check of it takes. */
const PATIENCE_MS = 200

/** Locks the data directory, for as long as the process lives or until the returned function is called. Fails if another server has locked it. */
export function lockDataDir(dataDir: string): () => void {
  const file = join(dataDir, FILE_NAME)
  try {
    makePrivate(file)
    const lock = new Database(file, { create: true })
    lock.run(`pragma busy_timeout = ${PATIENCE_MS}`)
    lock.run('pragma locking_mode = exclusive')
    lock.run('begin exclusive')
    process.on('exit', () => lock.close())
    return () => lock.close()
  } catch (error) {
    if (!isBusy(error)) {
      throw new CommandFailed(`The data directory ${dataDir} cannot be used: ${lineOf(error)}.`)
    }
    throw new CommandFailed(
      `Another gateway is serving from ${dataDir}. Stop it first, give this one another --data-dir, or take its place without a gap with --take-over.`,
    )
  }
}

/** Whether a server runs on this data directory. */
export function isServed(dataDir: string): boolean {
  const file = join(dataDir, FILE_NAME)
  if (!existsSync(file)) return false
  const lock = new Database(file, { readonly: true })
  try {
    lock.query('select count(*) from sqlite_schema').get()
    return false
  } catch (error) {
    return isBusy(error)
  } finally {
    lock.close()
  }
}

function isBusy(error: unknown): boolean {
  return (error as { code?: string }).code === 'SQLITE_BUSY'
}
