// Decides what an answer to a poll means for its task, and when the task is polled next. Pure: no database, clock or
// network. A vendor that is down, slow or unreadable must never end a task; only its own report or the task's deadline
// does.

import type { Quantities, TaskOutcome, Unit } from '../contract/family'
import { callerComplaint } from '../upstreams/caller-view'
import { usageJsonOf } from '../upstreams/reply'
import { LOST, type Success, type TaskEnding, TIMED_OUT } from './finish'
import type { Postponement } from './leases'
import { documentOf, lastDocumentOf, type Task } from './task'

export type PollAnswer =
  | { outcome: TaskOutcome }
  /** There was no answer, or none about the task. `retryAfterMs` is the wait that the vendor requests. */
  | { error: string; retryAfterMs?: number }

/** Time between polls as a share of a task's age, so that short tasks end soon and long ones cost little. */
const POLL_SHARE = 0.1
const MIN_POLL_MS = 3_000
const MAX_POLL_MS = 30_000
/** Wait after a failed poll, in milliseconds; doubled with each failure in a row. */
const MIN_RETRY_MS = 5_000
const MAX_RETRY_MS = 300_000
const MAX_DOUBLINGS = 10
/** Consecutive reports of an unknown task that are believed. */
const MISSING_POLLS = 3

/** The end that an answer brings to its task, if any. `begunAt` is when the poll began, by the gateway's clock. */
export function endingOf(task: Task, answer: PollAnswer, begunAt: number): TaskEnding | undefined {
  const outcome = 'outcome' in answer ? answer.outcome : undefined
  if (outcome?.status === 'succeeded') return successOf(task, outcome)
  if (outcome?.status === 'failed')
    return { state: 'failed', ...callerComplaint({ document: outcome.document, error: outcome.error }) }
  if (outcome?.status === 'missing' && task.missing + 1 >= MISSING_POLLS)
    return { state: 'failed', document: lastDocumentOf(task), error: LOST }
  if (begunAt < task.deadlineAt) return undefined
  return { state: 'failed', document: lastDocumentOf(task), error: TIMED_OUT }
}

function successOf(task: Task, outcome: TaskOutcome & { status: 'succeeded' }): Success {
  const { document, videoUrl, quantities, serviceTier } = outcome
  return {
    state: 'succeeded',
    document,
    videoUrl,
    ...(quantities && withinQuote(task, quantities)),
    ...(serviceTier !== undefined && { serviceTier }),
    usageJson: usageJsonOf(document),
  }
}

/**
 * Quantities by the vendor's own figures, which can only be below the hold. If a figure is implausible, the hold is charged.
 */
function withinQuote(task: Task, reported: Quantities): Pick<Success, 'quantities' | 'usageSource'> {
  const quantities = { ...task.quantities }
  if (Object.keys(reported).length === 0) return { usageSource: 'estimated' }
  for (const [name, figure] of Object.entries(reported)) {
    const unit = name as Unit
    // A video has a length; its input may be free.
    const isLeast = unit === 'second' ? figure > 0 : figure >= 0
    if (!isLeast || !(figure <= (task.quantities[unit] ?? 0))) return { usageSource: 'estimated' }
    quantities[unit] = Math.ceil(figure)
  }
  return { quantities, usageSource: 'upstream' }
}

/** How a task continues after a poll that did not end it. */
export function postponementOf(task: Task, answer: PollAnswer, now: number): Postponement {
  const outcome = 'outcome' in answer ? answer.outcome : undefined
  if (outcome?.status === 'submitted') {
    const pollAt = nextPollAt(task, pauseOf(now - task.createdAt), now)
    return { pollAt, misses: 0, missing: 0, document: documentOf(task, shownOf(outcome), 'submitted') }
  }
  const misses = task.misses + 1
  const waitMs = retryPauseOf(misses, 'error' in answer ? answer.retryAfterMs : undefined)
  const missing = outcome?.status === 'missing' ? task.missing + 1 : 0
  return { pollAt: nextPollAt(task, waitMs, now), misses, missing, document: task.document }
}

/** How a task continues after a poll that the gateway itself could not handle, and that showed nothing about it. */
export function postponementAfterFault(task: Task, now: number): Postponement {
  const misses = task.misses + 1
  const pollAt = nextPollAt(task, retryPauseOf(misses), now)
  return { pollAt, misses, missing: task.missing, document: task.document }
}

function shownOf({ document, progress }: TaskOutcome & { status: 'submitted' }): object {
  return progress === undefined ? document : { ...document, progress }
}

/** The last poll is at the deadline itself, so that a task that ended in time is never called late. */
function nextPollAt({ deadlineAt }: Task, waitMs: number, now: number): number {
  return Math.max(now + 1, Math.min(now + Math.round(waitMs), deadlineAt))
}

function pauseOf(ageMs: number): number {
  return Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, ageMs * POLL_SHARE))
}

function retryPauseOf(misses: number, vendorPauseMs = 0): number {
  return Math.min(
    MAX_RETRY_MS,
    Math.max(vendorPauseMs, MIN_RETRY_MS * 2 ** Math.min(misses - 1, MAX_DOUBLINGS)),
  )
}
