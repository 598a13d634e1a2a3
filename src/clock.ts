// The gateway's own time, which never jumps: all that is stored, or compared with what is stored, is told by it.
//
// Three clocks, and what each is for:
// - `monotonic`: waits and deadlines inside this process. No change of the machine's time reaches it.
// - `now`: holds, tasks, polls, leases, retries, limits, budgets, lifetimes, and the times that users read. It begins at
//   the reference, goes on with the monotonic clock, and turns to the reference by a small part of the time that passes.
//   A jump of the reference by hours is made up for within a day: a wrong one that is put right changes next to nothing,
//   and a clock that was wrong at boot is followed in the end.
// - `wall`: only where others compare our time with theirs at once, as in the signature of a webhook.
//
// The reference is the machine's clock on SQLite. On PostgreSQL it is the database's, so that all nodes tell one time
// however their own clocks stand. The latest time is noted in the database: a gateway that starts after the reference was
// set back goes on from there, or what had been planned would wait for the time to come again.

import { apply, type Db } from './db/db'

export interface ClockParts {
  /** Milliseconds since some moment, which only pass. */
  monotonic: () => number
  /** Milliseconds since 1970 by a clock that may be set. */
  reference: () => number
  log: (event: string, fields: Record<string, unknown>) => void
  /** The time to go on from where the reference is behind it, in milliseconds since 1970. */
  notedAt?: number
}

const DAY_MS = 86_400_000
/** How much faster or slower than time itself it may go, to reach the reference. */
const SLEW = 0.1
/** It is never set back: it goes on at half the speed at least. */
const MOST_SLOWER = 0.5
/** A difference that the operator is told of. */
const JUMP_MS = 10_000
/** A look at the database's clock that takes longer says too little. */
const LONGEST_LOOK_MS = 1_000

/** Milliseconds since 1970, whole, never less than before. */
export function createClock({ monotonic, reference, log, notedAt = 0 }: ClockParts): () => number {
  const begunAt = reference()
  // What is more than a day ahead was noted by a clock that was wrong.
  let at = notedAt > begunAt && notedAt - begunAt <= DAY_MS ? notedAt : begunAt
  let seenAt = monotonic()
  /** The largest difference since they last agreed, which is made up for within a day. */
  let jumpMs = 0

  return () => {
    const elapsedMs = Math.max(0, monotonic() - seenAt)
    seenAt += elapsedMs
    at += elapsedMs
    const differenceMs = reference() - at
    const sizeMs = Math.abs(differenceMs)
    if (sizeMs >= JUMP_MS && sizeMs > 2 * jumpMs) log('clock_jumped', { by_ms: Math.round(differenceMs) })
    jumpMs = Math.max(jumpMs, sizeMs)
    const slew = Math.max(SLEW, jumpMs / DAY_MS)
    const mostMs = elapsedMs * (differenceMs < 0 ? Math.min(slew, MOST_SLOWER) : slew)
    if (sizeMs <= mostMs) jumpMs = 0
    at += Math.max(-mostMs, Math.min(mostMs, differenceMs))
    return Math.floor(at)
  }
}

export interface Reference {
  at: () => number
  /** Looks again at a clock that is not this machine's. What cannot be told now is left as it was. */
  look(): Promise<void>
}

/** The database's clock as this process knows it, by looks that are some seconds apart. */
export async function followDatabase(
  tell: () => Promise<number>,
  monotonic: () => number,
): Promise<Reference> {
  let aheadMs: number | undefined
  async function look(): Promise<void> {
    const before = monotonic()
    const told = await tell()
    const after = monotonic()
    if (aheadMs === undefined || after - before <= LONGEST_LOOK_MS) aheadMs = told - (before + after) / 2
  }
  await look()
  return { at: () => monotonic() + (aheadMs ?? 0), look }
}

/** The time of the database's machine. */
export async function timeOf(db: Db): Promise<number> {
  const [row] = await db.query({
    sql: 'select cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint) as now',
  })
  return row?.now as number
}

/** The latest time that any process of this database has noted; 0 before the first. */
export async function latestTime(db: Db): Promise<number> {
  const [row] = await db.query({ sql: `select at from times where name = 'latest'` })
  return (row?.at as number | undefined) ?? 0
}

/** Notes the time for the next start. */
export async function noteTime(db: Db, now: number): Promise<void> {
  await apply(db, [
    {
      sql: `insert into times (name, at) values ('latest', $1)
        on conflict (name) do update set at = $1 where times.at < $1 or times.at > $2`,
      parameters: [now, now + DAY_MS],
    },
  ])
}
