// Restores a database from a backup, or moves one to PostgreSQL. The target must be empty: neither may ever overwrite or mix
// existing data. The final database is read back and compared.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { audit } from '../billing/proofs/audit'
import type { Db } from '../db/db'
import { openPostgres } from '../db/drivers/postgres'
import { openSqlite } from '../db/drivers/sqlite'
import { fileFault } from '../db/drivers/sqlite-file'
import { migrate } from '../db/migrations'
import { findSchema, verdictOn } from '../db/schema/rules'
import { withScratchFolder } from '../db/scratch-folder'
import {
  copyFromSqlite,
  differencesOf,
  dropCopy,
  endCopy,
  filledTables,
  isUnfinished,
  type OnProgress,
  seededTables,
  tablesOf,
} from '../db/table-copy'
import { BackupDamaged, type BackupFindings, checkBooks, decompress } from './backup'
import { moveNew } from './place'

/** Thrown if the target already has data; nothing was changed. */
export class TargetFilled extends Error {
  override readonly name = 'TargetFilled'
}

/** PostgreSQL numbers charges by a sequence, which knows nothing of rows that were copied. */
const ADVANCE_POSITIONS = `select setval('charge_positions', coalesce(max(position), 0) + 1, false) from ended_charges`

/** The target of a database: a SQLite file that does not exist yet, or an empty PostgreSQL database. */
type RestoreTarget = { file: string } | { url: string }

/** Restores the backup in the file `packed`. `scratch` is a folder with room for the database, on the disk of the target. */
export async function restore(
  packed: string,
  target: RestoreTarget,
  { scratch, now, onProgress }: { scratch: string; now: number; onProgress: OnProgress },
): Promise<BackupFindings> {
  if ('file' in target) requireAbsent(target.file)
  return await withScratchFolder(scratch, async (folder) => {
    const file = join(folder, 'copy.sqlite')
    await decompress(packed, file)
    const fault = fileFault(file)
    if (fault) throw new BackupDamaged(`The backup ${fault}.`)
    const result = await checkBooks(file, now)
    if ('url' in target)
      return { ...(await moveToPostgres(file, target.url, { now, onProgress })), schema: result.schema }
    requireAbsent(target.file)
    await moveNew(file, target.file)
    return result
  })
}

interface MoveOptions {
  now: number
  onProgress: OnProgress
  /** First removes the rows that an earlier call has copied. */
  anew?: boolean
  /** Runs when the copy is complete. Until then the target counts as unfinished, and nobody serves it. */
  onCopied?: () => void
}

/**
 * Copies a SQLite database that nobody serves from into one of PostgreSQL that is empty, or holds the beginning of the same
 * copy. Throws if the copy differs, in the number and the sums of its rows.
 */
export async function moveToPostgres(
  file: string,
  url: string,
  { now, onProgress, anew = false, onCopied }: MoveOptions,
): Promise<BackupFindings> {
  const source = openSqlite(file)
  const target = openPostgres(url, { patient: true })
  try {
    verdictOn(await findSchema(source), 'change')
    verdictOn(await findSchema(target), 'change')
    await migrate(target)
    const tables = await tablesOf(source)
    const seeded = await seededTables()
    if (anew) await dropCopy(target, tables)
    await requireEmpty(target, source, seeded)
    await copyFromSqlite(source, target, { seeded, onProgress })
    await target.query({ sql: ADVANCE_POSITIONS })
    const differences = await differencesOf(source, target, tables)
    if (differences.length > 0)
      throw new BackupDamaged(
        `The copy differs: ${differences.join('; ')}. The database has changed since the copy began: start over with gateway move --anew.`,
      )
    const { schema } = await findSchema(source)
    const { accounts, charges, problems } = await audit(target, now)
    // A file that is renamed must not have a log next to it.
    await source.close()
    onCopied?.()
    await endCopy(target)
    return { schema, accounts, charges, problems }
  } finally {
    await source.close()
    await target.close()
  }
}

function requireAbsent(file: string): void {
  const found = ['', '-wal', '-journal', '.moved'].map((end) => file + end).find((path) => existsSync(path))
  if (found)
    throw new TargetFilled(`${found} is there already. Move it away first, or name another data directory.`)
}

/** Requires that a database has no rows, or those of an unfinished copy of this source. */
async function requireEmpty(target: Db, source: Db, seeded: readonly string[]): Promise<void> {
  if (await isUnfinished(target)) return requireSameOrigin(target, source)
  const tables = (await tablesOf(source)).filter(({ name }) => !seeded.includes(name))
  const filled = await filledTables(target, tables)
  if (filled.length === 0) return
  throw new TargetFilled(`The database has rows already (${filled.join(', ')}). Give an empty one.`)
}

/** The last copied rows must be rows of the source, otherwise another database was being copied. */
async function requireSameOrigin(target: Db, source: Db): Promise<void> {
  const newest = { sql: 'select name, created_at from accounts order by name limit 1' }
  const [[here], [there]] = [await target.query(newest), await source.query(newest)]
  if (!here || JSON.stringify(here) === JSON.stringify(there)) return
  throw new TargetFilled(
    'The database holds an unfinished copy of another one. Give an empty one, or replace that copy with gateway move --anew.',
  )
}
