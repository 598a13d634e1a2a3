// Audit trail entries of commands that change something without an operation of the admin API: the actor and the action. A command
// that only reads must not use this.

import { hostname } from 'node:os'
import { type Actor, type RecordedChange, record, recording } from '../../src/admin/audit-trail'
import { gatewayTime } from '../../src/app/clock'
import { inspectDatabase, newId, openDatabase } from '../../src/app/world'
import type { Config } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { program } from '../../src/db/schema/program'
import { lineOf } from '../../src/lib/error-line'
import { userName } from '../process/system-user'
import { say } from '../view/output'

/** The user of the system, and the machine: `cli:ada@rack1`. No admin can have such a name. */
export function commandLineActor(): Actor {
  return { name: `cli:${userName()}@${hostname()}`, requestId: null, clientAddress: null }
}

/** The database for one change by this command: an entry is added to the first transaction that is made with it. */
export async function auditedDb(db: Db, change: RecordedChange): Promise<Db> {
  const now = await gatewayTime(db, Date.now())
  return recording({ db, now: () => now, newId }, commandLineActor(), change)
}

/** Adds an entry for the action of this command, to an open database. */
async function recordHere(db: Db, change: RecordedChange): Promise<void> {
  const now = await gatewayTime(db, Date.now())
  await record({ db, now: () => now, newId }, commandLineActor(), change)
}

/**
 * Adds entries for actions of this command outside the database, which it opens. If it does not exist yet, or was written by an
 * older gateway, it is not changed. Never fails: the action has already happened.
 */
export async function auditCommand(
  config: Config,
  dataDir: string,
  ...changes: RecordedChange[]
): Promise<void> {
  try {
    const state = await inspectDatabase(config, dataDir)
    if (!state) return
    if (state.schema !== program().schema)
      return say('Not in the audit trail: the database has another schema, and is not changed.')
    const db = await openDatabase(config, dataDir, { role: 'change', patient: true })
    try {
      for (const change of changes) await recordHere(db, change)
    } finally {
      await db.close()
    }
  } catch (error) {
    say(`Not in the audit trail: ${lineOf(error)}.`)
  }
}
