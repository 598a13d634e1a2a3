// The life of tasks as two tables, one for videos and one for deferred requests: each change from one stage to another, who may
// make it, and its effect on the money. Pure data. Every change must name in its SQL the state that it expects of the row; a test
// brings a task into each stage, tries every change on real databases, and compares.

import type { ErrorCode } from '../lib/error-codes'

/** The state that callers see. `submitted` lasts until the vendor's task has ended, whatever the vendor calls its states. */
export type TaskState = 'submitted' | 'succeeded' | 'failed'

/** The error code of a task whose submission had no answer: the vendor may or may not be working on it. */
export const UNKNOWN = 'unknown' satisfies ErrorCode
/** The error code of a task that was stopped on purpose, by command or at the vendor. */
export const CANCELED = 'canceled' satisfies ErrorCode

/** The stage of a task, finer than its state. */
export type Stage =
  /** There is no row yet. */
  | 'new'
  /** The row and the hold exist; nothing has been sent. */
  | 'held'
  /** Being sent to the vendor, whose answer has not arrived. It must not be sent again. */
  | 'sent'
  /** The vendor's answer was lost. */
  | 'unknown'
  /** The vendor's id is known: it is polled. */
  | 'followed'
  | 'succeeded'
  /** Failed or past its deadline, but the vendor may still make the video. */
  | 'failed'
  /** Stopped on purpose: a later success is not charged. */
  | 'canceled'
  /** Failed without a vendor's id: there is nobody to ask. */
  | 'abandoned'
  /** The row is gone: the vendor never had the task, or its account has deleted it. */
  | 'removed'

/** The party that changes a task. */
type Actor =
  /** The request that begins the task. */
  | 'submitter'
  /** The process that makes the answer of a deferred request. */
  | 'maker'
  /** A node that holds the task's lease. */
  | 'poller'
  /** The job that handles tasks that nobody submits or polls any more. */
  | 'sweeper'
  /** The account of the task, which may delete what has ended. */
  | 'owner'
  /** The party that requests a stop; the poller then stops a video at the vendor. */
  | 'cancel request'
  /** The command that settles tasks whose result only a person can find out. */
  | 'operator'
  /** A node that receives a success after somebody else has ended the task as failed. */
  | 'late success'

/** The effect of a change on the charge. */
export type Effect =
  /** The maximum price is held. */
  | 'held'
  /** The charge does not change. */
  | 'kept'
  /** The charge ends with the price of the video. */
  | 'settled'
  /** The charge ends without a price. */
  | 'released'
  /** An additional charge begins without a hold; the previous one stays released. */
  | 'reopened'
  /** An additional charge without a hold ends with the price of the video; the previous one stays released. */
  | 'settled late'

export interface Transition {
  by: Actor
  change: string
  from: readonly Stage[]
  to: Stage
  money: Effect
}

const notFollowed = ['held', 'sent', 'unknown'] as const

export const transitions: readonly Transition[] = [
  { by: 'submitter', change: 'insert', from: ['new'], to: 'held', money: 'held' },
  { by: 'submitter', change: 'mark sent', from: ['held'], to: 'sent', money: 'kept' },
  { by: 'submitter', change: 'store id', from: ['sent', 'unknown'], to: 'followed', money: 'kept' },
  { by: 'submitter', change: 'mark unknown', from: ['sent'], to: 'unknown', money: 'kept' },
  { by: 'submitter', change: 'refuse', from: notFollowed, to: 'removed', money: 'released' },

  { by: 'poller', change: 'postpone', from: ['followed'], to: 'followed', money: 'kept' },
  { by: 'poller', change: 'extend lease', from: ['followed'], to: 'followed', money: 'kept' },
  { by: 'poller', change: 'succeed', from: ['followed'], to: 'succeeded', money: 'settled' },
  { by: 'poller', change: 'fail', from: ['followed'], to: 'failed', money: 'released' },
  { by: 'poller', change: 'stop', from: ['followed'], to: 'canceled', money: 'released' },

  { by: 'sweeper', change: 'take back', from: ['held'], to: 'removed', money: 'released' },
  { by: 'sweeper', change: 'mark unknown', from: ['sent'], to: 'unknown', money: 'kept' },
  { by: 'sweeper', change: 'time out', from: notFollowed, to: 'abandoned', money: 'released' },
  // Its upstream is no longer in the configuration, so nobody polls it.
  { by: 'sweeper', change: 'time out', from: ['followed'], to: 'failed', money: 'released' },

  { by: 'cancel request', change: 'ask to stop', from: ['followed'], to: 'followed', money: 'kept' },

  {
    by: 'owner',
    change: 'delete',
    from: ['succeeded', 'failed', 'canceled', 'abandoned'],
    to: 'removed',
    money: 'kept',
  },

  { by: 'operator', change: 'give the id', from: ['sent', 'unknown'], to: 'followed', money: 'kept' },
  { by: 'operator', change: 'declare not begun', from: notFollowed, to: 'abandoned', money: 'released' },
  { by: 'operator', change: 'ask again', from: ['failed'], to: 'followed', money: 'reopened' },

  { by: 'late success', change: 'succeed', from: ['failed'], to: 'succeeded', money: 'settled late' },
]

/**
 * The life of a deferred request, which has no task at its vendor: the process that took it makes the call and renews a lease.
 * Nobody sends it again, because its vendor may have been paid.
 */
export const deferredTransitions: readonly Transition[] = [
  { by: 'submitter', change: 'insert', from: ['new'], to: 'held', money: 'held' },
  { by: 'submitter', change: 'mark sent', from: ['held'], to: 'sent', money: 'kept' },
  // A hold whose result was lost with the database connection is undone.
  { by: 'submitter', change: 'refuse', from: ['held', 'sent'], to: 'removed', money: 'released' },

  { by: 'maker', change: 'renew the lease', from: ['held'], to: 'held', money: 'kept' },
  { by: 'maker', change: 'renew the lease', from: ['sent'], to: 'sent', money: 'kept' },
  { by: 'maker', change: 'succeed', from: ['held', 'sent'], to: 'succeeded', money: 'settled' },
  { by: 'maker', change: 'fail', from: ['held', 'sent'], to: 'abandoned', money: 'released' },

  // Its process was silent for longer than the lease.
  { by: 'sweeper', change: 'give up', from: ['held', 'sent'], to: 'abandoned', money: 'released' },
  { by: 'cancel request', change: 'stop', from: ['held'], to: 'canceled', money: 'released' },
  {
    by: 'owner',
    change: 'delete',
    from: ['succeeded', 'canceled', 'abandoned'],
    to: 'removed',
    money: 'kept',
  },
]

interface Standing {
  state: TaskState
  sentAt: number | null
  upstreamId: string | null
  errorCode: string | null
}

/** The stage of a task that has a row. */
export function stageOf({ state, sentAt, upstreamId, errorCode }: Standing): Stage {
  if (state === 'succeeded') return 'succeeded'
  if (state === 'failed') {
    if (errorCode === CANCELED) return 'canceled'
    return upstreamId === null ? 'abandoned' : 'failed'
  }
  if (upstreamId !== null) return 'followed'
  if (sentAt === null) return 'held'
  return errorCode === UNKNOWN ? 'unknown' : 'sent'
}
