// Leases of tasks: a node claims due tasks, and returns each with the time of its next poll. Two nodes must never hold a task at
// once. A node that has lost its lease can change nothing any more, because the fence has changed.

import { apply, type Db, tryApply } from '../db/db'
import { type Task, taskOfRow, taskTextPlace } from './task'

/** How long a vendor is polled about a reopened task, in milliseconds: several polls, and time to copy the video. */
export const ASK_AGAIN_MS = 60_000

/** Whether any task waits for its vendor. */
export async function hasOpenTasks(db: Db): Promise<boolean> {
  const rows = await db.query({ sql: `select 1 as open from tasks where state = 'submitted' limit 1` })
  return rows.length > 0
}

/** Number of due tasks of an upstream, at most `limit`. */
export async function countDue(db: Db, upstream: string, now: number, limit: number): Promise<number> {
  const rows = await db.query({
    sql: `select count(*) as due from (select 1 from tasks where upstream = $1 and state = 'submitted'
      and upstream_id is not null and poll_at <= $2 and lease_until <= $2 limit $3) as found`,
    parameters: [upstream, now, limit],
  })
  return Number(rows[0]?.due ?? 0)
}

/** Takes as many of the wanted polls as fit into this second's limit, which all nodes share. Returns how many. */
export async function reservePolls(
  db: Db,
  upstream: string,
  { wanted, pollsPerSecond, now }: { wanted: number; pollsPerSecond: number; now: number },
): Promise<number> {
  const second = Math.floor(now / 1000)
  const [row] = await db.query({
    sql: 'select polls from poll_windows where upstream = $1 and second = $2',
    parameters: [upstream, second],
  })
  const count = Math.min(wanted, pollsPerSecond - Number(row?.polls ?? 0))
  if (count <= 0) return 0
  const isTaken = await tryApply(db, [
    {
      sql: `insert into poll_windows (upstream, second, polls) values ($1, $2, $3)
        on conflict (upstream) do update set second = $2,
          polls = case when poll_windows.second = $2 then poll_windows.polls + $3 else $3 end
        where poll_windows.second <> $2 or poll_windows.polls + $3 <= $4`,
      parameters: [upstream, second, count, pollsPerSecond],
      guard: true,
    },
  ])
  return isTaken ? count : 0
}

/**
 * Claims due tasks, so that no other node or beat polls them before the lease expires. The time of a reopened task, whose deadline
 * is its creation until then, begins here: by the clock of the polling node, not of the machine that reopened it.
 */
export async function claimDue(
  db: Db,
  upstream: string,
  now: number,
  options: { limit: number; leaseMs: number },
): Promise<Task[]> {
  const [rows = []] = await apply(db, [
    {
      // The conditions are repeated because another node may have taken a row between the choice and the change. The second time,
      // the state is expressed by its end: with the index of states SQLite would read every open task instead of the chosen ones.
      sql: `update tasks set lease_until = $3, fence = fence + 1,
          deadline_at = case when deadline_at = created_at then $2 + $5 else deadline_at end where id in (
          select id from tasks where upstream = $1 and state = 'submitted' and upstream_id is not null
            and poll_at <= $2 and lease_until <= $2 order by poll_at, id limit $4)
        and ended_at is null and poll_at <= $2 and lease_until <= $2 returning *`,
      parameters: [upstream, now, now + options.leaseMs, options.limit, ASK_AGAIN_MS],
    },
  ])
  return rows.map((row) => taskOfRow(db, row))
}

/** Extends a lease beyond the time of polls. False if the lease was lost. */
export async function extendLease(db: Db, task: Task, until: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `update tasks set lease_until = $3 where id = $1 and fence = $2 and state = 'submitted'`,
      parameters: [task.id, task.fence, until],
      guard: true,
    },
  ])
}

/** The changes that are written when a task is returned. */
export interface Postponement {
  pollAt: number
  misses: number
  missing: number
  document: string | null
}

/**
 * Returns a task that has not ended. `cancelAnswer` is why its vendor did not stop it, if it was asked to. False if the lease was
 * lost.
 */
export async function postpone(
  db: Db,
  task: Task,
  next: Postponement,
  cancelAnswer: string | null,
): Promise<boolean> {
  return tryApply(db, [
    {
      // A request to stop that arrived during this poll is left for the next one.
      sql: `update tasks set poll_at = case when cancel_at is not null and cancel_at <> $6 then created_at else $3 end,
          misses = $4, missing = $8, document = $5, polls = polls + 1, lease_until = 0,
          cancel_answer = coalesce($7, cancel_answer),
          cancel_at = case when cancel_at = $6 then null else cancel_at end
        where id = $1 and fence = $2 and state = 'submitted'`,
      parameters: [
        task.id,
        task.fence,
        next.pollAt,
        next.misses,
        next.document === null ? null : db.codec.encode(next.document, taskTextPlace(task.id, 'document')),
        task.cancelAt ?? -1,
        cancelAnswer,
        next.missing,
      ],
      guard: true,
    },
  ])
}

/**
 * Requests that the next poll stops the task, at once by any clock. False if it has ended, or the vendor's id is
 * unknown.
 */
export async function requestCancel(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `update tasks set cancel_at = $2, cancel_answer = null, poll_at = created_at
        where id = $1 and state = 'submitted' and upstream_id is not null`,
      parameters: [id, now],
      guard: true,
    },
  ])
}

/** Ends the leases of a dead process. Only for a database that no other process uses. */
export async function forgetTaskLeases(db: Db): Promise<void> {
  await apply(db, [{ sql: `update tasks set lease_until = 0 where state = 'submitted' and lease_until > 0` }])
}
