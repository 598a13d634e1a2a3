// Migrates a database to the newest schema. It does not decide who may call it and when: schema/rules.ts has that table.

import type { Db, Statement } from './db'
import { isUnsupported } from './drivers/postgres'
import { program } from './schema/program'
import { findSchema, SchemaRefused, verdictOn } from './schema/rules'
import type { Step, Variants } from './schema/step'
import { migrations } from './schema/steps'

/** Settings for one PostgreSQL transaction that may take long. */
const PATIENCE: readonly Statement[] = [
  { sql: 'set local statement_timeout = 0' },
  { sql: 'set local lock_timeout = 0' },
]

/** The guard that misses if another process is running a step, or has run it. */
const CLAIM = 'claim'

/**
 * Brings the database to the newest version. Several processes may do so at once: the version row decides which one runs a step.
 * Each step is applied entirely or not at all, so that an interrupted upgrade continues with the next call. `guards` are checked at
 * the beginning and the end of each step; if one affects no row, the step is undone and the call throws `SchemaRefused`.
 */
export async function migrate(db: Db, steps = migrations, guards: readonly Statement[] = []): Promise<void> {
  const found = await findSchema(db)
  verdictOn(found, 'upgrade', { ...program(), schema: steps.length })
  if (found.schema < steps.length) await prepareVersions(db)
  // A step may take minutes on large tables, while other nodes wait for it.
  const before = db.kind === 'postgres' ? PATIENCE : []
  for (let next = found.schema + 1; next <= steps.length; next++) {
    const claim: Statement = {
      sql: 'insert into schema_versions (version, program) values ($1, $2) on conflict (version) do nothing',
      parameters: [next, program().version],
      guard: CLAIM,
    }
    const step = steps[next - 1] as Step
    if (step.length === 0) continue
    const run = async (kind: keyof Variants) => {
      const result = await db.batch([...before, claim, ...guards, ...statementsOf(step, kind), ...guards])
      if ('missed' in result && result.missed !== CLAIM)
        throw new SchemaRefused(
          'Another process began to serve the database. Nothing was changed; try again.',
        )
    }
    await run(db.kind).catch((error) => {
      if (db.kind === 'sqlite' || !isUnsupported(error)) throw error
      return run('otherwise')
    })
  }
}

/** Creates the table of steps, which older programs created without their version. */
async function prepareVersions(db: Db): Promise<void> {
  const table = {
    sql: 'create table if not exists schema_versions (version bigint primary key, program text)',
  }
  // On PostgreSQL, nodes that start at once can collide here despite `if not exists`. The second try then finds the table.
  await db.batch([table]).catch(() => db.batch([table]))
  const hasColumn = () =>
    db.query({ sql: 'select program from schema_versions limit 1' }).then(
      () => true,
      () => false,
    )
  if (await hasColumn()) return
  await db.batch([{ sql: 'alter table schema_versions add column program text' }]).catch(async (error) => {
    if (!(await hasColumn())) throw error
  })
}

export function statementsOf(step: Step, kind: keyof Variants): Statement[] {
  const texts = step.map((part) => (typeof part === 'string' ? part : part[kind]))
  return texts.flatMap((sql) => (sql === undefined ? [] : [{ sql }]))
}
