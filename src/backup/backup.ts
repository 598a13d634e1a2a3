// Makes a backup: a verified snapshot of the database, as one compressed file. Serving continues. It must never leave a file under
// its name that was not read back and verified.

import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import { audit } from '../billing/proofs/audit'
import { apply } from '../db/db'
import { withSnapshot } from '../db/drivers/postgres-snapshot'
import { openSqlite } from '../db/drivers/sqlite'
import { copySqlite, fileFault } from '../db/drivers/sqlite-file'
import { migrate } from '../db/migrations'
import { program } from '../db/schema/program'
import { findSchema, verdictOn } from '../db/schema/rules'
import { migrations } from '../db/schema/steps'
import { withScratchFolder } from '../db/scratch-folder'
import { differencesOf, emptied, filledTables, insertsOf, tablesOf } from '../db/table-copy'
import type { BackupPlace } from './place'

/** The advice for a database whose file is damaged. */
export const DAMAGE_ADVICE =
  'The database is damaged: check the disk, copy the data directory, then `gateway restore` a backup into an empty one.'

/** The database that is backed up: the address of PostgreSQL, or the file of SQLite. */
export type BackupSource = { url: string } | { file: string }

export interface BackupReport extends BackupFindings {
  name: string
  /** The program that made it, and its commit. */
  version: string
  commit: string
  /** Size of the compressed file, and of the database in it. */
  bytes: number
  databaseBytes: number
}

export interface BackupFindings {
  /** The number of the schema of the database in it. */
  schema: number
  accounts: number
  charges: number
  /** Faults of its books, which the database has too; empty if they are correct. */
  problems: string[]
}

/** Makes a backup under a name. `scratch` is a folder with room for the database. Throws `BackupDamaged` if it is wrong. */
export async function makeBackup(
  source: BackupSource,
  place: BackupPlace,
  name: string,
  { scratch, now }: { scratch: string; now: number },
): Promise<BackupReport> {
  await place.prepare()
  return await withScratchFolder(scratch, async (folder) => {
    const copy = join(folder, 'copy.sqlite')
    if ('file' in source) copySqlite(source.file, copy)
    else await copyPostgres(source.url, copy)
    const fault = fileFault(copy)
    if (fault) throw new BackupDamaged(`A copy of the database ${fault}. ${DAMAGE_ADVICE}`)
    const packed = join(folder, 'copy.sqlite.zst')
    await compress(copy, packed)
    // The decompressed file is checked, not the source.
    const again = join(folder, 'again.sqlite')
    await decompress(packed, again)
    if ((await hashOf(again)) !== (await hashOf(copy)))
      throw new BackupDamaged('The compressed file does not match the copy.')
    const [{ size: bytes }, { size: databaseBytes }] = [await stat(packed), await stat(copy)]
    const findings = await checkBooks(again, now)
    await place.put(packed, name)
    const { version, commit } = program()
    return { name, version, commit, bytes, databaseBytes, ...findings }
  })
}

/** Thrown if no correct copy was made; the message says why, and what to do. */
export class BackupDamaged extends Error {
  override readonly name = 'BackupDamaged'
}

/** Counts the content of a copy and verifies its books. Upgrades the copy to the newest version first. */
export async function checkBooks(path: string, now: number): Promise<BackupFindings> {
  const db = openSqlite(path, { durable: false })
  try {
    const { schema } = await findSchema(db)
    await migrate(db)
    const { accounts, charges, problems } = await audit(db, now)
    return { schema, accounts, charges, problems }
  } finally {
    await db.close()
  }
}

/** The copy has the schema of the database, which may be older than that of this program. */
async function copyPostgres(url: string, path: string): Promise<void> {
  const copy = openSqlite(path, { durable: false })
  try {
    await withSnapshot(url, async (snapshot) => {
      const found = await findSchema(snapshot)
      verdictOn(found, 'read')
      await migrate(copy, migrations.slice(0, found.schema))
      const tables = await tablesOf(copy)
      await apply(copy, (await filledTables(copy, tables)).map(emptied))
      for (const table of tables) {
        for await (const rows of snapshot.pages(table)) await apply(copy, insertsOf(table, rows))
      }
      const differences = await differencesOf(snapshot, copy, tables)
      if (differences.length > 0) throw new BackupDamaged(`The copy differs: ${differences.join('; ')}.`)
    })
  } finally {
    await copy.close()
  }
}

async function compress(from: string, to: string): Promise<void> {
  const packer = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  await pipeline(createReadStream(from), packer, createWriteStream(to, { mode: 0o600 }))
}

/** Unpacks a backup. Throws `BackupDamaged` if its bytes have changed. */
export async function decompress(from: string, to: string): Promise<void> {
  try {
    await pipeline(createReadStream(from), createZstdDecompress(), createWriteStream(to, { mode: 0o600 }))
  } catch (error) {
    throw new BackupDamaged(`${from} is not a backup, or is damaged: ${(error as Error).message}.`)
  }
}

async function hashOf(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const bytes of Bun.file(path).stream()) hasher.update(bytes)
  return hasher.digest('hex')
}
