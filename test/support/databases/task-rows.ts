// Tasks as rows, without a previous request: with defaults for values that do not matter, and in the stage that a test needs.

import { addCredit, hold } from '../../../src/billing/ledger/ledger'
import type { Db } from '../../../src/db/db'
import { findTask } from '../../../src/tasks/find'
import { acceptTask, insertTask, markSent, type NewTask } from '../../../src/tasks/rows'
import type { Task } from '../../../src/tasks/task'
import { VIDEO_NANO, VIDEO_SECONDS } from '../vendors/task'
import { makeCharge } from './ledger-rows'

/** Nano-dollars of a second. */
export const SECOND_NANO = VIDEO_NANO / VIDEO_SECONDS
const DAY_MS = 86_400_000

let tasks = 0

export function makeTask(fields: Partial<NewTask> & Pick<NewTask, 'createdAt'>): NewTask {
  const number = ++tasks
  return {
    id: `video_${number}`,
    operation: 'video',
    account: 'alice',
    keyId: 'key-1',
    spenderId: null,
    model: 'vidw2.6-t2v',
    upstream: 'dashscope',
    charge: `task-charge-${number}`,
    pollContext: {},
    quantities: { second: VIDEO_SECONDS },
    costNano: VIDEO_NANO,
    webhookUrl: null,
    gatewayUrl: 'https://gateway.example.com',
    size: null,
    deadlineAt: fields.createdAt + DAY_MS,
    leaseUntil: 0,
    ...fields,
  }
}

/** The charge that goes with it. */
export function chargeOf(task: NewTask, heldNano = VIDEO_NANO) {
  return makeCharge(heldNano, {
    id: task.charge,
    account: task.account,
    keyId: task.keyId,
    model: task.model,
    operation: 'video',
    pricesJson: JSON.stringify({ second: SECOND_NANO }),
    createdAt: task.createdAt,
    expiresAt: task.deadlineAt + 60_000,
  })
}

export async function fund(db: Db, account: string, amountNano: number, now: number): Promise<void> {
  await addCredit(db, { id: `credit-${account}`, account, amountNano, now, note: null })
}

/** A task with its hold, before anything was sent. */
export async function holdTask(db: Db, fields: Parameters<typeof makeTask>[0]): Promise<NewTask> {
  const task = makeTask(fields)
  const result = await hold(db, chargeOf(task), [], [insertTask(task)])
  if (!('held' in result)) throw new Error(`the task was refused: ${result.refusedBy}`)
  return task
}

/** A task whose submission was sent and not answered. */
export async function sendTask(db: Db, fields: Parameters<typeof makeTask>[0]): Promise<NewTask> {
  const task = await holdTask(db, fields)
  await markSent(db, task.id, task.createdAt)
  return task
}

/** A task that the vendor is working on and that is due at once. */
export async function followTask(db: Db, fields: Parameters<typeof makeTask>[0]): Promise<NewTask> {
  const task = await sendTask(db, fields)
  const accepted = await acceptTask(db, task.id, `ds-${task.id}`, task.createdAt)
  if (!accepted) throw new Error('the task was not accepted')
  return task
}

export async function readTask(db: Db, id: string): Promise<Task> {
  const task = await findTask(db, null, id)
  if (!task) throw new Error(`there is no task ${id}`)
  return task
}
