// Makes the files of the data directory, which contain money and secrets, readable only by the owner of the process, whatever the
// umask. It must never prevent a database from being opened: opening reports faults better.

import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'

const OWNER_ONLY = 0o600
/** Suffixes of the files of one database. Files made later get the mode of the database itself. */
const SUFFIXES = ['', '-wal', '-shm', '-journal']

/** Creates a database file if absent, and makes it and the files next to it private. */
export function makePrivate(path: string): void {
  if (path === ':memory:') return
  attempt(() => closeSync(openSync(path, 'a', OWNER_ONLY)))
  for (const suffix of SUFFIXES) {
    const file = path + suffix
    if (existsSync(file)) attempt(() => chmodSync(file, OWNER_ONLY))
  }
}

function attempt(work: () => void): void {
  try {
    work()
  } catch {
    // The file belongs to another owner, or the disk accepts no change.
  }
}
