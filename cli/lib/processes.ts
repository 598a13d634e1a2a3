// The processes that serve from one data directory: more than one while a newer one takes over. Each holds a lock of the
// operating system on a file with its name, which ends with it, however it ends.

import { Database } from 'bun:sqlite'
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Processes } from '../../src/app/world'
import { makePrivate } from '../../src/db/private-file'

/** A file that is not locked yet, and so must not be taken for that of a process that has ended. */
const UNFINISHED = '.new'

/** Takes a name in a data directory, for as long as this process lives. */
export function registerProcess(dataDir: string): Processes {
  const folder = join(dataDir, 'processes')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const own = Bun.randomUUIDv7('hex').replaceAll('-', '').slice(-12)
  const file = join(folder, own)
  const lock = lockFile(file + UNFINISHED)
  // The lock goes with the file.
  renameSync(file + UNFINISHED, file)
  process.on('exit', () => {
    lock.close()
    rmSync(file, { force: true })
  })
  return {
    own,
    others: () => readdirSync(folder).filter((name) => name !== own && lives(join(folder, name))),
  }
}

function lockFile(file: string): Database {
  makePrivate(file)
  const lock = new Database(file, { create: true })
  lock.run('pragma journal_mode = memory')
  lock.run('pragma locking_mode = exclusive')
  lock.run('begin exclusive')
  return lock
}

/** Whether the process of a file lives. The file of one that has ended is removed. */
function lives(file: string): boolean {
  if (file.endsWith(UNFINISHED)) return false
  try {
    const lock = new Database(file, { readonly: true })
    try {
      lock.query('select count(*) from sqlite_schema').get()
    } finally {
      lock.close()
    }
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return true
    // It has ended since the folder was read.
    return false
  }
  rmSync(file, { force: true })
  return false
}
