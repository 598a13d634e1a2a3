// Copies all rows of one database into an empty one of the other kind, which has the same tables. One side is always
// SQLite, whose catalogue lists the tables. It must never interpret what it copies, or write a row twice.

import { apply, DatabaseUnavailable, type Db, type Row, type Statement, type Value } from './db'
import { openSqlite } from './drivers/sqlite'
import { migrate } from './migrations'

/** A source of rows: all of them belong to one snapshot. */
export type TableSource = Pick<Db, 'kind' | 'query'>

export interface Table {
  name: string
  columns: readonly Column[]
  /** Columns by which rows can be read in order: those of the primary key, or SQLite's row id. */
  order: readonly string[]
}

interface Column {
  name: string
  isText: boolean
}

/** Where to continue in a table: the values of the ordering columns in the last row that was read. */
type Position = readonly Value[]

/** Number of rows per read, at first; later as many as fit in a page of about `PAGE_BYTES`. */
export const FIRST_ROWS = 64
const MAX_ROWS = 4096
const PAGE_BYTES = 2_000_000
/** Sizes of the statements that insert several rows: only a few, because each is prepared once and kept. */
const CHUNKS = [128, 16, 1]
const ROW_NUMBER = 'rowid'
/** Tables that each database fills itself. */
const OWN_TABLES = ['schema_versions', 'copied_tables']

/** All tables whose rows are copied, from the catalogue of a SQLite database. */
export async function tablesOf(sqlite: TableSource): Promise<Table[]> {
  const found = await sqlite.query({
    sql: `select name, wr from pragma_table_list where schema = 'main' and type = 'table'
      and name not like 'sqlite\\_%' escape '\\' order by name`,
  })
  const tables: Table[] = []
  for (const { name, wr } of found) {
    if (OWN_TABLES.includes(name as string)) continue
    const columns = await sqlite.query({
      sql: 'select name, type, pk from pragma_table_info($1) order by cid',
      parameters: [name as string],
    })
    const key = columns.filter(({ pk }) => (pk as number) > 0)
    key.sort((left, right) => (left.pk as number) - (right.pk as number))
    tables.push({
      name: name as string,
      columns: columns.map((column) => ({
        name: column.name as string,
        isText: (column.type as string).toLowerCase() === 'text',
      })),
      order: wr ? key.map((column) => column.name as string) : [ROW_NUMBER],
    })
  }
  return tables
}

/** Reads a table of a SQLite database in pages, after a position. */
export async function* pagesOf(
  sqlite: TableSource,
  table: Table,
  from: Position | undefined,
): AsyncGenerator<{ rows: Row[]; position: Position }> {
  const order = table.order.join(', ')
  const numbered = table.order[0] === ROW_NUMBER ? `${ROW_NUMBER} as ${ROW_NUMBER}, *` : '*'
  let [position, limit] = [from, FIRST_ROWS]
  for (;;) {
    const marks = table.order.map((_, index) => `$${index + 1}`).join(', ')
    const behind = position ? `where (${order}) > (${marks})` : ''
    const rows = await sqlite.query({
      sql: `select ${numbered} from ${table.name} ${behind} order by ${order} limit ${limit}`,
      parameters: [...(position ?? [])],
    })
    const last = rows.at(-1)
    if (!last) return
    position = table.order.map((name) => last[name] as Value)
    yield { rows, position }
    limit = nextLimit(rows, limit)
  }
}

/** Rows of the next page, judged by the previous one: texts of a row can have megabytes. */
export function nextLimit(rows: readonly Row[], limit: number): number {
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0)
  const fitting = Math.floor((rows.length * PAGE_BYTES) / Math.max(bytes, 1))
  return Math.max(1, Math.min(fitting, 2 * limit, MAX_ROWS))
}

function bytesOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => sum + String(value ?? '').length + 8, 0)
}

/** Statements that insert rows. */
export function insertsOf({ name, columns }: Table, rows: readonly Row[]): Statement[] {
  const statements: Statement[] = []
  const names = columns.map((column) => column.name).join(', ')
  let next = 0
  for (const size of CHUNKS) {
    const places = Array.from({ length: size }, (_, row) =>
      columns.map((_column, column) => `$${row * columns.length + column + 1}`).join(', '),
    )
    const sql = `insert into ${name} (${names}) values (${places.join('), (')})`
    for (; rows.length - next >= size; next += size) {
      const chunk = rows.slice(next, next + size)
      const parameters = chunk.flatMap((row) => columns.map((column) => row[column.name] ?? null))
      statements.push({ sql, parameters })
    }
  }
  return statements
}

/** Called after each page with the number of rows of a table that have been copied so far. */
export type OnProgress = (table: string, rows: number) => void

/**
 * Copies a SQLite database into another one, which is empty except for rows that an earlier call has copied from the same database:
 * an interrupted call is continued. The target stores the progress with each page. `seeded` are tables in which a new database
 * already has rows.
 */
export async function copyFromSqlite(
  sqlite: TableSource,
  to: Db,
  { seeded, onProgress }: { seeded: readonly string[]; onProgress: OnProgress },
): Promise<void> {
  await apply(to, [
    {
      sql: 'create table if not exists copied_tables (name text primary key, position text, copied bigint not null)',
    },
  ])
  const done = await to.query({ sql: 'select name, position, copied from copied_tables' })
  for (const table of await tablesOf(sqlite)) {
    const before = done.find(({ name }) => name === table.name)
    const from = before?.position ? (JSON.parse(before.position as string) as Position) : undefined
    let copied = (before?.copied as number | undefined) ?? 0
    if (!before && seeded.includes(table.name)) await apply(to, [emptied(table.name)])
    onProgress(table.name, copied)
    for await (const { rows, position } of pagesOf(sqlite, table, from)) {
      copied += rows.length
      const note: Statement = {
        sql: `insert into copied_tables (name, position, copied) values ($1, $2, $3)
          on conflict (name) do update set position = excluded.position, copied = excluded.copied`,
        parameters: [table.name, JSON.stringify(position), copied],
      }
      await apply(to, [...insertsOf(table, rows), note])
      onProgress(table.name, copied)
    }
  }
}

/** Whether a database contains an unfinished copy. */
export async function isUnfinished(db: TableSource): Promise<boolean> {
  if (db.kind === 'sqlite') return false
  const found = await db.query({
    sql: `select 1 as one from information_schema.tables where table_name = 'copied_tables' and table_schema = current_schema()`,
  })
  return found.length > 0
}

/** Fails for a partly copied database: it looks complete, but lacks rows. */
export async function requireWholeCopy(db: TableSource): Promise<void> {
  if (!(await isUnfinished(db))) return
  throw new DatabaseUnavailable(
    'it holds an interrupted move. To continue: gateway move with the same --to. To start over: the same with --anew',
  )
}

/** Removes an unfinished copy and all its rows, so that it can start again. */
export async function dropCopy(to: Db, tables: readonly Table[]): Promise<void> {
  if (!(await isUnfinished(to))) return
  await apply(to, [emptied('copied_tables'), ...tables.map(({ name }) => emptied(name))])
}

/** The statement that removes the rows that a new database has in a table. */
export function emptied(table: string): Statement {
  return { sql: `delete from ${table}` }
}

/** Names of tables in which a new database has rows. */
export async function seededTables(): Promise<string[]> {
  const db = openSqlite(':memory:')
  try {
    await migrate(db)
    return await filledTables(db, await tablesOf(db))
  } finally {
    await db.close()
  }
}

/** Removes the progress of a copy. The target is then a normal database. */
export async function endCopy(to: Db): Promise<void> {
  await apply(to, [{ sql: 'drop table copied_tables' }])
}

/** Tables whose rows differ between two databases, each with the difference; empty if they are equal. */
export async function differencesOf(
  one: TableSource,
  other: TableSource,
  tables: Table[],
): Promise<string[]> {
  const faults: string[] = []
  for (const table of tables) {
    const [left, right] = [await totalsOf(one, table), await totalsOf(other, table)]
    const names = Object.keys(left).filter((name) => left[name] !== right[name])
    faults.push(...names.map((name) => `${table.name}: ${name} is ${left[name]} and ${right[name]}`))
  }
  return faults
}

/** The number of rows of a table, the sum of each column of numbers, and the length of each column of text. */
export async function totalsOf(db: TableSource, { name, columns }: Table): Promise<Row> {
  const sums = columns.map((column) => {
    if (column.isText) return `cast(coalesce(sum(length(${column.name})), 0) as text) as ${column.name}`
    // In two parts: the sum of millions of times would overflow.
    const [high, low] = ['/', '%'].map(
      (sign) => `cast(coalesce(sum(${column.name} ${sign} 1000000), 0) as text)`,
    )
    return `${high} || ' ' || ${low} as ${column.name}`
  })
  const [row] = await db.query({ sql: `select count(*) as rows_in_all, ${sums.join(', ')} from ${name}` })
  return row as Row
}

/** The names of tables that have rows. */
export async function filledTables(db: TableSource, tables: readonly Table[]): Promise<string[]> {
  const filled: string[] = []
  for (const { name } of tables) {
    const [row] = await db.query({ sql: `select 1 as one from ${name} limit 1` })
    if (row) filled.push(name)
  }
  return filled
}
