// The recordings of releases: for each a backup of both kinds of database, filled by its own program, and a manifest of every
// table. The recording of a published release must never be made again.

import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeBackup } from '../../../src/backup/backup'
import { folderPlace } from '../../../src/backup/place'
import { apply, type Db, type Row } from '../../../src/db/db'
import { openSqlite } from '../../../src/db/drivers/sqlite'
import { statementsOf } from '../../../src/db/migrations'
import { program } from '../../../src/db/schema/program'
import { migrations } from '../../../src/db/schema/steps'
import { insertsOf, pagesOf, type Table, tablesOf, totalsOf } from '../../../src/db/table-copy'
import { type DatabaseKind, databaseAddress, openAddress, temporaryFolder } from '../databases/databases'
import { type Filled, fillDatabase } from './fill'

const FOLDER = join(import.meta.dir, '../../releases')

export interface RecordedTable {
  /** The columns of the release. */
  columns: Table['columns']
  /** The number of rows, the sum of each column of numbers and the length of each column of text. */
  totals: Row
  /** The hash of all rows in order. */
  sha256: string
}

export interface Manifest {
  version: string
  schema: number
  /** Milliseconds since 1970. */
  recordedAt: number
  /** The hash of each step of its schema, in order. */
  steps: string[]
  databases: Record<DatabaseKind, Filled & { tables: Record<string, RecordedTable> }>
}

/** The recorded versions. */
export function recordedVersions(): string[] {
  if (!existsSync(FOLDER)) return []
  return readdirSync(FOLDER, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [entry.name] : [],
  )
}

export function manifestOf(version: string): Manifest {
  return JSON.parse(readFileSync(join(FOLDER, version, 'manifest.json'), 'utf8'))
}

/** The hash of the statements of each step, on every kind of database. */
export function hashesOfSteps(): string[] {
  return migrations.map((step) => hashOf(JSON.stringify(step)))
}

/** Records the version of this program. Throws if it is recorded already. */
export async function recordRelease(): Promise<void> {
  const { version, schema } = program()
  const place = join(FOLDER, version)
  if (existsSync(place)) throw new Error(`${place} is there already`)
  const folder = temporaryFolder()
  const filled = async (kind: DatabaseKind) => {
    let tables: Record<string, RecordedTable> = {}
    const found = await fillDatabase(kind, async (source) => {
      const now = Date.now()
      const report = await makeBackup(source, folderPlace(folder), `${kind}.sqlite.zst`, {
        scratch: temporaryFolder(),
        now,
      })
      if (report.problems.length > 0) throw new Error(report.problems.join('\n'))
      const db = openSqlite(unpacked(folder, kind))
      tables = await describe(
        db,
        Object.fromEntries((await tablesOf(db)).map((table) => [table.name, table])),
      )
      await db.close()
    })
    return { ...found, tables }
  }
  const steps = migrations.map((step) => statementsOf(step, 'postgres').map(({ sql }) => sql))
  writeFileSync(join(folder, 'postgres-steps.json.zst'), Bun.zstdCompressSync(JSON.stringify(steps)))
  const databases = { sqlite: await filled('sqlite'), postgres: await filled('postgres') }
  const manifest: Manifest = { version, schema, recordedAt: Date.now(), steps: hashesOfSteps(), databases }
  writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  cpSync(folder, place, { recursive: true })
}

/** The path of a file with the rows of a recording. */
function unpacked(folder: string, kind: DatabaseKind): string {
  const file = join(temporaryFolder(), 'gateway.sqlite')
  const bytes = Bun.zstdDecompressSync(readFileSync(join(folder, `${kind}.sqlite.zst`)))
  writeFileSync(file, bytes, { mode: 0o600 })
  return file
}

/** The file or the address of a new copy of a recording, as the release left it. */
export async function recordedDatabase(version: string, kind: DatabaseKind): Promise<string> {
  const file = unpacked(join(FOLDER, version), kind)
  if (kind === 'sqlite') return file
  const address = await databaseAddress(kind)
  const [db, source] = [openAddress(address), openSqlite(file)]
  await runSteps(db, source, version)
  for (const table of await tablesOf(source)) {
    await apply(db, [{ sql: `delete from ${table.name}` }])
    for await (const { rows } of pagesOf(source, table, undefined)) await apply(db, insertsOf(table, rows))
  }
  await db.query({ sql: `select setval('charge_positions', coalesce(max(position), 1)) from ended_charges` })
  await Promise.all([db.close(), source.close()])
  return address
}

/** Runs the statements that the release itself ran on PostgreSQL. */
async function runSteps(db: Db, source: Db, version: string): Promise<void> {
  const packed = readFileSync(join(FOLDER, version, 'postgres-steps.json.zst'))
  const steps = JSON.parse(Bun.zstdDecompressSync(packed).toString()) as string[][]
  await apply(db, [{ sql: 'create table schema_versions (version bigint primary key, program text)' }])
  for (const step of steps)
    if (step.length > 0)
      await apply(
        db,
        step.map((sql) => ({ sql })),
      )
  const insert = 'insert into schema_versions (version, program) values ($1, $2)'
  for (const row of await source.query({ sql: 'select version, program from schema_versions' }))
    await apply(db, [{ sql: insert, parameters: [row.version ?? null, row.program ?? null] }])
}

/** Tables of a database as a manifest has them. */
export async function describe(
  db: Db,
  tables: Readonly<Record<string, Pick<Table, 'columns'>>>,
): Promise<Record<string, RecordedTable>> {
  const described: Record<string, RecordedTable> = {}
  for (const [name, { columns }] of Object.entries(tables)) {
    const names = columns.map((column) => column.name)
    const rows = await db.query({ sql: `select ${names.join(', ')} from ${name}` })
    const lines = rows.map((row) => JSON.stringify(names.map((each) => row[each]))).sort()
    const totals = await totalsOf(db, { name, columns, order: [] })
    described[name] = { columns, totals, sha256: hashOf(lines.join('\n')) }
  }
  return described
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}
