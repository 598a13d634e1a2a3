// The processes that serve from one data directory: more than one while a newer one takes over. Each holds a lock of the
// operating system on a file with its name, which ends with it, however it ends.

import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Processes } from '../../src/app/world'
import { isLocked, lockFile } from '../../src/db/file-lock'

/** A younger file may not be locked yet, and must not be mistaken for that of an ended process; in milliseconds. */
const YOUNG_MS = 60_000

/** Takes a name in a data directory, for as long as this process lives. */
export function registerProcess(dataDir: string): Processes {
  const folder = join(dataDir, 'processes')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const own = Bun.randomUUIDv7('hex').replaceAll('-', '').slice(-12)
  const file = join(folder, own)
  const unlock = lockFile(file)
  process.on('exit', () => {
    unlock()
    rmSync(file, { force: true })
  })
  return {
    own,
    others: () => readdirSync(folder).filter((name) => name !== own && lives(join(folder, name))),
  }
}

/** Whether the process of a file is alive. The file of an ended process is removed. */
function lives(file: string): boolean {
  if (isLocked(file)) return true
  const madeAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  if (madeAt !== undefined && Date.now() - madeAt > YOUNG_MS) rmSync(file, { force: true })
  return false
}
