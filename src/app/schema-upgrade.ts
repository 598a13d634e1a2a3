// Upgrades a used database to the schema of this program, for `serve` and `gateway upgrade`: while nobody serves it, and a file
// only after a verified copy of it is in place. If it fails, the database is as before, or between two steps, from where the next
// call continues.

import { join } from 'node:path'
import { makeBackup } from '../backup/backup'
import { folderPlace, nameOfBackup } from '../backup/place'
import type { Db } from '../db/db'
import { migrate } from '../db/migrations'
import { program } from '../db/schema/program'
import { type FoundSchema, SchemaRefused } from '../db/schema/rules'
import type { Log } from '../lib/system'
import { liveNodes, NO_NODE } from './nodes'

export interface UpgradeParts {
  log: Log
  /** Milliseconds since 1970, for the name of the copy. */
  wall(): number
  /** Names of other processes that work on the data directory. */
  others(): string[]
  /** False for a database that its operator has copied. */
  makesCopy: boolean
}

/** `file` is that of a SQLite database. Throws `SchemaRefused` while another process serves the database. */
export async function upgradeSchema(
  db: Db,
  found: FoundSchema,
  { file, dataDir, log, wall, others, makesCopy }: UpgradeParts & { file: string; dataDir: string },
): Promise<void> {
  const isFile = db.kind === 'sqlite'
  const serving = isFile ? others() : await liveNodes(db)
  if (serving.length > 0) throw new SchemaRefused(servedText(found, serving))
  const steps = { from: found.schema, to: program().schema }
  const now = wall()
  const name = nameOfBackup(now)
  const folder = join(dataDir, 'backups')
  const copy = isFile && makesCopy ? join(folder, name) : null
  log('database_upgrading', { ...steps, copy })
  if (copy !== null) {
    // The verified copy is upgraded to the new schema: a database for which that fails is refused here.
    const { problems } = await makeBackup({ file }, folderPlace(folder), name, { scratch: dataDir, now })
    if (problems[0] !== undefined) throw new SchemaRefused(wrongText(problems[0]))
  }
  await migrate(db, undefined, isFile ? [] : [NO_NODE])
  log('database_upgraded', { ...steps, copy })
}

function servedText({ schema }: FoundSchema, names: readonly string[]): string {
  return `The database has schema ${schema}, which this gateway brings to ${program().schema}, but ${names.length === 1 ? 'a process serves' : `${names.length} processes serve`} it (${names.join(', ')}): stop them first, all nodes of it. Nothing was changed.`
}

function wrongText(problem: string): string {
  return `A copy that was brought to schema ${program().schema} has wrong books (${problem}). The database was not changed: see "gateway balance verify" of the version that served it, or upgrade with "gateway upgrade --without-copy".`
}
