// Asks the vendor of a task for its state, or to stop it: one call with its own time limit, and its answer as a value. It must
// never throw, whatever the vendor answers, or change a task.

import type { Catalogue } from '../catalogue/models'
import { timedOut } from '../contract/failures'
import { type Call, type Model, type ResultAnswer, taskOf } from '../contract/family'
import type { HttpResponse } from '../http-client/response'
import type { CancelSignal } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import type { After } from '../lib/system'
import { MAX_DOCUMENT_BYTES, readReply } from '../upstreams/reply'
import type { PollAnswer } from './poll-answer'
import type { Task } from './task'

/** Time limit of a poll or a cancellation: the lease of a task is longer than both together. */
const POLL_TIMEOUT_MS = 20_000
/** Time limit of each call of a poll that may need two. */
const HALF_POLL_MS = POLL_TIMEOUT_MS / 2
const TOO_MANY = 429
const STOPPING = 'The upstream was asked to stop it. Its state says whether it has.'

/**
 * The model of a task; undefined if it is no longer in the catalogue, or now belongs to another vendor, which would not know the
 * task.
 */
export function modelOf({ models }: Pick<Catalogue, 'models'>, task: Task): Model | undefined {
  return models
    .get(task.model)
    ?.find(({ family, upstream }) => family.kind === 'task' && upstream.name === task.upstream)
}

export async function askUpstream(after: After, task: Task, model: Model): Promise<PollAnswer> {
  const contract = taskOf(model.family)
  if (!contract || task.upstreamId === null) return { error: 'the task has no vendor to ask' }
  const { upstreamId } = task
  try {
    const limitMs = contract.result ? HALF_POLL_MS : POLL_TIMEOUT_MS
    const state = await ask(after, task, model, contract.poll(upstreamId, task), limitMs)
    const { pollContext } = task
    const call = contract.result?.call(state, upstreamId, pollContext)
    const outcome =
      call && contract.result
        ? contract.result.outcome(await resultOf(after, task, model, call), state, pollContext)
        : contract.outcome(state, pollContext)
    return outcome ? { outcome } : { error: 'upstream_garbage' }
  } catch (error) {
    if (!(error instanceof GatewayError)) return { error: String(error) }
    if (error.code === 'upstream_model_missing') return { outcome: { status: 'missing' } }
    return { error: error.code, retryAfterMs: Number(error.headers['retry-after'] ?? 0) * 1000 }
  }
}

/** The answer to the call for a result. Throws anything that is not about the task: no answer, too many calls, the operator's account. */
async function resultOf(after: After, task: Task, model: Model, call: Call): Promise<ResultAnswer> {
  try {
    return { reply: await ask(after, task, model, call, HALF_POLL_MS) }
  } catch (error) {
    if (!(error instanceof GatewayError) || error.operatorRefusal) throw error
    const { vendorStatus: status, code, message } = error
    if (status === null || status < 400 || status === TOO_MANY) throw error
    return { status, error: { code, message } }
  }
}

async function ask(after: After, task: Task, model: Model, call: Call, limitMs?: number): Promise<object> {
  const read = (response: HttpResponse, signal: CancelSignal) =>
    readReply(response, model, signal, { mayBeEmpty: true, mostBytes: MAX_DOCUMENT_BYTES })
  const { json } = await send(after, task, model, call, read, limitMs)
  return json
}

/** Whether the vendor has stopped a task, or the reason why not. */
export async function stopAtUpstream(
  after: After,
  task: Task,
  model: Model | undefined,
): Promise<{ stopped: true } | { stopped: false; reason: string }> {
  const contract = model && taskOf(model.family)
  const call = task.upstreamId !== null && contract?.cancel?.(task.upstreamId, task)
  if (!model || !call) return { stopped: false, reason: 'Tasks of this model cannot be stopped.' }
  try {
    if (!contract?.hasStopped) {
      // The status suffices; the rest of the answer is not needed.
      await send(after, task, model, call, async ({ body }) => body.cancel())
      return { stopped: true }
    }
    const hasStopped = contract.hasStopped(await ask(after, task, model, call))
    return hasStopped ? { stopped: true } : { stopped: false, reason: STOPPING }
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
  limitMs = POLL_TIMEOUT_MS,
): Promise<Result> {
  const { upstream } = model
  const controller = new AbortController()
  const timeoutMs = Math.min(limitMs, upstream.timeoutMs)
  const stopTimer = after(timeoutMs, () => controller.abort(timedOut(model)))
  try {
    const { response, done } = await upstream.send(call, null, controller.signal, { account })
    return await read(response, controller.signal).finally(done)
  } finally {
    stopTimer()
  }
}
