// Shows tasks: one line each in a list, a block of lines for one. It must never change a task.

import { formatUsd } from '../../src/lib/money'
import { showTask, type Task } from '../../src/tasks/task'
import { progressOf, type TaskDelivery, taskStateOf } from '../../src/tasks/task-json'
import { paint, type Style } from './output'
import { type Column, type Entry, renderBlock, renderTable } from './table'
import { distance, shortAge, utcTime } from './times'

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
  return `${taskStateOf(task)}${progress === null ? '' : ` ${progress} %`}, ${counted(task.polls, 'poll')}`
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

const STYLES: Record<string, Style> = {
  submitted: 'cyan',
  succeeded: 'green',
  failed: 'red',
  unknown: 'yellow',
}

function paintState(task: Task): string {
  const state = taskStateOf(task)
  return paint(STYLES[state] ?? 'bold', state)
}
