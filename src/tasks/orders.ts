// Orders of operators for tasks, and their rules: stop one, settle one, deliver its webhook again. A vendor must never be called
// here: the poller does that, and finds its orders in the database.

import type { Db } from '../db/db'
import { conflict, notFound } from '../lib/errors'
import { redeliver } from '../webhooks/rows'
import { begunAlready, stopDeferred } from './deferred'
import { findTask } from './find'
import { failUnsubmitted } from './finish'
import { askAgain } from './late-success'
import { requestCancel } from './leases'
import { acceptTask } from './rows'
import { isDeferred, type Task } from './task'
import { taskStateOf } from './task-json'

/** Findings of an operator about a task at its vendor. */
export const FINDINGS = ['found', 'not_begun', 'ask_again'] as const
export type Finding = (typeof FINDINGS)[number]

/** A task of any account, by our id or the vendor's. Rejects with 404. */
export async function requireTaskOfAny(db: Db, id: string): Promise<Task> {
  const task = await findTask(db, null, id)
  if (!task) throw notFound('task', id)
  return task
}

interface OrderTime {
  now: number
  newId(prefix: string): string
}

function assertRunning(task: Task): void {
  if (task.state !== 'submitted')
    throw conflict('task_ended', `${task.id} has ended: it ${taskStateOf(task)}.`)
}

/**
 * Stops a deferred task whose call has not begun, or asks the vendor to stop a video. No effect on a video that ends meanwhile.
 * Rejects with 409.
 */
export async function orderCancel(db: Db, task: Task, { now, newId }: OrderTime): Promise<void> {
  assertRunning(task)
  if (isDeferred(task)) {
    if (await stopDeferred(db, task, { now, webhookId: newId('msg') })) return
    throw begunAlready(task)
  }
  if (task.upstreamId === null)
    throw conflict(
      'task_unknown',
      `The vendor's id of ${task.id} is unknown, so it cannot be stopped: reconcile it.`,
    )
  await requestCancel(db, task.id, now)
}

/** Settles a task according to what an operator found at its vendor. Rejects with 409 if its state does not allow it. */
export async function reconcileTask(
  db: Db,
  task: Task,
  { finding, upstreamId }: { finding: Finding; upstreamId: string | undefined },
  { now, newId }: OrderTime,
): Promise<void> {
  if (isDeferred(task))
    throw conflict(
      'task_not_changed',
      `${task.id} is a request that the gateway answers itself, so no vendor has a task for it: it ends by itself.`,
    )
  if ((finding === 'found') !== (upstreamId !== undefined))
    throw conflict(
      'upstream_id_missing',
      "'upstream_id' is required with the finding `found`, and not allowed otherwise.",
    )
  if (finding === 'ask_again') {
    if (task.state !== 'failed')
      throw conflict('task_not_failed', `${task.id} has not failed: its state is ${taskStateOf(task)}.`)
    if (await askAgain(db, task, now)) return
    throw conflict(
      'task_not_changed',
      `${task.id} was not changed: it was cancelled, its id at the vendor is unknown, its charge is in an archive, or it has changed in the meantime.`,
    )
  }
  assertRunning(task)
  if (task.upstreamId !== null)
    throw conflict('task_known', `${task.id} already has the vendor's id ${task.upstreamId}.`)
  const isDone =
    upstreamId === undefined
      ? await failUnsubmitted(db, task, { now, webhookId: newId('msg') })
      : // At once by any clock: that of the command may be ahead of the nodes that poll.
        await acceptTask(db, task.id, upstreamId, task.createdAt)
  if (isDone) return
  throw conflict(
    'task_not_changed',
    `${task.id} was not changed: it has changed meanwhile, or the id belongs to another task.`,
  )
}

/** Sends the webhook of an ended task again, from the start of its schedule. Rejects with 409 if it has none. */
export async function orderRedelivery(db: Db, task: Task): Promise<void> {
  if (await redeliver(db, task.id)) return
  const why = task.webhookUrl === null ? 'it was submitted without a webhook_url' : 'it has not ended yet'
  throw conflict('webhook_missing', `${task.id} has no webhook to deliver: ${why}.`)
}
