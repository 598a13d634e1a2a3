// Allows one server per data directory. The lock belongs to the operating system, so it ends with a killed process. Checking the
// lock must never keep a server from starting.

import { join } from 'node:path'
import { isLocked, lockFile } from '../../src/db/file-lock'
import { lineOf } from '../../src/lib/error-line'
import { CommandFailed } from '../lib/errors'

const FILE_NAME = 'serve.lock'
/** How long to wait for the lock: longer than any check of it takes. */
const PATIENCE_MS = 200

/**
 * Locks the data directory, for as long as the process lives or until the returned function is called. Fails if another server has
 * locked it; `advice` names an alternative to stopping that server.
 */
export function lockDataDir(dataDir: string, advice = ''): () => void {
  const file = join(dataDir, FILE_NAME)
  try {
    const unlock = lockFile(file, PATIENCE_MS)
    process.on('exit', unlock)
    return unlock
  } catch (error) {
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') {
      throw new CommandFailed(`The data directory ${dataDir} cannot be used: ${lineOf(error)}.`)
    }
    throw new CommandFailed(`Another gateway is serving from ${dataDir}. Stop it first${advice}.`)
  }
}

/** Whether a server runs on this data directory. */
export function isServed(dataDir: string): boolean {
  return isLocked(join(dataDir, FILE_NAME))
}

/** The lock of a data directory for a process that may pass it to another, and take it back. */
export interface ServeLock {
  release(): void
  /** False if another process has it. */
  take(): boolean
}

/** `unlock` releases the lock of this process. */
export function serveLock(dataDir: string, unlock: () => void): ServeLock {
  let release = unlock
  return {
    release: () => release(),
    take() {
      try {
        release = lockDataDir(dataDir)
        return true
      } catch {
        return false
      }
    },
  }
}
