// Finds tasks: for callers, for commands, and for the job that handles abandoned ones. It must never write.

import { isToken, type Key } from '../accounts/keys'
import type { OperationName } from '../contract/operations'
import { Conditions } from '../db/conditions'
import type { Db } from '../db/db'
import { GatewayError } from '../lib/errors'
import type { Webhook } from '../webhooks/rows'
import { listedTaskOfRow, type Task, taskOfRow } from './task'
import { type TaskState, UNKNOWN } from './transitions'

/** A task of an account, by our id or the vendor's. */
export async function findTask(db: Db, account: string | null, id: string): Promise<Task | undefined> {
  const rows = await db.query({
    sql: `select * from tasks where (id = $1 or upstream_id = $1) and (account = $2 or cast($2 as text) is null)
      order by case when id = $1 then 0 else 1 end limit 1`,
    parameters: [id, account],
  })
  return rows[0] && taskOfRow(db, rows[0])
}

/** A task that a key or a token may read: a token in a browser reads its own ones. */
export async function findTaskFor(
  db: Db,
  key: Pick<Key, 'account' | 'spender'>,
  id: string,
): Promise<Task | undefined> {
  const task = await findTask(db, key.account, id)
  return isToken(key) && task?.spenderId !== key.spender?.id ? undefined : task
}

/** A task that a key or a token may read; the 404 is the same for another's task and for a missing one. */
export async function requireTask(db: Db, key: Pick<Key, 'account' | 'spender'>, id: string): Promise<Task> {
  const task = await findTaskFor(db, key, id)
  if (task) return task
  throw taskNotFound(id)
}

/** The error for a task that does not exist or belongs to another account, which is the same. */
export function taskNotFound(id: string): GatewayError {
  return new GatewayError(404, {
    code: 'task_not_found',
    type: 'invalid_request_error',
    message: `There is no task \`${id.slice(0, 128)}\` on this account.`,
    param: 'id',
  })
}

export interface TaskFilter {
  state?: TaskState | typeof UNKNOWN
  operation?: OperationName
  model?: string
  account?: string
  keyId?: string
  /** The state of the delivery of its webhook. */
  webhook?: Webhook['state']
  since?: number
  /** Only tasks after this one in the list. */
  after?: Pick<Task, 'id' | 'createdAt'>
  limit: number
  oldestFirst?: boolean
}

/** Tasks, newest first by default. */
export async function listTasks(db: Db, filter: TaskFilter): Promise<Task[]> {
  const { after, oldestFirst = false, state } = filter
  const list = new Conditions(...(state === UNKNOWN ? [`state = 'submitted'`] : []))
    .where('error_code = ?', state === UNKNOWN ? UNKNOWN : undefined)
    .where('state = ?', state === UNKNOWN ? undefined : state)
    .where('operation = ?', filter.operation)
    .where('model = ?', filter.model)
    .where('account = ?', filter.account)
    .where('key_id = ?', filter.keyId)
    .where('id in (select task from webhooks where recipient is null and state = ?)', filter.webhook)
    .where('created_at >= ?', filter.since)
  if (after)
    list.where(`(created_at, id) ${oldestFirst ? '>' : '<'} (${list.place(after.createdAt)}, ?)`, after.id)
  const order = oldestFirst ? 'asc' : 'desc'
  const rows = await db.query({
    sql: `select * from tasks ${list.sql}
      order by created_at ${order}, id ${order} limit ${list.place(filter.limit)}`,
    parameters: list.parameters,
  })
  return rows.map((row) => listedTaskOfRow(db, row))
}

/**
 * Tasks that have waited for a vendor's id since before `before`, left by a dead process: not those that the named processes
 * submit. At most a thousand.
 */
export async function findStranded(
  db: Db,
  before: number,
  liveProcesses: readonly string[] = [],
): Promise<Task[]> {
  const places = liveProcesses.map((_name, index) => `$${index + 2}`).join(', ')
  const others = `and charge not in (select id from open_charges where process in (${places}))`
  const rows = await db.query({
    sql: `select * from tasks where state = 'submitted' and upstream_id is null and error_code is null
      and operation = 'video' and created_at <= $1 ${liveProcesses.length > 0 ? others : ''} limit 1000`,
    parameters: [before, ...liveProcesses],
  })
  return rows.map((row) => taskOfRow(db, row))
}

/** Tasks past their deadline that nobody polls: without a vendor's id, or with an upstream outside `upstreams`. */
export async function findOverdue(db: Db, now: number, upstreams: readonly string[]): Promise<Task[]> {
  // No upstream has an empty name, and databases refuse an empty list.
  const known = ["''", ...upstreams.map((_name, index) => `$${index + 2}`)].join(', ')
  const rows = await db.query({
    sql: `select * from tasks where state = 'submitted' and operation = 'video' and deadline_at <= $1 and lease_until <= $1
      and (upstream_id is null or upstream not in (${known})) limit 1000`,
    parameters: [now, ...upstreams],
  })
  return rows.map((row) => taskOfRow(db, row))
}
