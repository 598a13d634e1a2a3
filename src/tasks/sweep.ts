// Handles tasks that nobody submits, makes or polls any more: those of a dead process, and those past their deadline. A task that
// may have reached its vendor must never be sent again.

import { saveAnswer } from '../billing/ledger/idempotency'
import { taskOf } from '../contract/family'
import { apply, DatabaseUnavailable } from '../db/db'
import { modelOf } from './ask-upstream'
import { findSilent } from './deferred'
import { findOverdue, findStranded } from './find'
import { INTERRUPTED, TIMED_OUT } from './finish'
import type { PollWorld, TaskPolls } from './poll'
import { markUnknown, voidTask } from './rows'
import { documentOf, type Task } from './task'
import { stageOf } from './transitions'

type SweepWorld = Pick<PollWorld, 'db' | 'catalogue' | 'now' | 'log'>

/** Age of a submission that will never be answered, in milliseconds: longer than any submission may take. */
const STRANDED_MS = 15 * 60_000
const MAX_REASON_LENGTH = 500

/**
 * Sweeps. `alone` means that only live processes can be sending tasks, so none is too young.
 */
export async function sweepTasks(
  world: SweepWorld,
  polls: Pick<TaskPolls, 'giveUpOn'>,
  { alone = false, liveProcesses = [] }: { alone?: boolean; liveProcesses?: readonly string[] },
): Promise<void> {
  const { db, now, catalogue } = world
  const before = alone ? Number.MAX_SAFE_INTEGER : now() - STRANDED_MS
  let stranded: Task[]
  do {
    stranded = await findStranded(db, before, alone ? liveProcesses : [])
    // In parallel, because a process that died under load has left many, and callers wait for this one to start.
  } while ((await Promise.all(stranded.map((task) => tryRecover(world, task)))).includes(true))
  for (const task of await findOverdue(db, now(), [...catalogue.upstreams.keys()])) {
    const stage = stageOf(task)
    // A short deadline may pass before its process counts as dead: its Idempotency-Key then has no answer.
    const isStranded = stage === 'held' || stage === 'sent'
    const isRecovered = isStranded && (await tryRecover(world, task))
    if (stage !== 'held' || !isRecovered) await polls.giveUpOn(task, TIMED_OUT)
  }
  for (const task of await findSilent(db, now())) await polls.giveUpOn(task, INTERRUPTED)
}

async function tryRecover(world: SweepWorld, task: Task): Promise<boolean> {
  try {
    return await recover(world, task)
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    world.log('task_not_recovered', { task: task.id, error: String(error).slice(0, MAX_REASON_LENGTH) })
    return false
  }
}

/**
 * Recovers a task whose process died around its submission: if it was never sent, it is undone; if it may have been sent, its
 * Idempotency-Key answers the caller. False if it has changed meanwhile.
 */
async function recover({ db, catalogue, now, log }: SweepWorld, task: Task): Promise<boolean> {
  if (stageOf(task) === 'held') return voidTask(db, task, now())
  const model = modelOf(catalogue, task)
  const contract = model && taskOf(model.family)
  const body = documentOf(task, {}, 'submitted')
  const answer = { status: contract?.submittedStatus ?? 202, contentType: 'application/json', body }
  await apply(db, [markUnknown(task.id), saveAnswer(db, task.charge, answer)])
  log('task_unknown', { task: task.id, upstream: task.upstream, reason: 'its process ended' })
  return true
}
