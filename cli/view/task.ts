// Shows tasks: one line each in a list, a block of lines for one, JSON for programs. It must never change a task.

import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { showTask, type Task } from '../../src/tasks/task'
import { stageOf, UNKNOWN } from '../../src/tasks/transitions'
import type { Attempt, Webhook } from '../../src/webhooks/rows'
import { paint, type Style } from './output'
import { type Column, type Entry, renderBlock, renderTable } from './table'
import { distance, shortAge, utcTime } from './times'

interface TaskDelivery {
  webhook: Webhook
  attempts: Attempt[]
}

/** The state that people see. A submit whose answer was lost has a state of its own. */
export function stateOf(task: Task): string {
  return stageOf(task) === 'unknown' ? UNKNOWN : task.state
}

export function taskJson(task: Task) {
  return {
    id: task.id,
    state: stateOf(task),
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

export function taskTable(tasks: readonly Task[], now: number): string {
  const columns: Column[] = [
    { title: 'TASK' },
    { title: 'STATE' },
    { title: 'MODEL', flexible: true },
    { title: 'ACCOUNT', flexible: true },
    { title: 'AGE', align: 'right' },
    { title: 'USD', align: 'decimal', optional: true },
  ]
  return renderTable(
    columns,
    tasks.map((task) => [
      task.id,
      paintState(task),
      task.model,
      task.account,
      shortAge(task.createdAt, now),
      formatUsd(task.costNano),
    ]),
  )
}

export function taskBlock(task: Task, delivery: TaskDelivery | undefined, now: number): string {
  const progress = progressOf(task)
  const entries: Entry[] = [
    ['state', `${paintState(task)}${progress === null ? '' : ` (${progress} %)`}`],
    ['model', task.model],
    ['account', task.account],
    ['upstream', `${task.upstream}, id ${task.upstreamId ?? 'not known'}`, 'whole'],
    ['created', `${utcTime(task.createdAt)} (${distance(task.createdAt, now)})`],
  ]
  if (task.endedAt !== null) entries.push(['ended', utcTime(task.endedAt)])
  else entries.push(['deadline', `${utcTime(task.deadlineAt)} (${distance(task.deadlineAt, now)})`])
  if (task.state === 'submitted' && task.upstreamId !== null) {
    const next = task.pollAt <= now ? 'is due' : distance(task.pollAt, now)
    entries.push(['polls', `${task.polls}, the next ${next}`])
  }
  entries.push(['money', moneyText(task)])
  if (task.errorCode !== null) entries.push(['error', `${task.errorCode}: ${task.errorMessage ?? ''}`])
  const video = (JSON.parse(showTask(task)) as { video_url?: unknown }).video_url
  if (typeof video === 'string') entries.push(['video', video, 'whole'])
  if (delivery) entries.push(['webhook', webhookLine(delivery, now)])
  return renderBlock(entries)
}

function moneyText({ state, costNano }: Task): string {
  if (state === 'failed') return 'nothing paid'
  return `$${formatUsd(costNano)} ${state === 'submitted' ? 'held' : 'paid'}`
}

/** The state of a task in a few words. */
export function taskLine(task: Task): string {
  const progress = progressOf(task)
  return `${stateOf(task)}${progress === null ? '' : ` ${progress} %`}, ${counted(task.polls, 'poll')}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function webhookLine({ webhook, attempts }: TaskDelivery, now: number): string {
  const last = attempts.at(-1)
  // Without a status the text says why there was no answer.
  const why = last?.status === null ? `: ${last.answer}` : ''
  const tried = last ? `, last answer ${last.status ?? 'none'} (${distance(last.at, now)})${why}` : ''
  const next = webhook.state === 'pending' ? `, next attempt ${distance(webhook.nextAt, now)}` : ''
  return `${webhook.url}: ${webhook.state} after ${counted(attempts.length, 'attempt')}${tried}${next}`
}

/** Progress in percent, if the vendor reports it. */
function progressOf(task: Task): number | null {
  const { progress } = JSON.parse(showTask(task)) as { progress?: unknown }
  return typeof progress === 'number' ? progress : null
}

const STYLES: Record<string, Style> = {
  submitted: 'cyan',
  succeeded: 'green',
  failed: 'red',
  unknown: 'yellow',
}

function paintState(task: Task): string {
  const state = stateOf(task)
  return paint(STYLES[state] ?? 'bold', state)
}
