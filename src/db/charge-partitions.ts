// The monthly partitions of ended charges on PostgreSQL: created before their month begins, and dropped when all their
// charges are closed. Without them charges go to the default partition, which only costs speed.

import { apply, type Db, type Statement, tryApply } from './db'

/** Number of months that are created ahead, in addition to the current one. */
const MONTHS_AHEAD = 2

/** The table of ended charges. On a server without partitions it is a plain table, as on SQLite. */
export async function tableOfCharges(db: Db): Promise<{ name: string; hasPartitions: boolean }> {
  if (db.kind === 'sqlite') return { name: 'ended_charges', hasPartitions: false }
  const [row] = await db.query({
    sql: `select cast(relname as text) as name, cast(relkind as text) as kind from pg_class
      where oid = coalesce(to_regclass('stored_charges'), to_regclass('ended_charges'))`,
  })
  return { name: row?.name as string, hasPartitions: row?.kind === 'p' }
}

export async function makeChargePartitions(db: Db, now: number): Promise<void> {
  const table = await tableOfCharges(db)
  if (!table.hasPartitions) return
  const begun = new Date(now)
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
    const start = Date.UTC(begun.getUTCFullYear(), begun.getUTCMonth() + ahead)
    const end = Date.UTC(begun.getUTCFullYear(), begun.getUTCMonth() + ahead + 1)
    const name = `ended_charges_${new Date(start).toISOString().slice(0, 7).replace('-', '_')}`
    const [found] = await db.query({
      sql: `select to_regclass($1) is not null as is_there`,
      parameters: [name],
    })
    if (found?.is_there) continue
    // Attached instead of created in place: charges are written meanwhile.
    await apply(db, [
      { sql: `set local lock_timeout = '1s'` },
      { sql: `create table ${name} (like ${table.name} including defaults including constraints)` },
      { sql: `alter table ${table.name} attach partition ${name} for values from (${start}) to (${end})` },
    ])
  }
}

/** Drops partitions of months that ended before a time, if all their charges are at or before a position. */
export async function dropClosedPartitions(
  db: Db,
  { position, endedBefore }: { position: number; endedBefore: number },
): Promise<string[]> {
  const table = await tableOfCharges(db)
  if (!table.hasPartitions) return []
  const found = await db.query({
    sql: `select cast(c.relname as text) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass($1) order by 1`,
    parameters: [table.name],
  })
  const dropped: string[] = []
  for (const { name } of found as { name: string }[]) {
    const [, year, month] = /^ended_charges_(\d{4})_(\d\d)$/.exec(name) ?? []
    if (year === undefined || Date.UTC(Number(year), Number(month)) > endedBefore) continue
    const holdsNone: Statement = {
      sql: `select 1 as one where not exists (select 1 from ${name} where position > $1)`,
      parameters: [position],
      guard: true,
    }
    if ((await db.query(holdsNone)).length === 0) continue
    const isDropped = await tryApply(db, [
      // Settlements wait for this lock, so it is better to skip this run than to hold it long.
      { sql: `set local lock_timeout = '100ms'` },
      { sql: `lock table ${table.name} in access exclusive mode` },
      holdsNone,
      { sql: `drop table ${name}` },
    ])
    if (isDropped) dropped.push(name)
  }
  return dropped
}
