// Locks of the operating system on files, which end with their process, however it ends. Bun cannot lock files, so each
// lock is an empty SQLite database. A check of a lock must never take it.

import { Database } from 'bun:sqlite'
import { makePrivate } from './private-file'

/** How long to wait for the end of checks of a lock, in milliseconds. */
const WAIT_MS = 5_000

/**
 * Locks a file, which is created if absent, until the process ends or the returned function is called. Throws SQLITE_BUSY if
 * another process has locked it.
 */
export function lockFile(path: string, patienceMs = WAIT_MS): () => void {
  makePrivate(path)
  const lock = new Database(path, { create: true })
  lock.run(`pragma busy_timeout = ${patienceMs}`)
  lock.run('pragma journal_mode = memory')
  lock.run('pragma locking_mode = exclusive')
  lock.run('begin exclusive')
  return () => lock.close()
}

/** Whether a process has locked a file. */
export function isLocked(path: string): boolean {
  let lock: Database | undefined
  try {
    lock = new Database(path, { readonly: true })
    lock.query('select count(*) from sqlite_schema').get()
    return false
  } catch (error) {
    // Any other error: the file is gone by now.
    return (error as { code?: string }).code === 'SQLITE_BUSY'
  } finally {
    lock?.close()
  }
}
