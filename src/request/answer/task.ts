// Answers with a task that the vendor has begun, or may have begun. The charge must stay open: it ends with the task.

import type { TaskFamily } from '../../contract/family'
import { waitOf } from '../../lib/waiting'
import { type TaskAnswer, waitForTask } from '../../tasks/wait'
import type { Line } from '../ending'
import type { Reservation } from '../reservation'
import type { TaskBegun } from './answer'
import { submitTask } from './submit-task'

export async function answerTask(
  line: Line,
  reservation: Reservation,
  family: TaskFamily,
): Promise<TaskBegun> {
  const { task } = reservation
  if (!task) throw new Error(`${family.name} has no task`)
  const { status, body } = await submitTask(line, reservation, family, task)
  return { kind: 'task', status, body }
}

/**
 * The task when the caller's wait ends; undefined if it has not ended, or nobody waits. Never throws: the vendor has begun, and
 * after an error clients would send the request again.
 */
export async function endOfTask(
  { world, reservations }: Line,
  { request: { parsed, key }, task, charge }: Reservation,
  caller: { waitMs: number; signal(): AbortSignal },
): Promise<TaskAnswer | undefined> {
  const waitMs = Math.max(caller.waitMs, waitOf((parsed.body as { wait?: unknown }).wait))
  if (!task || waitMs === 0) return undefined
  const leaves = () => reservations.isDraining || caller.signal().aborted
  try {
    return await waitForTask(world, task.id, key.account, world.monotonic() + waitMs, leaves)
  } catch (error) {
    world.log('task_wait_failed', { request: charge.id, task: task.id, error: String(error) })
    return undefined
  }
}
