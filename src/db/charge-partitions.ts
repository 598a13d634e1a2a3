// The partitions of ended charges on PostgreSQL, one a month, made before their month begins, and dropped when all their
// charges are closed. Without them charges go to the partition for all others, and nothing but speed is lost.

import { apply, type Db, type Statement, tryApply } from './db'

/** Months that are made ahead, besides the one that has begun. */
const MONTHS_AHEAD = 2

export async function makeChargePartitions(db: Db, now: number): Promise<void> {
  if (db.kind !== 'postgres') return
  const begun = new Date(now)
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
    const start = Date.UTC(begun.getUTCFullYear(), begun.getUTCMonth() + ahead)
    const end = Date.UTC(begun.getUTCFullYear(), begun.getUTCMonth() + ahead + 1)
    const name = `ended_charges_${new Date(start).toISOString().slice(0, 7).replace('-', '_')}`
    const [found] = await db.query({
      sql: `select cast(relkind as text) as kind, to_regclass($1) is not null as is_there from pg_class
        where oid = to_regclass('ended_charges')`,
      parameters: [name],
    })
    // A server without partitions has a plain table.
    if (found?.kind !== 'p' || found.is_there) continue
    // Attached instead of made in place: charges are written meanwhile.
    await apply(db, [
      { sql: `set local lock_timeout = '1s'` },
      { sql: `create table ${name} (like ended_charges including defaults including constraints)` },
      { sql: `alter table ended_charges attach partition ${name} for values from (${start}) to (${end})` },
    ])
  }
}

/** Drops partitions of months that ended before a time, if all their charges stand at a position or before it. */
export async function dropClosedPartitions(
  db: Db,
  { position, endedBefore }: { position: number; endedBefore: number },
): Promise<string[]> {
  if (db.kind !== 'postgres') return []
  const found = await db.query({
    sql: `select cast(c.relname as text) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass('ended_charges') order by 1`,
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
      // Settlements wait behind this lock: rather none today than a long one.
      { sql: `set local lock_timeout = '100ms'` },
      { sql: 'lock table ended_charges in access exclusive mode' },
      holdsNone,
      { sql: `drop table ${name}` },
    ])
    if (isDropped) dropped.push(name)
  }
  return dropped
}
