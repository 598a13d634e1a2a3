// What a process may do with the schema that it finds, in one table, with one sentence per refusal. Nothing else may decide that,
// and only `serve` and `gateway upgrade` may change the schema of a shared database.

import type { Db, Row } from '../db'
import { type Program, program } from './program'
import { EARLIER_COMMIT, EARLIER_STEPS } from './steps'

/**
 * `upgrade`: serve and gateway upgrade. `succeed`: serve --take-over, on the database that the running process serves. `change`,
 * `read`: every other command, depending on what it does.
 */
export type DatabaseRole = 'upgrade' | 'succeed' | 'change' | 'read'

/** The schema of a database. */
export interface FoundSchema {
  /** 0 for a database without tables. */
  schema: number
  /** The version of the program that created it; null if unknown. */
  version: string | null
}

type Verdict = 'make' | 'upgrade' | 'use' | 'read' | 'pretend' | 'refuse'

/**
 * How the database's schema compares with the program's: `ancient` is one of a build before 1.0. `pretend`: the command reads an
 * empty database instead.
 */
const VERDICTS = {
  ancient: { upgrade: 'refuse', succeed: 'refuse', change: 'refuse', read: 'refuse' },
  none: { upgrade: 'make', succeed: 'make', change: 'make', read: 'pretend' },
  older: { upgrade: 'upgrade', succeed: 'refuse', change: 'refuse', read: 'read' },
  same: { upgrade: 'use', succeed: 'use', change: 'use', read: 'use' },
  newer: { upgrade: 'refuse', succeed: 'refuse', change: 'refuse', read: 'refuse' },
} as const satisfies Record<string, Record<DatabaseRole, Verdict>>

/** Thrown if a process may not work with the schema of a database; the message says what to do. Nothing was changed. */
export class SchemaRefused extends Error {
  override readonly name = 'SchemaRefused'
}

/** The decision about a database for a role. Throws `SchemaRefused` if the role is refused. */
export function verdictOn(
  found: FoundSchema,
  role: DatabaseRole,
  own: Program = program(),
): Exclude<Verdict, 'refuse'> {
  const met = metWith(found.schema, own.schema)
  const verdict = VERDICTS[met][role]
  if (verdict !== 'refuse') return verdict
  if (met === 'ancient') throw new SchemaRefused(ancientText(found))
  if (met === 'newer') throw new SchemaRefused(newerText(found, own))
  throw new SchemaRefused(role === 'succeed' ? servedText(found, own) : olderText(found, own))
}

function metWith(schema: number, own: number): keyof typeof VERDICTS {
  if (schema === 0) return 'none'
  if (schema <= EARLIER_STEPS && own > EARLIER_STEPS) return 'ancient'
  if (schema === own) return 'same'
  return schema < own ? 'older' : 'newer'
}

function ancientText({ schema }: FoundSchema): string {
  return `The database has schema ${schema}, of a build before 1.0: start the build of commit ${EARLIER_COMMIT} on it once, then this one.`
}

/** Why a command cannot continue with an older schema. */
export function olderText({ schema }: FoundSchema, own: Program = program()): string {
  return `The database has schema ${schema}, and this gateway (${own.version}) needs schema ${own.schema} for that: run "gateway upgrade".`
}

function servedText({ schema, version }: FoundSchema, own: Program): string {
  return `The running gateway (${version}) serves schema ${schema}, which this one (${own.version}) brings to ${own.schema}: stop the running one, then start this one without --take-over.`
}

function newerText({ schema, version }: FoundSchema, own: Program): string {
  const needed = version === null ? 'a newer version' : `version ${version} or newer`
  return `The database has schema ${schema}, and this gateway (${own.version}) knows only ${own.schema}: use ${needed}.`
}

/** The schema of a database. Nothing is changed. */
export async function findSchema(db: Pick<Db, 'query'>): Promise<FoundSchema> {
  const newest = { sql: 'select * from schema_versions order by version desc limit 1' }
  const [row] = await db.query(newest).catch((error): Row[] => {
    if (isAbsent(error)) return []
    throw error
  })
  return { schema: Number(row?.version ?? 0), version: (row?.program as string | undefined) ?? null }
}

/** A database of an older schema, for a reading command: a missing table or column becomes the sentence that says what to do. */
export function olderReader(reader: Db, found: FoundSchema): Db {
  return {
    ...reader,
    query: (statement) =>
      reader.query(statement).catch((error) => {
        throw isAbsent(error) ? new SchemaRefused(olderText(found), { cause: error }) : error
      }),
  }
}

/** Whether an error says that a table, a column or a function does not exist. */
function isAbsent(error: unknown): boolean {
  const { errno, message = '' } = error as { errno?: unknown; message?: string }
  return /^(42P01|42703|42883)$/.test(String(errno)) || /^no such (table|column|function)/.test(message)
}
