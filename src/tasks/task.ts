// A task in memory, a video or a deferred request, and the form that callers see. Nothing here must read or change a row.

import type { PollContext, Quantities } from '../contract/family'
import type { OperationName } from '../contract/operations'
import type { Db, Row } from '../db/db'
import { isObject } from '../lib/objects'
import { callerView } from '../upstreams/caller-view'
import type { TaskState } from './transitions'

export type Task = ReturnType<typeof taskOfRow>

export function taskOfRow({ codec }: Pick<Db, 'codec'>, row: Row) {
  const textOf = (column: string): string | null => {
    const stored = row[column] as string | null
    return stored === null ? null : codec.decode(stored, taskTextPlace(row.id as string, column))
  }
  return {
    id: row.id as string,
    account: row.account as string,
    keyId: row.key_id as string,
    /** The token that made the request, or the user that it named; null for the holder of the key. */
    spenderId: (row.spender as string | undefined) ?? null,
    /** `video`, or the operation of a request that is answered later: then the process that holds its lease makes it. */
    operation: row.operation as OperationName,
    model: row.model as string,
    upstream: row.upstream as string,
    charge: row.charge as string,
    /** The vendor's id; null until it has answered, and permanently if its answer was lost. */
    upstreamId: row.upstream_id as string | null,
    state: row.state as TaskState,
    // Parsed or decoded on use: an unreadable row must not prevent others from being read.
    get pollContext(): PollContext {
      return JSON.parse(row.memo as string)
    },
    /** Quantities to charge on success, unless the vendor decides. */
    get quantities(): Quantities {
      return JSON.parse(row.quantities as string)
    },
    /** Nano-dollars held for the task while it runs, or finally paid for it. */
    costNano: row.cost as number,
    webhookUrl: row.webhook_url as string | null,
    /** The URL at which its caller reached the gateway, for the URL of a stored video. */
    gatewayUrl: row.gateway_url as string,
    /** Width and height as the caller named them, if the request has a field for that. */
    size: row.size as string | null,
    /** The task for readers, as JSON; null until the vendor has reported something. */
    get document(): string | null {
      return textOf('document')
    },
    /** The URL of the video at the vendor, even if readers get another. */
    get videoUrl(): string | null {
      return textOf('video_url')
    },
    errorCode: row.error_code as string | null,
    get errorMessage(): string | null {
      return textOf('error_message')
    },
    createdAt: row.created_at as number,
    /** When the task was about to be sent to the vendor: from then on it must not be sent again. */
    sentAt: row.sent_at as number | null,
    endedAt: row.ended_at as number | null,
    deadlineAt: row.deadline_at as number,
    pollAt: row.poll_at as number,
    polls: row.polls as number,
    /** Consecutive failed polls. */
    misses: row.misses as number,
    /** How many of the last polls said that the vendor does not know the task. */
    missing: row.missing as number,
    /** When the task was requested to stop; null again once the vendor has answered. */
    cancelAt: row.cancel_at as number | null,
    /** Why the vendor did not stop the task. */
    cancelAnswer: row.cancel_answer as string | null,
    /** End of the lease; the fence keeps late writers from changing a task that others took over. */
    leaseUntil: row.lease_until as number,
    fence: row.fence as number,
  }
}

/** The place of a text in the row of a task. */
export function taskTextPlace(id: string, column: string): string {
  return `tasks.${column} ${id}`
}

/**
 * A task of a list, without the unreadable parts of its row, such as those of a removed key: one damaged row must not hide the
 * others.
 */
export function listedTaskOfRow(db: Pick<Db, 'codec'>, row: Row): Task {
  const task = taskOfRow(db, row)
  const parts: [column: string, without: string | null, read: () => unknown][] = [
    ['memo', '{}', () => asMembers(task.pollContext)],
    ['quantities', '{}', () => asMembers(task.quantities)],
    ['document', null, () => asMembers(lastDocumentOf(task))],
    ['video_url', null, () => task.videoUrl],
    ['error_message', null, () => task.errorMessage],
  ]
  const damaged = parts.flatMap(([column, without, read]) => (isReadable(read) ? [] : [[column, without]]))
  return damaged.length === 0 ? task : taskOfRow(db, { ...row, ...Object.fromEntries(damaged) })
}

function asMembers(value: unknown): void {
  if (!isObject(value)) throw new TypeError('not an object')
}

function isReadable(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

/** Whether a task is a request that is answered later: it has no task at the vendor. */
export function isDeferred({ operation }: Pick<Task, 'operation'>): boolean {
  return operation !== 'video'
}

/** The URL at which the answer of a deferred request is read with a key of its account. */
function resultUrlOf({ id, gatewayUrl }: Pick<Task, 'id' | 'gatewayUrl'>): string {
  return `${gatewayUrl}/v1/tasks/${id}/result`
}

/** The document for readers and webhooks: the vendor's own fields with ours over them, as JSON. */
export function documentOf(
  task: Pick<Task, 'id' | 'operation' | 'model' | 'gatewayUrl' | 'createdAt'> & {
    upstreamId?: string | null
  },
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
    ...(isDeferred(task) && { operation: task.operation, result_url: resultUrlOf(task) }),
    // Some requests name an earlier task, and the vendor knows it by no other id.
    ...(task.upstreamId && { upstream_id: task.upstreamId }),
    ...(error && { error: { code: error.code, message: error.message } }),
  })
}

/** The vendor's last report of a task. */
export function lastDocumentOf(task: Task): object {
  return task.document === null ? {} : JSON.parse(task.document)
}

/** A task as JSON, whether the vendor has reported something about it or not. */
export function showTask(task: Task): string {
  if (task.document !== null) return task.document
  const error =
    task.errorCode === null ? undefined : { code: task.errorCode, message: task.errorMessage ?? '' }
  return documentOf(task, {}, task.state, error)
}
