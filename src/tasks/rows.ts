// The rows of tasks from the hold to the vendor's id. Each change names the state that it expects of the row. A task must never be
// sent to a vendor twice, and its hold must never be created or released without it.

import { freeKey } from '../billing/ledger/idempotency'
import { findOpenCharge, release } from '../billing/ledger/ledger'
import { type Db, type Statement, tryApply } from '../db/db'
import type { EncodedTable } from '../db/encryption/reencryption'
import { type Task, taskTextPlace } from './task'
import { UNKNOWN } from './transitions'

export type NewTask = Pick<
  Task,
  | 'id'
  | 'account'
  | 'operation'
  | 'keyId'
  | 'spenderId'
  | 'model'
  | 'upstream'
  | 'charge'
  | 'pollContext'
  | 'quantities'
  | 'costNano'
  | 'webhookUrl'
  | 'gatewayUrl'
  | 'size'
  | 'createdAt'
  | 'deadlineAt'
  | 'leaseUntil'
>

const UNKNOWN_MESSAGE =
  'It is unknown whether the vendor has begun this task. It is not sent again; its price is held until this is known or its deadline passes.'

/** The row of a new task: a statement for the transaction that holds its price. */
export function insertTask(task: NewTask): Statement {
  return {
    sql: `insert into tasks (id, account, key_id, model, upstream, charge, state, memo, quantities, webhook_url, created_at,
        deadline_at, gateway_url, size, cost, operation, lease_until, spender, poll_at, polls, misses, missing, fence)
      values ($1, $2, $3, $4, $5, $6, 'submitted', $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $10, 0, 0, 0, 0)`,
    parameters: [
      task.id,
      task.account,
      task.keyId,
      task.model,
      task.upstream,
      task.charge,
      JSON.stringify(task.pollContext),
      JSON.stringify(task.quantities),
      task.webhookUrl,
      task.createdAt,
      task.deadlineAt,
      task.gatewayUrl,
      task.size,
      task.costNano,
      task.operation,
      task.leaseUntil,
      task.spenderId,
    ],
  }
}

/** Marks a task as being sent, before the first byte is sent to the vendor. Throws if it was already sent. */
export async function markSent(db: Db, id: string, now: number): Promise<void> {
  const isFirst = await tryApply(db, [
    {
      // The fence changes because a process that has read the task as unsent must not stop it as such.
      sql: `update tasks set sent_at = $2, fence = fence + 1
        where id = $1 and sent_at is null and state = 'submitted'`,
      parameters: [id, now],
      guard: true,
    },
  ])
  if (!isFirst) throw new Error(`task ${id} was sent before`)
}

/** Stores the vendor's id of a task. False if another task has it, or this one was never sent or waits for none. */
export async function acceptTask(
  db: Db,
  id: string,
  upstreamId: string,
  pollAt: number,
  also: readonly Statement[] = [],
): Promise<boolean> {
  return tryApply(db, [acceptance(id, upstreamId, pollAt), ...also])
}

/** The statement that stores the vendor's id of a task. */
export function acceptance(id: string, upstreamId: string, pollAt: number): Statement {
  return {
    // The fence changes because a process that read the task before must not end it as one that nobody can follow.
    sql: `update tasks set upstream_id = $2, poll_at = $3, error_code = null, error_message = null, fence = fence + 1
      where id = $1 and sent_at is not null and upstream_id is null and state = 'submitted' and operation = 'video'
        and not exists (select 1 from tasks as other where other.upstream_id = $2 and other.upstream = tasks.upstream)`,
    parameters: [id, upstreamId, pollAt],
    guard: true,
  }
}

/**
 * Removes a task that the vendor refused: a statement for the transaction that releases its charge, which is undone if the task
 * still exists.
 */
export function deleteTask(id: string): Statement {
  return {
    sql: `delete from tasks where id = $1 and upstream_id is null and state = 'submitted'`,
    parameters: [id],
    guard: true,
  }
}

/** Deletes an ended task, with all its data. False if it still runs, runs again, or is gone. */
export async function deleteEnded(db: Db, id: string): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `delete from tasks where id = $1 and state <> 'submitted'`,
      parameters: [id],
      guard: true,
    },
  ])
}

/** Undoes a task that was never sent, with its hold. False if it has changed meanwhile. */
export async function voidTask(db: Db, task: Task, now: number): Promise<boolean> {
  // A charge ends with its task: if it is no longer open, something else has ended the task.
  const charge = await findOpenCharge(db, task.keyId, task.charge)
  if (!charge) return false
  const remove: Statement = {
    sql: `delete from tasks where id = $1 and sent_at is null and upstream_id is null and state = 'submitted'`,
    parameters: [task.id],
    guard: true,
  }
  return release(db, charge, { endedBy: 'shutdown', endedAt: now }, [remove, freeKey(charge.id)])
}

export const taskTexts: EncodedTable = {
  table: 'tasks',
  primaryKey: ['id'],
  columns: ['document', 'video_url', 'error_message'],
  id: 'id',
  placeOf: taskTextPlace,
}

/** Marks the answer to the submission as lost. No effect on a task that has changed meanwhile. */
export function markUnknown(id: string): Statement {
  return {
    sql: `update tasks set error_code = $2, error_message = $3
      where id = $1 and sent_at is not null and upstream_id is null and state = 'submitted' and operation = 'video'`,
    parameters: [id, UNKNOWN, UNKNOWN_MESSAGE],
  }
}
