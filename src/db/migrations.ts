// Brings a database to the newest schema. It must never change one that is newer than it knows, or too old to go on from.

import type { Db, Statement } from './db'
import { isUnsupported } from './drivers/postgres'
import type { Step, Variants } from './schema/step'
import { earlierFault, migrations } from './schema/steps'

/** Settings for one transaction of PostgreSQL that may take long. */
const PATIENCE: readonly Statement[] = [
  { sql: 'set local statement_timeout = 0' },
  { sql: 'set local lock_timeout = 0' },
]

/** The version of the database; 0 for an empty one. Nothing is changed. */
export async function schemaVersion(db: Db): Promise<number> {
  await db.query({ sql: 'select 1 as alive' })
  const sql = 'select max(version) as version from schema_versions'
  const [row] = await db.query({ sql }).catch(() => [])
  return Number(row?.version ?? 0)
}

/** Throws for a version of the database that a newer gateway has made, or one that is too old to go on from. */
export function requireKnown(version: number, steps = migrations): void {
  const earlier = earlierFault(version, steps)
  if (earlier) throw new Error(earlier)
  if (version <= steps.length) return
  throw new Error(
    `The database has schema version ${version}, this gateway knows only ${steps.length}: use a newer gateway.`,
  )
}

/**
 * Brings the database to the newest version. Several nodes may start at once: the version row decides which one runs a
 * step. `announce` is called before an existing database is changed.
 */
export async function migrate(
  db: Db,
  steps = migrations,
  announce: (from: number, to: number) => void = () => {},
): Promise<void> {
  const versions: Statement = {
    sql: 'create table if not exists schema_versions (version bigint primary key)',
  }
  // On PostgreSQL, nodes that start at once can collide here in spite of `if not exists`. The second try then finds the
  // table.
  await db.batch([versions]).catch(() => db.batch([versions]))
  const [row] = await db.query({ sql: 'select max(version) as version from schema_versions' })
  const version = Number(row?.version ?? 0)
  requireKnown(version, steps)
  if (version > 0 && version < steps.length) announce(version, steps.length)
  // A step may take minutes on large tables, while other nodes wait for it.
  const patience = db.kind === 'postgres' ? PATIENCE : []
  for (let next = version + 1; next <= steps.length; next++) {
    const claim: Statement = {
      sql: 'insert into schema_versions (version) values ($1) on conflict (version) do nothing',
      parameters: [next],
      guard: true,
    }
    const step = steps[next - 1] as Step
    if (step.length === 0) continue
    const run = (kind: keyof Variants) =>
      // A miss means that another node is running this step in its transaction, or has run it.
      db.batch([...patience, claim, ...statementsOf(step, kind)])
    await run(db.kind).catch((error) => {
      if (db.kind === 'sqlite' || !isUnsupported(error)) throw error
      return run('otherwise')
    })
  }
}

function statementsOf(step: Step, kind: keyof Variants): Statement[] {
  const texts = step.map((part) => (typeof part === 'string' ? part : part[kind]))
  return texts.flatMap((sql) => (sql === undefined ? [] : [{ sql }]))
}
