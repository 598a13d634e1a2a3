// Shows tasks and the deliveries of their webhooks as JSON, to operators. It must never change a task.

import { isoTime } from '../db/iso-time'
import { formatUsd } from '../lib/money'
import type { Attempt, Webhook } from '../webhooks/rows'
import { showTask, type Task } from './task'
import { stageOf, UNKNOWN } from './transitions'

interface TaskDelivery {
  webhook: Webhook
  attempts: Attempt[]
}

/** The displayed state. A submission whose answer was lost has a separate state. */
export function taskStateOf(task: Task): string {
  return stageOf(task) === 'unknown' ? UNKNOWN : task.state
}

export function taskJson(task: Task) {
  return {
    id: task.id,
    operation: task.operation,
    state: taskStateOf(task),
    model: task.model,
    account: task.account,
    key_id: task.keyId,
    upstream: task.upstream,
    upstream_id: task.upstreamId,
    charge: task.charge,
    // The charge records what was held.
    held_usd: formatUsd(task.state === 'submitted' ? task.costNano : 0),
    amount_usd: formatUsd(task.state === 'submitted' ? 0 : task.costNano),
    progress: progressOf(task),
    polls: task.polls,
    error: task.errorCode === null ? null : { code: task.errorCode, message: task.errorMessage },
    created_at: isoTime(task.createdAt),
    ended_at: isoTime(task.endedAt),
    deadline_at: isoTime(task.deadlineAt),
    next_poll_at: task.state === 'submitted' ? isoTime(task.pollAt) : null,
    webhook_url: task.webhookUrl,
  }
}

export function deliveryJson({ webhook, attempts }: TaskDelivery) {
  return {
    id: webhook.id,
    url: webhook.url,
    state: webhook.state,
    next_at: webhook.state === 'pending' ? isoTime(webhook.nextAt) : null,
    attempts: attempts.map(({ at, status, answer, durationMs }) => ({
      at: isoTime(at),
      status,
      duration_ms: durationMs,
      answer,
    })),
  }
}

/** Progress in percent, if the vendor reports it. */
export function progressOf(task: Task): number | null {
  const { progress } = JSON.parse(showTask(task)) as { progress?: unknown }
  return typeof progress === 'number' ? progress : null
}
