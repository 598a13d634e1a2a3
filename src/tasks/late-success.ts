// Handles a success that is reported after its task has failed: the hold is released by then, but the video exists. An additional
// charge at the prices of the hold takes only the available balance. A success must be charged once, however often it is reported,
// and a task that was stopped on purpose must never be charged.

import { noteSpender } from '../billing/ledger/charge-statements'
import { type Charge, findEndedCharge, openUnheld } from '../billing/ledger/ledger'
import { countedPeriods } from '../billing/ledger/limits'
import { type Db, tryApply } from '../db/db'
import { findTask } from './find'
import { type EndOptions, type SettledTask, type Success, succeed } from './finish'
import { ASK_AGAIN_MS } from './leases'
import type { Task } from './task'
import { stageOf } from './transitions'

/** Maximum difference between the clocks of nodes, in milliseconds. */
const CLOCKS_MS = 60_000
/** How much longer its charge may stay open, in milliseconds, for the last poll. */
const CHARGE_MARGIN_MS = 60_000

/** Turns a task from failed to succeeded. Undefined if it did not fail, was stopped, or was already changed. */
export async function succeedLate(
  db: Db,
  { id }: Task,
  ending: Success,
  options: EndOptions,
): Promise<SettledTask | undefined> {
  const failed = await findTask(db, null, id)
  if (!failed) return undefined
  // The success may have been seen before the failure was stored; its webhook must still be the last one.
  const now = Math.max(options.now, (failed.endedAt ?? 0) + 1)
  const charge = await lateCharge(db, failed, now)
  if (!charge) return undefined
  return succeed(db, failed, charge, ending, { ...options, now, first: [await openUnheld(db, charge)] })
}

/**
 * Reopens a failed task, so that its vendor is polled again. False if there is nothing to ask. `now` may be the time of a
 * machine whose clock differs from that of the nodes: the first poll sets the deadline (`claimDue`).
 */
export async function askAgain(db: Db, task: Task, now: number): Promise<boolean> {
  const charge = await lateCharge(db, task, now + ASK_AGAIN_MS + CHARGE_MARGIN_MS)
  if (!charge) return false
  return tryApply(db, [
    await openUnheld(db, charge),
    ...noteSpender(charge),
    {
      sql: `update tasks set state = 'submitted', charge = $3, document = null, error_code = null, error_message = null,
          ended_at = null, poll_at = created_at, deadline_at = created_at, misses = 0, missing = 0, cancel_at = null,
          cancel_answer = null, fence = fence + 1
        where id = $1 and fence = $2 and state = 'failed'`,
      parameters: [task.id, task.fence, charge.id],
      guard: true,
    },
  ])
}

/** The charge of a video whose hold was released, named after that hold, so that there cannot be two. */
async function lateCharge(db: Db, task: Task, expiresAt: number): Promise<Charge | undefined> {
  if (stageOf(task) !== 'failed') return undefined
  const released = await findEndedCharge(db, task.charge, task.createdAt - CLOCKS_MS)
  if (!released) return undefined
  const periods = await countedPeriods(db, released, task.spenderId)
  return { ...released, ...periods, id: `${released.id}:late`, heldNano: 0, expiresAt }
}
