// Takes the place of a gateway that serves from the same data directory: this process listens beside it, then the other one
// leaves and ends what it began. Two versions must never work on one database unless both know its shape.

import { migrations } from '../../src/db/migrations'
import { askServer } from './control'
import type { Status } from './control-channel'
import { CommandFailed } from './errors'
import { lockDataDir } from './serve-lock'

/** The gateway whose place is to be taken; undefined if none serves. Fails if the two cannot run side by side. */
export async function findPredecessor(dataDir: string): Promise<Status | undefined> {
  const status = await askServer(dataDir, 'GET /status')
  if (!status) return undefined
  const { version, schemaVersion: known } = status
  const own = migrations.length
  if (known < own) {
    throw new CommandFailed(
      `This version brings the database from schema ${known} to ${own}, which the running one (${version}) does not know: the two cannot run side by side. Stop the running one, keep a copy of the database, and start this one without --take-over. There is no way back but the copy.`,
    )
  }
  if (known > own) {
    throw new CommandFailed(
      `The running gateway (${version}) is newer: its database has schema ${known}, and this one knows only ${own}. Nothing was changed.`,
    )
  }
  return status
}

/** Has the other gateway leave, while this one serves already. Returns how to unlock the data directory, as `lockDataDir`. */
export async function succeed(dataDir: string): Promise<() => void> {
  // Without an answer the other one has ended meanwhile, and the lock with it.
  await askServer(dataDir, 'POST /hand-over')
  return lockDataDir(dataDir)
}
