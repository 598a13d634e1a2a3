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
// however their own clocks stand. The time is noted in the database again and again, with the reference at that moment. A
// gateway that starts goes on from there: where the note is fresh, others run, and their time is the one that counts; where
// the reference was set back meanwhile, what had been planned would else wait for the time to come again. Only a node that
// starts in the seconds between a jump of the database's clock and the next note is ahead of the others, or behind.

import { apply, type Db } from '../db/db'

export interface ClockParts {
  /** Milliseconds since some moment, which only pass. */
  monotonic: () => number
  /** Milliseconds since 1970 by a clock that may be set. */
  reference: () => number
  log: (event: string, fields: Record<string, unknown>) => void
  /** What was noted last. */
  noted?: NotedTime | undefined
}

/** Both in milliseconds since 1970. */
export interface NotedTime {
  at: number
  reference: number
}

const DAY_MS = 86_400_000
/** How much faster or slower than time itself it may go, to reach the reference. */
const SLEW = 0.1
/** It is never set back: it goes on at half the speed at least. */
const MOST_SLOWER = 0.5
/** A difference that the operator is told of. */
const JUMP_MS = 10_000
/** How old a note may be, by the reference, that says that others run. */
const FRESH_MS = 60_000
/** A look at the database's clock that takes longer says too little. */
const LONGEST_LOOK_MS = 1_000

/** Milliseconds since 1970, whole, never less than before. */
export function createClock({ monotonic, reference, log, noted }: ClockParts): () => number {
  let at = beginning(reference(), noted)
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

function beginning(reference: number, noted: NotedTime | undefined): number {
  if (!noted) return reference
  const ageMs = reference - noted.reference
  if (ageMs >= 0 && ageMs <= FRESH_MS) return noted.at + ageMs
  // What is more than a day ahead was noted by a clock that was wrong.
  return noted.at > reference && noted.at - reference <= DAY_MS ? noted.at : reference
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

/** The latest time that any process of this database has noted. */
export async function latestTime(db: Db): Promise<NotedTime | undefined> {
  const [row] = await db.query({ sql: `select at, reference from times where name = 'latest'` })
  return row && { at: row.at as number, reference: row.reference as number }
}

/**
 * The gateway's time for a command beside it, whose own machine may tell another: what the nodes of the database go by.
 * `wall` is the machine's clock.
 */
export async function gatewayTime(db: Db, wall: number): Promise<number> {
  const reference = db.kind === 'postgres' ? await timeOf(db) : wall
  return Math.floor(beginning(reference, await latestTime(db)))
}

/** Notes the time for whoever starts next. */
export async function noteTime(db: Db, { at, reference }: NotedTime): Promise<void> {
  await apply(db, [
    {
      sql: `insert into times (name, at, reference) values ('latest', $1, $2)
        on conflict (name) do update set at = $1, reference = $2 where times.at < $1 or times.at > $3`,
      parameters: [at, reference, at + DAY_MS],
    },
  ])
}
