// Files of the data directory, which hold money and secrets: only the owner of the process may read them, whatever the
// mode of the directory and the umask. It must never keep a database from being opened: that one says better what is wrong.

import { chmodSync, closeSync, existsSync, openSync } from 'node:fs'

const OWNER_ONLY = 0o600
/** Beside a database; those that are made later get the mode of the database itself. */
const BESIDE = ['', '-wal', '-shm', '-journal']

/** Makes the file of a database where there is none, and takes it and those beside it from everybody else. */
export function makePrivate(path: string): void {
  if (path === ':memory:') return
  attempt(() => closeSync(openSync(path, 'a', OWNER_ONLY)))
  for (const suffix of BESIDE) {
    const file = path + suffix
    if (existsSync(file)) attempt(() => chmodSync(file, OWNER_ONLY))
  }
}

function attempt(work: () => void): void {
  try {
    work()
  } catch {
    // Another owner's file, or a disk that takes nothing.
  }
}
