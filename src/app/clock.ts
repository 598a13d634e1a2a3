// The gateway's own time, which must never jump: everything that is stored, or compared with stored times, uses it.
//
// Three clocks, and their uses:
// - `monotonic`: waits and deadlines within this process. Changes of the machine's time never reach it.
// - `now`: holds, tasks, polls, leases, retries, limits, budgets, lifetimes, and times that users read. It starts at
// the reference, runs with the monotonic clock, and slowly approaches the reference. A jump of the reference by hours is corrected
// within a day: a wrong jump that is reversed changes almost nothing, and a clock that was wrong at boot is followed in the end. -
// `wall`: only where others compare our time with theirs at once, as in the signature of a webhook.
//
// The reference is the machine's clock on SQLite. On PostgreSQL it is the database's, so that all nodes agree whatever
// their own clocks say. The time is recorded in the database regularly, with the reference at that moment, and a starting gateway
// continues from the record. A fresh record means that other nodes run, whose time counts; if the reference was set back meanwhile,
// planned work would otherwise wait for the time to come again. Only a node that starts in the seconds between a jump of the
// database's clock and the next record differs from the others. Nodes that started at different times remember different jumps and
// approach the reference at different speeds; none of them falls behind the latest note, so that they stay within seconds of each
// other, as leases require.

import { apply, type Db } from '../db/db'

interface ClockParts {
  /** Milliseconds since some moment; never decreases. */
  monotonic: () => number
  /** Milliseconds since 1970 by a clock that may be set. */
  reference: () => number
  log: (event: string, fields: Record<string, unknown>) => void
  /** The last noted time. */
  noted?: NotedTime | undefined
  /** A time that other processes have certainly reached: until then, the clock runs slightly faster. */
  reached?: () => number
}

/** Two times, both in milliseconds since 1970. */
export interface NotedTime {
  at: number
  reference: number
}

const DAY_MS = 86_400_000
/** Maximum share by which the clock runs faster or slower to approach the reference. */
const SLEW = 0.1
/** The clock is never set back: it runs at half speed at least. */
const MAX_SLOWDOWN = 0.5
/** Maximum speed at which the clock follows processes that are ahead: enough to make up for a jump of half a day. */
const KEEP_UP = 1.5
/** The difference from which it is logged, in milliseconds. */
const JUMP_MS = 10_000
/** Maximum age of a record that means that other nodes run, in milliseconds of the reference. */
const FRESH_MS = 60_000
/** Maximum useful duration of a query of the database's clock, in milliseconds: slower ones are too inexact. */
const MAX_READ_MS = 1_000

/** Creates the clock: milliseconds since 1970, whole, never less than before. */
export function createClock(parts: ClockParts): () => number {
  const { monotonic, reference, log, noted, reached = () => 0 } = parts
  let at = beginning(reference(), noted)
  let seenAt = monotonic()
  /** The largest difference since the clocks last agreed; made up for within a day. */
  let jumpMs = 0

  return () => {
    const elapsedMs = Math.max(0, monotonic() - seenAt)
    seenAt += elapsedMs
    const mostAhead = at + elapsedMs * KEEP_UP
    at += elapsedMs
    const differenceMs = reference() - at
    const sizeMs = Math.abs(differenceMs)
    if (sizeMs >= JUMP_MS && sizeMs > 2 * jumpMs) log('clock_jumped', { by_ms: Math.round(differenceMs) })
    jumpMs = Math.max(jumpMs, sizeMs)
    const slew = Math.max(SLEW, jumpMs / DAY_MS)
    const mostMs = elapsedMs * (differenceMs < 0 ? Math.min(slew, MAX_SLOWDOWN) : slew)
    if (sizeMs <= mostMs) jumpMs = 0
    at += Math.max(-mostMs, Math.min(mostMs, differenceMs))
    at = Math.max(at, Math.min(mostAhead, reached()))
    return Math.floor(at)
  }
}

function beginning(reference: number, noted: NotedTime | undefined): number {
  if (!noted) return reference
  const ageMs = reference - noted.reference
  if (ageMs >= 0 && ageMs <= FRESH_MS) return noted.at + ageMs
  // A record more than a day ahead was written by a wrong clock.
  return noted.at > reference && noted.at - reference <= DAY_MS ? noted.at : reference
}

/** The clock of a process on a database. `followTime` reads the reference, and records the time for other processes. */
export async function openClock(
  db: Db,
  reference: Reference,
  { monotonic, log }: Pick<ClockParts, 'monotonic' | 'log'>,
): Promise<{ now: () => number; followTime(): Promise<void> }> {
  const reached = new ReachedTime(monotonic)
  const noted = await latestTime(db)
  const now = createClock({ monotonic, reference: reference.at, log, noted, reached: reached.at })
  return {
    now,
    async followTime() {
      await reference.refresh()
      await noteTime(db, { at: now(), reference: Math.floor(reference.at()) })
      await reached.refresh(db)
    },
  }
}

export interface Reference {
  at: () => number
  /** Reads a reference that is not this machine's clock. On failure the last reading stays. */
  refresh(): Promise<void>
}

/** The database's clock as this process knows it, from readings that are some seconds apart. */
export async function followDatabase(
  read: () => Promise<number>,
  monotonic: () => number,
): Promise<Reference> {
  let aheadMs: number | undefined
  async function refresh(): Promise<void> {
    const before = monotonic()
    const answered = await read()
    const after = monotonic()
    if (aheadMs === undefined || after - before <= MAX_READ_MS) aheadMs = answered - (before + after) / 2
  }
  await refresh()
  return { at: () => monotonic() + (aheadMs ?? 0), refresh }
}

/** The time of the database's machine. */
export async function timeOf(db: Db): Promise<number> {
  const [row] = await db.query({
    sql: 'select cast(floor(extract(epoch from clock_timestamp()) * 1000) as bigint) as now',
  })
  return row?.now as number
}

/** The latest time that any process of this database has recorded. */
export async function latestTime(db: Db): Promise<NotedTime | undefined> {
  const [row] = await db.query({ sql: `select at, reference from times where name = 'latest'` })
  return row && { at: row.at as number, reference: row.reference as number }
}

/**
 * The gateway's time for a command whose machine may have another time: that of the database's nodes. `wall` is the
 * machine's clock.
 */
export async function gatewayTime(db: Db, wall: number): Promise<number> {
  const reference = db.kind === 'postgres' ? await timeOf(db) : wall
  return Math.floor(beginning(reference, await latestTime(db)))
}

/** The time that the processes of a database have surely reached, by the latest note: their clocks run at half speed at least. */
export class ReachedTime {
  private notedAt = 0
  private readAtMs = 0

  constructor(private readonly monotonic: () => number) {}

  async refresh(db: Db): Promise<void> {
    const noted = await latestTime(db)
    if (noted) [this.notedAt, this.readAtMs] = [noted.at, this.monotonic()]
  }

  readonly at = (): number => this.notedAt + (this.monotonic() - this.readAtMs) * MAX_SLOWDOWN
}

/** Records the time for processes that start later. */
export async function noteTime(db: Db, { at, reference }: NotedTime): Promise<void> {
  await apply(db, [
    {
      sql: `insert into times (name, at, reference) values ('latest', $1, $2)
        on conflict (name) do update set at = $1, reference = $2 where times.at <= $1 or times.at > $3`,
      parameters: [at, reference, at + DAY_MS],
    },
  ])
}
