// A change of the schema whose process is killed right before any of its statements: the database has only complete steps, and the
// next process continues from there.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { resolve } from 'node:path'
import type { Db, Row } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { findSchema } from '../../src/db/schema/rules'
import { migrations } from '../../src/db/schema/steps'
import {
  type DatabaseKind,
  databaseKinds,
  openAddress,
  postgresUrl,
  temporaryFolder,
} from '../support/databases/databases'
import { ownSteps } from '../support/processes/migrate-until-killed'

setDefaultTimeout(900_000)

const PROGRAM = resolve(import.meta.dir, '../support/processes/migrate-until-killed.ts')

/** Runs it up to a statement. False if it finished before that. */
async function killedAt(address: string, statement: number, steps: string): Promise<boolean> {
  const child = Bun.spawn([process.execPath, PROGRAM, address, String(statement), steps], {
    env: { ...process.env, BUN_JSC_useJIT: '0' },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const [stderr] = await Promise.all([new Response(child.stderr).text(), child.exited])
  if (child.signalCode === 'SIGKILL') return true
  expect({ statement, code: child.exitCode, stderr }).toEqual({ statement, code: 0, stderr: '' })
  return false
}

/** An address of a database without tables. */
async function emptyAddress(kind: DatabaseKind): Promise<string> {
  return kind === 'sqlite' ? `${temporaryFolder()}/gateway.sqlite` : postgresUrl({ template: 'template1' })
}

const SHAPES: Record<DatabaseKind, string> = {
  sqlite: `select type, name, sql from sqlite_schema where name not like 'schema_versions' order by type, name`,
  postgres: `select table_name as name, column_name as part, data_type as text from information_schema.columns
      where table_schema = current_schema() and table_name <> 'schema_versions'
    union all select indexname, tablename, indexdef from pg_indexes
      where schemaname = current_schema() and tablename <> 'schema_versions'
    union all select p.proname, pg_get_function_identity_arguments(p.oid), md5(p.prosrc) from pg_proc p
      where p.pronamespace = current_schema()::regnamespace order by 1, 2, 3`,
}

/** Tables, indexes, views and functions as the database lists them. */
const shapeOf = (db: Db): Promise<Row[]> => db.query({ sql: SHAPES[db.kind] })

/** The shapes after each number of steps. */
async function shapesOf(kind: DatabaseKind): Promise<Row[][]> {
  const shapes: Row[][] = []
  for (let count = 0; count <= migrations.length; count++) {
    if (count > 0 && migrations[count - 1]?.length === 0) {
      shapes.push(shapes[count - 1] as Row[])
      continue
    }
    const db = openAddress(await emptyAddress(kind))
    await migrate(db, migrations.slice(0, count))
    shapes.push(await shapeOf(db))
    await db.close()
  }
  return shapes
}

for (const kind of databaseKinds) {
  test.concurrent(`the schema of this version on ${kind}`, async () => {
    const shapes = await shapesOf(kind)
    const address = await emptyAddress(kind)
    const db = openAddress(address)
    let [done, statement, kills] = [0, 1, 0]
    for (; await killedAt(address, statement, 'all'); kills++) {
      const { schema } = await findSchema(db)
      expect({ done, statement, shape: await shapeOf(db) }).toEqual({
        done,
        statement,
        shape: shapes[schema] as Row[],
      })
      // The next process begins with the step behind those that are done.
      statement = schema > done ? 1 : statement + 1
      done = schema
    }
    expect(await findSchema(db)).toMatchObject({ schema: migrations.length })
    expect(await shapeOf(db)).toEqual(shapes.at(-1) as Row[])
    expect(kills).toBeGreaterThan(50)
    await db.close()
  })

  test.concurrent(`a step on rows that are there, on ${kind}`, async () => {
    const address = await emptyAddress(kind)
    const db = openAddress(address)
    await migrate(db, ownSteps.slice(0, 1))
    const rows = () => db.query({ sql: 'select * from things order by id' })
    const before = await rows()
    let statement = 1
    while (await killedAt(address, statement, 'own')) {
      expect({ statement, rows: await rows() }).toEqual({ statement, rows: before })
      expect(await findSchema(db)).toMatchObject({ schema: 1 })
      statement++
    }
    expect(await rows()).toEqual([{ id: 1, word: 'a', weight: 10 }])
    expect(await db.query({ sql: 'select id from others' })).toEqual([{ id: 2 }])
    expect(statement).toBeGreaterThan(8)
    await db.close()
  })
}
