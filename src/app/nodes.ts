// The nodes that serve one PostgreSQL database, each as a row of `times` that it rewrites: a change of the schema must know whether
// any node is alive, wherever it runs. A node that finds a newer schema must not continue.

import { apply, type Db, type Statement, tryApply } from '../db/db'
import { program } from '../db/schema/program'
import { findSchema, verdictOn } from '../db/schema/rules'

/** A node records itself every 15 seconds. One that was silent for longer is gone, or finds out at its next record. */
const SILENT_MS = 60_000
/** Age at which the row of a killed node is removed. */
const FORGET_MS = 86_400_000
const NOW = 'cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint)'
const LIVE = `name like 'node:%' and reference > ${NOW} - ${SILENT_MS}`

/** Affects no row while a node is alive. */
export const NO_NODE: Statement = {
  sql: `select 1 as one where not exists (select 1 from times where ${LIVE})`,
  guard: true,
}

/** Names of the nodes that serve a database: the machine and the process. */
export async function liveNodes(db: Db): Promise<string[]> {
  const rows = await db.query({ sql: `select name from times where ${LIVE} order by name` })
  return rows.map(({ name }) => (name as string).slice('node:'.length))
}

/** The row of this process. */
export interface NodeRow {
  /** Writes it. Throws `SchemaRefused` if the database has another schema by now. */
  note(): Promise<void>
  /** Removes it, if the database answers. */
  forget(): Promise<void>
}

export function nodeRow(db: Db, name: string): NodeRow {
  if (db.kind === 'sqlite') return { async note() {}, async forget() {} }
  const parameters = [`node:${name}`]
  return {
    async note() {
      const isNoted = await tryApply(db, [
        {
          sql: `insert into times (name, at, reference) select cast($1 as text), ${NOW}, ${NOW}
            where not exists (select 1 from schema_versions where version > $2)
            on conflict (name) do update set reference = excluded.reference`,
          parameters: [...parameters, program().schema],
          guard: true,
        },
        { sql: `delete from times where name like 'node:%' and reference < ${NOW} - ${FORGET_MS}` },
      ])
      if (!isNoted) verdictOn(await findSchema(db), 'change')
    },
    async forget() {
      await apply(db, [{ sql: 'delete from times where name = $1', parameters }]).catch(() => {})
    },
  }
}
