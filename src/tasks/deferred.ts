// The rows of deferred requests: tasks whose answer is made by the process that accepted the request, which renews a lease
// meanwhile. Such a task must end once, in the batch that ends its charge, and is never sent again by another process.

import type { Db, Statement } from '../db/db'
import { conflict, type GatewayError } from '../lib/errors'
import { insertWebhook } from '../webhooks/rows'
import { DEFERRED_EVENT, endTask, STOPPED } from './finish'
import type { NewTask } from './rows'
import { documentOf, isDeferred, type Task, taskOfRow, taskTextPlace } from './task'
import { stageOf } from './transitions'

/** How long a deferred task counts as running after the last sign of its process, in milliseconds. */
export const DEFERRED_LEASE_MS = 45_000
/** Name of the guard that misses when an account has too many deferred tasks. */
export const OPEN_TASKS = 'open tasks'
/** Maximum number of deferred tasks per account: each holds a request in memory. */
export const MAX_OPEN_TASKS = 100

/** A guard for the batch of the hold: misses if the account has the maximum of deferred tasks. */
export function guardOpenTasks(account: string): Statement {
  return {
    sql: `select 1 as free where (select count(*) from tasks
      where account = $1 and state = 'submitted' and operation <> 'video') < $2`,
    parameters: [account, MAX_OPEN_TASKS],
    guard: OPEN_TASKS,
  }
}

/** The end of a deferred task. `shown` are members of its document; `result` is the answer, if it is small. */
export type DeferredEnding =
  | { state: 'succeeded'; shown: object; result?: unknown; priceNano: number }
  | { state: 'failed'; error: { code: string; message: string } }

/**
 * The statements that end a deferred task, with its webhook. They must be in the batch that ends its charge. The first is a
 * guard, which misses if another process has ended the task.
 */
export function endDeferred(
  { codec }: Pick<Db, 'codec'>,
  task: NewTask,
  ending: DeferredEnding,
  { now, webhookId }: { now: number; webhookId: string },
): Statement[] {
  const { id, account, keyId, webhookUrl } = task
  const { state } = ending
  const error = state === 'failed' ? ending.error : undefined
  const made = state === 'succeeded' ? ending : undefined
  const document = documentOf(task, made?.shown ?? {}, state, error)
  const stored = (text: string | undefined, column: string) =>
    text === undefined ? null : codec.encode(text, taskTextPlace(id, column))
  const statements: Statement[] = [
    {
      sql: `update tasks set state = $2, document = $3, error_code = $4, error_message = $5, ended_at = $6, cost = $7,
        model = $8, upstream = $9, lease_until = 0 where id = $1 and state = 'submitted' and operation <> 'video'`,
      parameters: [
        id,
        state,
        stored(document, 'document'),
        error?.code ?? null,
        stored(error?.message, 'error_message'),
        now,
        made?.priceNano ?? 0,
        // Another model of the route may have answered.
        task.model,
        task.upstream,
      ],
      guard: true,
    },
  ]
  if (webhookUrl === null) return statements
  const body =
    made?.result === undefined ? document : documentOf(task, { ...made.shown, result: made.result }, state)
  const about = { id, account, keyId, webhookUrl, event: DEFERRED_EVENT }
  statements.push(insertWebhook({ codec }, webhookId, about, state, body, now))
  return statements
}

/**
 * The statement that renews the lease of a task that is being made. The fence changes, so that nobody who saw the lease end can end
 * the task.
 */
export function renewTaskLease(charge: string, leaseUntil: number): Statement {
  return {
    sql: `update tasks set lease_until = $2, fence = fence + 1
      where charge = $1 and state = 'submitted' and operation <> 'video'`,
    parameters: [charge, leaseUntil],
  }
}

/** Deferred tasks whose process is gone. */
export async function findSilent(db: Db, now: number): Promise<Task[]> {
  const rows = await db.query({
    sql: `select * from tasks where state = 'submitted' and operation <> 'video' and lease_until <= $1 limit 1000`,
    parameters: [now],
  })
  return rows.map((row) => taskOfRow(db, row))
}

/** Stops a deferred task whose call has not begun. False if it has, or the task has ended. */
export async function stopDeferred(
  db: Db,
  task: Task,
  options: { now: number; webhookId: string },
): Promise<boolean> {
  if (!isDeferred(task) || stageOf(task) !== 'held') return false
  return endTask(db, task, { state: 'failed', document: {}, error: STOPPED }, options)
}

/** The 409 for a deferred task that can no longer be stopped. */
export function begunAlready({ id }: Pick<Task, 'id'>): GatewayError {
  return conflict(
    'task_begun',
    `The upstream was already called for ${id}, which cannot be undone: the task will end with its answer, which is charged. Delete the task when it has ended.`,
  )
}
