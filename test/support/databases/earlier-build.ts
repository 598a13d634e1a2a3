// A database of the last build before 1.0, recorded from that build: a sandbox that was killed during a stream. The SQLite file is
// the original; on PostgreSQL the statements of the build are run again, and the rows copied.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { apply, type Db, type Row } from '../../../src/db/db'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { insertsOf, pagesOf, tablesOf } from '../../../src/db/table-copy'
import { type DatabaseKind, databaseAddress, openAddress, temporaryFolder } from './databases'

const FOLDER = join(import.meta.dir, '../../fixtures/earlier-build')

/** Puts the SQLite file of the recording at a path. */
export function writeEarlierFile(path: string): void {
  writeFileSync(path, Bun.zstdDecompressSync(readFileSync(join(FOLDER, 'gateway.sqlite.zst'))), {
    mode: 0o600,
  })
}

/** The address of a new copy of the recording. */
export async function earlierDatabase(kind: DatabaseKind): Promise<string> {
  const file = join(temporaryFolder(), 'gateway.sqlite')
  writeEarlierFile(file)
  if (kind === 'sqlite') return file
  const address = await databaseAddress('postgres')
  const [db, source] = [openAddress(address), openSqlite(file)]
  await runEarlierSteps(db)
  for (const table of await tablesOf(source)) {
    await apply(db, [{ sql: `delete from ${table.name}` }])
    for await (const { rows } of pagesOf(source, table, undefined)) await apply(db, insertsOf(table, rows))
  }
  await db.query({ sql: `select setval('charge_positions', coalesce(max(position), 1)) from ended_charges` })
  await Promise.all([db.close(), source.close()])
  return address
}

async function runEarlierSteps(db: Db): Promise<void> {
  const packed = readFileSync(join(FOLDER, 'postgres-steps.json.zst'))
  const steps = JSON.parse(Bun.zstdDecompressSync(packed).toString()) as string[][]
  await apply(db, [{ sql: 'create table schema_versions (version bigint primary key)' }])
  for (const [index, step] of steps.entries()) {
    const version = { sql: 'insert into schema_versions values ($1)', parameters: [index + 1] }
    await apply(db, [version, ...step.map((sql) => ({ sql }))])
  }
}

/** All rows of a database by table, as SQLite's catalogue names the tables. */
export async function allRows(db: Db): Promise<Record<string, Row[]>> {
  const file = join(temporaryFolder(), 'tables.sqlite')
  writeEarlierFile(file)
  const catalogue = openSqlite(file)
  const rows: Record<string, Row[]> = {}
  for (const { name, columns } of await tablesOf(catalogue)) {
    const all = await db.query({
      sql: `select ${columns.map((column) => column.name).join(', ')} from ${name}`,
    })
    rows[name] = all.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
  }
  await catalogue.close()
  return rows
}
