// Asks the vendor of a task for its state, or to stop it: one call with a time limit of its own, and its answer as a
// value. It must never throw, whatever the vendor answers, nor change a task.

import type { Catalogue } from '../catalogue/models'
import { timedOut } from '../contract/failures'
import { type Call, type Model, taskOf } from '../contract/family'
import type { HttpResponse } from '../http-client/response'
import type { CancelSignal } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import type { After } from '../lib/system'
import { MAX_DOCUMENT_BYTES, readReply } from '../upstreams/reply'
import type { PollAnswer } from './poll-answer'
import type { Task } from './task'

const POLL_TIMEOUT_MS = 20_000

/**
 * The model of a task; undefined if it is out of the catalogue, or belongs to another vendor now, who would not know
 * the task.
 */
export function modelOf({ models }: Pick<Catalogue, 'models'>, task: Task): Model | undefined {
  return models
    .get(task.model)
    ?.find(({ family, upstream }) => family.kind === 'task' && upstream.name === task.upstream)
}

export async function askUpstream(after: After, task: Task, model: Model): Promise<PollAnswer> {
  const contract = taskOf(model.family)
  if (!contract || task.upstreamId === null) return { error: 'the task has no vendor to ask' }
  try {
    const reply = await send(after, task, model, contract.poll(task.upstreamId), (response, signal) =>
      readReply(response, model, signal, { mayBeEmpty: true, mostBytes: MAX_DOCUMENT_BYTES }),
    )
    const outcome = contract.outcome(reply.json, task.pollContext)
    return outcome ? { outcome } : { error: 'upstream_garbage' }
  } catch (error) {
    if (!(error instanceof GatewayError)) return { error: String(error) }
    if (error.code === 'upstream_model_missing') return { outcome: { status: 'missing' } }
    return { error: error.code, retryAfterMs: Number(error.headers['retry-after'] ?? 0) * 1000 }
  }
}

/** Whether the vendor has stopped a task, or why it does not. */
export async function stopAtUpstream(
  after: After,
  task: Task,
  model: Model | undefined,
): Promise<{ stopped: true } | { stopped: false; reason: string }> {
  const call = model && task.upstreamId !== null && taskOf(model.family)?.cancel?.(task.upstreamId)
  if (!model || !call) return { stopped: false, reason: 'Tasks of this model cannot be stopped.' }
  try {
    // The status is enough; the rest of the answer is of no use.
    await send(after, task, model, call, async ({ body }) => body.cancel())
    return { stopped: true }
  } catch (error) {
    return { stopped: false, reason: error instanceof Error ? error.message : String(error) }
  }
}

/** Makes one call, with a time limit until its answer has been read. */
async function send<Result>(
  after: After,
  { account }: Task,
  model: Model,
  call: Call,
  read: (response: HttpResponse, signal: CancelSignal) => Promise<Result>,
): Promise<Result> {
  const { upstream } = model
  const controller = new AbortController()
  const timeoutMs = Math.min(POLL_TIMEOUT_MS, upstream.timeoutMs)
  const stopTimer = after(timeoutMs, () => controller.abort(timedOut(model)))
  try {
    const { response, done } = await upstream.send(call, null, controller.signal, { account })
    return await read(response, controller.signal).finally(done)
  } finally {
    stopTimer()
  }
}
