// Video tasks as rows: from the submit until just before the end, each change guarded by the state that it expects.
// A task must never be sent to a vendor twice, and its hold must never come or go without it.

import { freeKey } from '../billing/idempotency'
import { findOpenCharge, release } from '../billing/ledger'
import type { Memo, Quantities } from '../contract/family'
import { apply, type Db, type Row, type Statement, tryApply, type Value } from '../db/db'
import { GatewayError } from '../lib/errors'
import { callerView } from '../upstreams/caller-view'
import { type TaskState, UNKNOWN } from './transitions'

export interface Task {
  id: string
  account: string
  keyId: string
  model: string
  upstream: string
  charge: string
  /** The vendor's id; null until it has answered, and for ever where its answer was lost. */
  upstreamId: string | null
  state: TaskState
  memo: Memo
  /** What is paid when it succeeds, unless the vendor decides. */
  quantities: Quantities
  /** What is held for it while it runs, and what was paid for it in the end. */
  costNano: number
  webhookUrl: string | null
  /** Where its caller reached the gateway: what the address of a kept video begins with. */
  gatewayUrl: string
  /** Width and height as the caller named them, where the form of their request has a place for that. */
  size: string | null
  /** What readers get, as JSON; null until the vendor has said something. */
  document: string | null
  /** Where the vendor keeps the video, wherever readers are sent. */
  videoUrl: string | null
  errorCode: string | null
  errorMessage: string | null
  createdAt: number
  /** When it was about to be sent to the vendor: from then on it must not be sent again. */
  sentAt: number | null
  endedAt: number | null
  deadlineAt: number
  pollAt: number
  polls: number
  /** Polls in a row that brought nothing. */
  misses: number
  /** Of them the last ones in a row in which the vendor did not know the task. */
  missing: number
  /** Somebody wants it stopped; cleared when the vendor has answered. */
  cancelAt: number | null
  /** Why the vendor did not stop it. */
  cancelAnswer: string | null
  /** Whoever polls it holds it until then; the fence tells late writers that others have taken over. */
  leaseUntil: number
  fence: number
}

export type NewTask = Pick<
  Task,
  | 'id'
  | 'account'
  | 'keyId'
  | 'model'
  | 'upstream'
  | 'charge'
  | 'memo'
  | 'quantities'
  | 'costNano'
  | 'webhookUrl'
  | 'gatewayUrl'
  | 'size'
  | 'createdAt'
  | 'deadlineAt'
>

const UNKNOWN_MESSAGE =
  'It is not known whether the vendor has begun this task. It is not sent again; its price is held until that is found out or its time is over.'

/** Goes with the hold. */
export function insertTask(task: NewTask): Statement {
  return {
    sql: `insert into tasks (id, account, key_id, model, upstream, charge, state, memo, quantities, webhook_url, created_at,
        deadline_at, gateway_url, size, cost, poll_at, polls, misses, missing, lease_until, fence)
      values ($1, $2, $3, $4, $5, $6, 'submitted', $7, $8, $9, $10, $11, $12, $13, $14, $10, 0, 0, 0, 0, 0)`,
    parameters: [
      task.id,
      task.account,
      task.keyId,
      task.model,
      task.upstream,
      task.charge,
      JSON.stringify(task.memo),
      JSON.stringify(task.quantities),
      task.webhookUrl,
      task.createdAt,
      task.deadlineAt,
      task.gatewayUrl,
      task.size,
      task.costNano,
    ],
  }
}

/** Written before the first byte goes to the vendor: a task that is found without it was never sent. */
export async function markSent(db: Db, id: string, now: number): Promise<void> {
  const isFirst = await tryApply(db, [
    {
      sql: `update tasks set sent_at = $2 where id = $1 and sent_at is null and state = 'submitted'`,
      parameters: [id, now],
      guard: true,
    },
  ])
  if (!isFirst) throw new Error(`task ${id} was sent before`)
}

/** The vendor has it. False when its id is taken, or the task was never sent or is not waiting for one. */
export async function acceptTask(
  db: Db,
  id: string,
  upstreamId: string,
  pollAt: number,
  also: readonly Statement[] = [],
): Promise<boolean> {
  return tryApply(db, [
    {
      // The fence moves on because whoever read the task before must not end it as one that nobody can follow.
      sql: `update tasks set upstream_id = $2, poll_at = $3, error_code = null, error_message = null, fence = fence + 1
        where id = $1 and sent_at is not null and upstream_id is null and state = 'submitted'
          and not exists (select 1 from tasks as other where other.upstream_id = $2 and other.upstream = tasks.upstream)`,
      parameters: [id, upstreamId, pollAt],
      guard: true,
    },
    ...also,
  ])
}

/** The vendor refused it: goes with the release, and stops that when the task lives on. */
export function deleteTask(id: string): Statement {
  return {
    sql: `delete from tasks where id = $1 and upstream_id is null and state = 'submitted'`,
    parameters: [id],
    guard: true,
  }
}

/** Takes back a task that was never sent, with its hold. False when it has moved on. */
export async function voidTask(db: Db, task: Task, now: number): Promise<boolean> {
  // A charge ends with its task: where it is not open any more, somebody else was first.
  const charge = await findOpenCharge(db, task.keyId, task.charge)
  if (!charge) return false
  const remove: Statement = {
    sql: `delete from tasks where id = $1 and sent_at is null and upstream_id is null and state = 'submitted'`,
    parameters: [task.id],
    guard: true,
  }
  return release(db, charge, { endedBy: 'shutdown', endedAt: now }, [remove, freeKey(charge.id)])
}

export function markUnknown(id: string): Statement {
  return {
    sql: `update tasks set error_code = $2, error_message = $3
      where id = $1 and sent_at is not null and upstream_id is null and state = 'submitted'`,
    parameters: [id, UNKNOWN, UNKNOWN_MESSAGE],
  }
}

/** Takes tasks that are due, so that no other node or beat polls them before the lease is over. */
export async function claimDue(
  db: Db,
  upstream: string,
  now: number,
  options: { limit: number; leaseMs: number },
): Promise<Task[]> {
  const [rows = []] = await apply(db, [
    {
      // The conditions stand twice because another node may have taken a row between the choice and the change.
      sql: `update tasks set lease_until = $3, fence = fence + 1 where id in (
          select id from tasks where upstream = $1 and state = 'submitted' and upstream_id is not null
            and poll_at <= $2 and lease_until <= $2 order by poll_at, id limit $4)
        and state = 'submitted' and poll_at <= $2 and lease_until <= $2 returning *`,
      parameters: [upstream, now, now + options.leaseMs, options.limit],
    },
  ])
  return rows.map(taskOfRow)
}

/** How many of an upstream's tasks are due, at most `limit`. */
export async function countDue(db: Db, upstream: string, now: number, limit: number): Promise<number> {
  const rows = await db.query({
    sql: `select count(*) as due from (select 1 from tasks where upstream = $1 and state = 'submitted'
      and upstream_id is not null and poll_at <= $2 and lease_until <= $2 limit $3) as found`,
    parameters: [upstream, now, limit],
  })
  return Number(rows[0]?.due ?? 0)
}

/** Holds a task for longer than polls take. False when the lease was lost. */
export async function extendLease(db: Db, task: Task, until: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `update tasks set lease_until = $3 where id = $1 and fence = $2 and state = 'submitted'`,
      parameters: [task.id, task.fence, until],
      guard: true,
    },
  ])
}

/** It goes on. False when the lease was lost. */
export async function postpone(
  db: Db,
  task: Task,
  next: {
    pollAt: number
    misses: number
    missing: number
    document: string | null
    cancelAnswer: string | null
  },
): Promise<boolean> {
  return tryApply(db, [
    {
      // A wish to stop that came during this poll is left for the next one.
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
        next.document,
        task.cancelAt ?? -1,
        next.cancelAnswer,
        next.missing,
      ],
      guard: true,
    },
  ])
}

/** What readers and webhooks get: the vendor's own fields with ours over them, as JSON. */
export function documentOf(
  task: Pick<Task, 'id' | 'model' | 'createdAt'> & { upstreamId?: string | null },
  vendor: object,
  status: TaskState,
  error?: { code: string; message: string },
): string {
  return JSON.stringify({
    ...callerView(vendor),
    id: task.id,
    model: task.model,
    status,
    created_at: Math.floor(task.createdAt / 1000),
    // Some requests name an earlier task, and the vendor knows it by no other id.
    ...(task.upstreamId && { upstream_id: task.upstreamId }),
    ...(error && { error: { code: error.code, message: error.message } }),
  })
}

/** A task as JSON, whether the vendor has said something about it or not. */
export function showTask(task: Task): string {
  if (task.document !== null) return task.document
  const error =
    task.errorCode === null ? undefined : { code: task.errorCode, message: task.errorMessage ?? '' }
  return documentOf(task, {}, task.state, error)
}

/** A task of an account, by our id or the vendor's. */
export async function findTask(db: Db, account: string | null, id: string): Promise<Task | undefined> {
  const rows = await db.query({
    sql: `select * from tasks where (id = $1 or upstream_id = $1) and (account = $2 or cast($2 as text) is null)
      order by case when id = $1 then 0 else 1 end limit 1`,
    parameters: [id, account],
  })
  return rows[0] && taskOfRow(rows[0])
}

/** The task of an account, or the 404 that does not tell another's task from none. */
export async function requireTask(db: Db, account: string, id: string): Promise<Task> {
  const task = await findTask(db, account, id)
  if (task) return task
  throw new GatewayError(404, {
    code: 'task_not_found',
    type: 'invalid_request_error',
    message: `There is no task \`${id.slice(0, 128)}\` on this account.`,
    param: 'id',
  })
}

export interface TaskFilter {
  state?: TaskState | typeof UNKNOWN
  model?: string
  account?: string
  since?: number
  /** Only what comes behind this task in the list. */
  after?: Pick<Task, 'id' | 'createdAt'>
  limit: number
  oldestFirst?: boolean
}

/** Newest first, unless told otherwise. */
export async function listTasks(db: Db, filter: TaskFilter): Promise<Task[]> {
  const conditions: string[] = []
  const parameters: Value[] = []
  const where = (sql: string, value: Value) => {
    parameters.push(value)
    conditions.push(sql.replace('?', `$${parameters.length}`))
  }
  if (filter.state === UNKNOWN) where(`error_code = ? and state = 'submitted'`, UNKNOWN)
  else if (filter.state !== undefined) where('state = ?', filter.state)
  if (filter.model !== undefined) where('model = ?', filter.model)
  if (filter.account !== undefined) where('account = ?', filter.account)
  if (filter.since !== undefined) where('created_at >= ?', filter.since)
  const { after, oldestFirst } = filter
  if (after) {
    parameters.push(after.createdAt, after.id)
    const [createdAt, id] = [`$${parameters.length - 1}`, `$${parameters.length}`]
    conditions.push(`(created_at, id) ${oldestFirst ? '>' : '<'} (${createdAt}, ${id})`)
  }
  parameters.push(filter.limit)
  const order = oldestFirst ? 'asc' : 'desc'
  const rows = await db.query({
    sql: `select * from tasks ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
      order by created_at ${order}, id ${order} limit $${parameters.length}`,
    parameters,
  })
  return rows.map(taskOfRow)
}

/** Ends the leases of a process that died. Only where no other one can hold any. */
export async function forgetTaskLeases(db: Db): Promise<void> {
  await apply(db, [{ sql: `update tasks set lease_until = 0 where state = 'submitted' and lease_until > 0` }])
}

/** Tasks that wait for a vendor's id since before `before`: what a process that died has left. At most a thousand. */
export async function findStranded(db: Db, before: number): Promise<Task[]> {
  const rows = await db.query({
    sql: `select * from tasks where state = 'submitted' and upstream_id is null and error_code is null
      and created_at <= $1 limit 1000`,
    parameters: [before],
  })
  return rows.map(taskOfRow)
}

/** Tasks whose time is over and that nobody polls: without a vendor's id, or of an upstream that is not of `upstreams`. */
export async function findOverdue(db: Db, now: number, upstreams: readonly string[]): Promise<Task[]> {
  // No upstream has an empty name, and no database takes an empty list.
  const known = ["''", ...upstreams.map((_name, index) => `$${index + 2}`)].join(', ')
  const rows = await db.query({
    sql: `select * from tasks where state = 'submitted' and deadline_at <= $1 and lease_until <= $1
      and (upstream_id is null or upstream not in (${known})) limit 1000`,
    parameters: [now, ...upstreams],
  })
  return rows.map(taskOfRow)
}

/**
 * Asks whoever polls the task next to stop it, at once by any clock. False when it has ended, or the vendor's id is not
 * known.
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

function taskOfRow(row: Row): Task {
  return {
    id: row.id as string,
    account: row.account as string,
    keyId: row.key_id as string,
    model: row.model as string,
    upstream: row.upstream as string,
    charge: row.charge as string,
    upstreamId: row.upstream_id as string | null,
    state: row.state as TaskState,
    // Read when they are wanted: a row that holds nonsense must not keep the rows beside it from being read.
    get memo(): Memo {
      return JSON.parse(row.memo as string)
    },
    get quantities(): Quantities {
      return JSON.parse(row.quantities as string)
    },
    costNano: row.cost as number,
    webhookUrl: row.webhook_url as string | null,
    gatewayUrl: row.gateway_url as string,
    size: row.size as string | null,
    document: row.document as string | null,
    videoUrl: row.video_url as string | null,
    errorCode: row.error_code as string | null,
    errorMessage: row.error_message as string | null,
    createdAt: row.created_at as number,
    sentAt: row.sent_at as number | null,
    endedAt: row.ended_at as number | null,
    deadlineAt: row.deadline_at as number,
    pollAt: row.poll_at as number,
    polls: row.polls as number,
    misses: row.misses as number,
    missing: row.missing as number,
    cancelAt: row.cancel_at as number | null,
    cancelAnswer: row.cancel_answer as string | null,
    leaseUntil: row.lease_until as number,
    fence: row.fence as number,
  }
}
