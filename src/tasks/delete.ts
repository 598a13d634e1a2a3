// Deletes a task for its account, with its stored results. A running one is stopped first, as far as its vendor can; a task must
// never be deleted while its charge is open.

import type { Artifacts } from '../artifacts/artifacts'
import type { Db } from '../db/db'
import { deleteResult } from '../kept-responses/results'
import { GatewayError } from '../lib/errors'
import type { System } from '../lib/system'
import { begunAlready, stopDeferred } from './deferred'
import { findTask } from './find'
import { requestCancel } from './leases'
import { deleteEnded } from './rows'
import { isDeferred, type Task } from './task'

export interface DeleteWorld extends Pick<System, 'now' | 'monotonic' | 'after' | 'newId' | 'log'> {
  /** Null if results are not stored. */
  artifacts: Artifacts | null
  db: Db
}

/** How long a caller waits for a vendor to stop a task, in milliseconds: a poll may take twenty seconds. */
const STOP_MS = 30_000
const CHECK_MS = 250
/** End of the id of a charge for a success after a failure; results may belong to the charge before. */
const LATE = /:late$/

/** Deletes a task. Throws 409 if it is still running, and 503 if its results cannot be deleted now. */
export async function deleteTaskOf(world: DeleteWorld, task: Task, leaves: () => boolean): Promise<void> {
  const ended = task.state === 'submitted' ? await stopAny(world, task, leaves) : task
  // Another request may have deleted the task meanwhile, which is the requested result.
  if (!ended) return
  if (ended.state === 'submitted') throw goesOn(ended)
  try {
    if (isDeferred(ended)) await deleteResult(world.db, ended, world.now())
    for (const charge of new Set([ended.charge, ended.charge.replace(LATE, '')]))
      await world.artifacts?.removeOf(charge)
  } catch (error) {
    world.log('task_results_not_deleted', { task: task.id, reason: String(error) })
    throw resultsRemain(task, error)
  }
  if (await deleteEnded(world.db, task.id)) return
  const left = await findTask(world.db, task.account, task.id)
  if (left) throw goesOn(left)
}

/** The task after it was asked to stop. A deferred one stops at once, or not at all. */
async function stopAny(world: DeleteWorld, task: Task, leaves: () => boolean): Promise<Task | undefined> {
  if (!isDeferred(task)) return stopped(world, task, leaves)
  const { db, now, newId } = world
  await stopDeferred(db, task, { now: now(), webhookId: newId('msg') })
  return findTask(db, task.account, task.id)
}

/** The task after its vendor was asked to stop it; undefined if it is gone. */
async function stopped(
  { db, now, monotonic, after }: DeleteWorld,
  { id, account }: Task,
  leaves: () => boolean,
): Promise<Task | undefined> {
  await requestCancel(db, id, now())
  const until = monotonic() + STOP_MS
  for (;;) {
    const task = await findTask(db, account, id)
    if (task?.state !== 'submitted' || task.cancelAt === null) return task
    if (monotonic() >= until || leaves()) return task
    await new Promise<void>((resolve) => after(CHECK_MS, resolve))
  }
}

function goesOn(task: Task): GatewayError {
  const { id, upstreamId, cancelAnswer } = task
  if (isDeferred(task)) return begunAlready(task)
  const why =
    upstreamId === null ? 'it is not known yet whether its vendor has begun it' : (cancelAnswer ?? 'it runs')
  return new GatewayError(409, {
    code: 'video_not_ended',
    type: 'invalid_request_error',
    message: `${id} is still running and cannot be deleted now (${why}). Delete it when its status is completed or failed.`,
    headers: { 'x-should-retry': 'false' },
  })
}

function resultsRemain({ id }: Task, cause: unknown): GatewayError {
  return new GatewayError(503, {
    code: 'results_not_deleted',
    message: `The kept results of ${id} cannot be deleted now, so it still exists. Try again.`,
    headers: { 'retry-after': '5' },
    cause,
  })
}
