// The partitions of ended charges on PostgreSQL, one a month, made before their month begins. Without them charges go to
// the partition for all others, and nothing but speed is lost.

import { apply, type Db } from './db'

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
