// Submits a task to a vendor, once. The task's row and its hold exist before, and the row is marked as sent before the first byte
// is sent. Nothing here must send it again, whatever happens to the answer.

import { saveAnswer } from '../../billing/ledger/idempotency'
import { garbage } from '../../contract/failures'
import { type Call, type TaskFamily, taskOf } from '../../contract/family'
import { hasFailed } from '../../contract/reading'
import { DatabaseUnavailable, type Db, type Statement } from '../../db/db'
import { GatewayError, invalidRequest } from '../../lib/errors'
import type { System } from '../../lib/system'
import { findTask } from '../../tasks/find'
import { acceptance, acceptTask, markSent, markUnknown, type NewTask } from '../../tasks/rows'
import { documentOf } from '../../tasks/task'
import type { TaskAnswer } from '../../tasks/wait'
import { MAX_DOCUMENT_BYTES, readReply } from '../../upstreams/reply'
import type { CheckedRequest } from '../check'
import type { Line } from '../ending'
import type { Reservation } from '../reservation'
import { send } from '../upstream-call'

interface SubmitWorld extends Pick<System, 'now' | 'log'> {
  db: Db
}

/** Time from the submission to the first poll, in milliseconds. */
const FIRST_POLL_MS = 2_000
/** Maximum number of earlier tasks in a request: each is a query before anything is charged. */
const MAX_EARLIER_TASKS = 8

/**
 * Looks up the earlier tasks that a request names, because the vendor knows them by its own ids, and knows those of all accounts.
 * Throws the same 400 for a task of another account and for an unknown one. The earliest one decides which of several equal
 * connections is used: the vendor's account that has it.
 */
export async function findEarlierTasks(
  { db }: Pick<SubmitWorld, 'db'>,
  checked: CheckedRequest,
): Promise<void> {
  const { family, parsed, key } = checked
  const named = taskOf(family)?.earlier?.(parsed.body) ?? []
  if (named.length > MAX_EARLIER_TASKS) {
    const { field } = named[MAX_EARLIER_TASKS] as { field: string }
    throw invalidRequest(
      field,
      `Invalid '${field}': a request may name at most ${MAX_EARLIER_TASKS} earlier tasks.`,
    )
  }
  const ids = new Map<string, string>()
  for (const { field, id } of named) {
    const task = typeof id === 'string' ? await findTask(db, key.account, id) : undefined
    const model = [checked.model, ...checked.others].find(
      (each) => each.family === family && each.upstream.name === task?.upstream,
    )
    if (task?.upstreamId && model) {
      if (ids.size === 0) checked.model = model
      if (model === checked.model) {
        ids.set(id as string, task.upstreamId)
        continue
      }
    }
    if (typeof id === 'string' && !checked.model.upstream.sharedAccount) ids.set(id, id)
    else throw noEarlierTask(field, checked.model.id)
  }
  if (ids.size > 0) parsed.earlierTasks = ids
}

function noEarlierTask(field: string, model: string): GatewayError {
  return invalidRequest(
    field,
    `Invalid '${field}': this account has no such task at the upstream of ${model}. Send the \`id\` that POST /v1/videos/generations returned.`,
    'task_not_found',
  )
}

/** Submits a task. Returns the answer for the caller; throws if the vendor refuses, in which case nothing was begun. */
export async function submitTask(
  { world, reservations }: Line,
  reservation: Reservation,
  family: TaskFamily,
  task: NewTask,
): Promise<TaskAnswer> {
  const {
    request: { parsed, model },
    idempotencyKey,
    charge,
  } = reservation
  const call = family.call(parsed, model)
  await markSent(world.db, task.id, world.now())
  const upstreamId = await sendOnce(world, reservation, family, call).catch((error) => {
    if (error instanceof GatewayError && error.notTaken) throw error
    world.log('task_unknown', { task: task.id, upstream: task.upstream, reason: String(error) })
    return undefined
  })
  const status = family.task.submittedStatus
  const own = upstreamId === undefined ? undefined : family.task.ownForm?.submitted(upstreamId)
  // The id of another task must not reach the caller.
  const unknownBody = documentOf(task, {}, 'submitted')
  const knownBody = own ? documentOf(task, own, 'submitted') : unknownBody
  const saved = (body: string) =>
    idempotencyKey ? [saveAnswer(world.db, charge.id, { status, contentType: 'application/json', body })] : []
  let isKnown = false
  const store = async () => {
    isKnown = upstreamId !== undefined && (await storeId(world, task, upstreamId, saved(knownBody)))
    if (!isKnown) await world.db.batch([markUnknown(task.id), ...saved(unknownBody)])
  }
  const stored = await reservations.persist(reservation, store, () => [
    upstreamId === undefined ? markUnknown(task.id) : acceptance(task.id, upstreamId, world.now()),
    ...saved(upstreamId === undefined ? unknownBody : knownBody),
  ])
  // If the disk fails too, the log contains what an operator needs to find the task again.
  if (!stored) world.log('task_not_stored_yet', { task: task.id, upstream_id: upstreamId ?? null })
  return { status, body: isKnown ? knownBody : unknownBody }
}

/**
 * Stores the vendor's id. False if it cannot be the task's id, or belongs to another task: the vendor has begun something unknown.
 */
async function storeId(
  world: SubmitWorld,
  task: NewTask,
  upstreamId: string,
  also: readonly Statement[],
): Promise<boolean> {
  const { db, now, log } = world
  const about = { task: task.id, upstream: task.upstream, upstream_id: upstreamId }
  try {
    if (await acceptTask(db, task.id, upstreamId, now() + FIRST_POLL_MS, also)) return true
    // A commit whose confirmation was lost is repeated, and then finds its own result.
    const found = await findTask(db, task.account, task.id)
    if (found?.upstreamId === upstreamId) return true
    log('task_id_refused', about)
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error
    // Two nodes that store the same id at the same time: only the index detects it.
    log('task_id_refused', { ...about, error: String(error) })
  }
  return false
}

/**
 * Sends the submission once and returns the vendor's id. After any error except a plain refusal it is unknown whether the vendor
 * has begun.
 */
async function sendOnce(
  world: Line['world'],
  reservation: Reservation,
  family: TaskFamily,
  call: Call,
): Promise<string> {
  const {
    request: { model, parsed },
    cancelToken,
  } = reservation
  const { response, done } = await send(world, reservation, call)
  const document = { mostBytes: MAX_DOCUMENT_BYTES }
  const reply = await readReply(response, model, cancelToken.signal, document).finally(done)
  const id = family.task.id(reply.json)
  if (id !== undefined) return id
  if (!hasFailed(family.read(reply.json, parsed, model))) throw garbage(model, 'without the id of a task')
  // An error in a successful answer is still a refusal.
  const refusal = model.upstream.errorOf(400, reply.json)
  refusal.notTaken = true
  throw refusal
}
