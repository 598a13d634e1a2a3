// Shows tasks: one line each in a list, a block of lines for one. It must never change a task.

import type { ReplyOf } from '../../src/admin/client'
import { UNKNOWN } from '../../src/tasks/transitions'
import { counted } from './counted'
import { paint, type Style } from './output'
import { type Entry, renderBlock, tableOf } from './table'
import { distance, shortAge, utcTime } from './times'

type TaskReply = ReplyOf<'getTask'>
type TaskRow = ReplyOf<'listTasks'>['data'][number]

/** Whether a task may still end. A submission without an answer has a separate state. */
export function isOpenTask({ state }: Pick<TaskRow, 'state'>): boolean {
  return state === 'submitted' || state === UNKNOWN
}

export function taskTable(tasks: readonly TaskRow[], now: number): string {
  return tableOf(tasks, [
    ['TASK', (task) => task.id],
    ['STATE', paintState],
    ['FOR', (task) => task.operation, { optional: true }],
    ['MODEL', (task) => task.model, { flexible: true }],
    ['ACCOUNT', (task) => task.account, { flexible: true }],
    ['AGE', (task) => shortAge(Date.parse(task.created_at), now), { align: 'right' }],
    ['USD', costOf, { align: 'decimal', optional: true }],
  ])
}

export function taskBlock(task: TaskReply, now: number): string {
  const { progress, error, webhook, created_at: created, deadline_at: deadline, next_poll_at: next } = task
  const moment = (time: string) => `${utcTime(Date.parse(time))} (${distance(Date.parse(time), now)})`
  const entries: Entry[] = [
    ['state', `${paintState(task)}${progress === null ? '' : ` (${progress} %)`}`],
    ['operation', task.operation],
    ['model', task.model],
    ['account', task.account],
    ['upstream', upstreamText(task), 'whole'],
    ['created', moment(created)],
  ]
  if (task.ended_at !== null) entries.push(['ended', utcTime(Date.parse(task.ended_at))])
  else entries.push(['deadline', moment(deadline)])
  if (next !== null && task.upstream_id !== null) {
    const at = Date.parse(next)
    entries.push(['polls', `${task.polls}, the next ${at <= now ? 'is due' : distance(at, now)}`])
  }
  entries.push(['money', moneyText(task)])
  if (error !== null) entries.push(['error', `${error.code}: ${error.message ?? ''}`])
  const { video_url: video, result_url: result } = (task.document ?? {}) as Record<string, unknown>
  if (typeof video === 'string') entries.push(['video', video, 'whole'])
  if (typeof result === 'string' && task.state === 'succeeded') entries.push(['result', result, 'whole'])
  if (webhook) entries.push(['webhook', webhookLine(webhook, now)])
  return renderBlock(entries)
}

/** A request that is answered later has no task at its vendor. */
function upstreamText({ upstream, upstream_id: id, operation }: TaskRow): string {
  return operation === 'video' ? `${upstream}, id ${id ?? 'not known'}` : upstream
}

/** The amount that is held, or was paid. */
function costOf(task: TaskRow): string {
  return isOpenTask(task) ? task.held_usd : task.amount_usd
}

function moneyText(task: TaskRow): string {
  if (task.state === 'failed') return 'nothing paid'
  return `$${costOf(task)} ${isOpenTask(task) ? 'held' : 'paid'}`
}

/** The state of a task in a few words. */
export function taskLine({
  state,
  operation,
  progress,
  polls,
}: Pick<TaskRow, 'state' | 'operation' | 'progress' | 'polls'>): string {
  if (operation !== 'video') return state
  return `${state}${progress === null ? '' : ` ${progress} %`}, ${counted(polls, 'poll')}`
}

function webhookLine(webhook: NonNullable<TaskReply['webhook']>, now: number): string {
  const { url, state, attempts, next_at: nextAt } = webhook
  const last = attempts.at(-1)
  // Without a status, the text says why there was no answer.
  const why = last?.status === null ? `: ${last.answer}` : ''
  const ago = last && distance(Date.parse(last.at), now)
  const tried = last ? `, last answer ${last.status ?? 'none'} (${ago})${why}` : ''
  const next = nextAt === null ? '' : `, next attempt ${distance(Date.parse(nextAt), now)}`
  return `${url}: ${state} after ${counted(attempts.length, 'attempt')}${tried}${next}`
}

const STYLES: Record<string, Style> = {
  submitted: 'cyan',
  succeeded: 'green',
  failed: 'red',
  unknown: 'yellow',
}

function paintState({ state }: TaskRow): string {
  return paint(STYLES[state] ?? 'bold', state)
}
