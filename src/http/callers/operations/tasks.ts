// Tasks for those who may read them: a task by its id with its result, and how a caller stops or deletes a request that is answered
// later. Another account's task must look exactly like one that does not exist.

import { Type } from '@sinclair/typebox'
import { fileAnswers } from '../../../api-document/described'
import { waiting } from '../../../api-document/headers'
import { named, text } from '../../../api-operation/schemas'
import type { Artifact } from '../../../artifacts/rows'
import { GatewayError } from '../../../lib/errors'
import { waitOfRequest } from '../../../lib/waiting'
import { jsonAnswer, wholeAnswer } from '../../../request/stream/paced-body'
import { deleteTaskOf } from '../../../tasks/delete'
import { findTaskFor } from '../../../tasks/find'
import { orderCancel } from '../../../tasks/orders'
import { jsonOf, resultOf, showWithResult } from '../../../tasks/result'
import { isDeferred, type Task } from '../../../tasks/task'
import { waitForTask } from '../../../tasks/wait'
import { disableTimeout } from '../../connection'
import { sendArtifact } from '../../kept-files'
import { imageTaskOf } from '../image-task'
import { type CallerContext, type CallerWorld, callerOperation, shared } from '../operation'
import { range } from './files'
import { ownKey } from './own-key'
import { knownId, notOfKey, ownTask } from './own-records'

const RETRY_LATER = { 'retry-after': '3' }
const NOT_STORED = { 'cache-control': 'no-store' }

const ofTask = { ...ownKey, params: { id: 'The id of the task.' }, missing: notOfKey('task', 'task_1') }

type TaskContext = Pick<CallerContext, 'world' | 'key' | 'params' | 'request' | 'listener'>

/** The task that a request names, once it has ended or the caller's wait is over. Throws 404. */
async function waitedFor({ world, key, params: { id = '' }, request, listener }: TaskContext): Promise<Task> {
  const find = async () => {
    const task = await findTaskFor(world.db, key, knownId(id))
    if (task && (task.keyId === key.id || isDeferred(task))) return task
    throw notOfKey('task', id)
  }
  const task = await find()
  const waitMs = waitOfRequest(request.url, request.headers.get('prefer'))
  if (waitMs === 0 || task.state !== 'submitted') return task
  disableTimeout(listener, request)
  const until = world.monotonic() + waitMs
  await waitForTask(world, task.id, key.account, until, () => request.signal.aborted)
  return find()
}

/** A deferred task. Throws 404 for a video, which has its own paths. */
async function deferredOf(context: TaskContext): Promise<Task> {
  const task = await waitedFor(context)
  if (isDeferred(task)) return task
  throw notOfKey('task', context.params.id ?? '')
}

const show = callerOperation(ownTask.schema)({
  ...ofTask,
  id: 'getOwnTask',
  forTokens: true,
  endpoint: 'GET /v1/tasks/{id}',
  summary: 'A task of this key',
  description: 'With its result, and what is held or paid for it.',
  params: { id: "The id of the task, or the vendor's id." },
  missing: notOfKey('task', 'video_1'),
  parameters: waiting,
  async run(context) {
    const task = await waitedFor(context)
    const shown = ownTask.show(task)
    if (!isDeferred(task)) return shown
    const { result_url, content_type, bytes, result } = JSON.parse(await showWithResult(context.world, task))
    return { ...shown, result_url, content_type, bytes, result }
  },
})

const result = callerOperation(Type.Unsafe<Response>())({
  ...ofTask,
  id: 'getTaskResult',
  forTokens: true,
  endpoint: 'GET /v1/tasks/{id}/result',
  summary: 'Answer of a deferred request',
  description: 'As it would have been sent at once.',
  parameters: [range, ...waiting],
  furtherAnswers: {
    ...fileAnswers('application/json'),
    '202': { description: 'The task, while it runs.' },
  },
  async run(context) {
    const { world, request, requestId } = context
    const task = await deferredOf(context)
    if (task.state === 'submitted') {
      const headers = { ...RETRY_LATER, ...NOT_STORED, 'content-type': 'application/json' }
      return new Response(await showWithResult(world, task), { status: 202, headers })
    }
    if (task.state === 'failed') throw failed(task)
    const found = await resultOf(world, task)
    if (!found) throw expired(task)
    if ('body' in found)
      return wholeAnswer(world.backlog, found.body, {
        headers: { 'content-type': found.contentType, 'cache-control': 'private' },
      })
    const artifact = await artifactAt(world, found.url)
    if (!artifact) throw expired(task)
    return sendArtifact(world, artifact, request, requestId)
  },
})

async function artifactAt({ artifacts }: CallerWorld, address: string): Promise<Artifact | undefined> {
  const url = URL.parse(address)
  const { searchParams } = url ?? {}
  const id = url?.pathname.split('/').at(-1) ?? ''
  return artifacts?.find(id, searchParams?.get('expires') ?? '', searchParams?.get('signature') ?? '')
}

const cancel = callerOperation(ownTask.schema)({
  ...ofTask,
  id: 'cancelTask',
  endpoint: 'POST /v1/tasks/{id}/cancel',
  summary: 'Stop a deferred request',
  description: 'Unless its vendor has been asked: that is charged.',
  answers: 'The task, which has failed with the code `canceled`. Nothing was charged.',
  errors: ['running'],
  async run(context) {
    const { world } = context
    const task = await deferredOf(context)
    await orderCancel(world.db, task, { now: world.now(), newId: world.newId })
    return ownTask.show(await deferredOf(context))
  },
})

const remove = callerOperation(
  named(
    'DeletedTask',
    { id: text, object: Type.Literal('task.deleted'), deleted: Type.Literal(true) },
    { id: 'task_0193a1b2c3d47e8f', object: 'task.deleted', deleted: true },
  ),
)({
  ...ofTask,
  id: 'deleteTask',
  endpoint: 'DELETE /v1/tasks/{id}',
  summary: 'Delete a deferred request',
  description: 'With its result.',
  answers: 'It is deleted.',
  errors: ['running'],
  async run(context) {
    const task = await deferredOf(context)
    await deleteTaskOf(context.world, task, () => context.request.signal.aborted)
    return { id: task.id, object: 'task.deleted', deleted: true }
  },
})

const image = callerOperation(shared('ImageTask'))({
  ...ofTask,
  tag: 'Images',
  id: 'getImageTask',
  forTokens: true,
  endpoint: 'GET /v1/images/tasks/{id}',
  summary: 'A task of images, for clients of other gateways',
  parameters: waiting,
  async run(context) {
    const task = await deferredOf(context)
    const json = jsonOf(await resultOf(context.world, task))
    const body = imageTaskOf(task, json === undefined ? undefined : JSON.parse(json))
    const headers = task.state === 'submitted' ? { ...RETRY_LATER, ...NOT_STORED } : NOT_STORED
    return jsonAnswer(context.world.backlog, body, { headers })
  },
})

function failed({ id, errorCode, errorMessage }: Task): GatewayError {
  return new GatewayError(404, {
    code: 'task_failed',
    message: `There is no result of ${id}: the task failed (${errorCode}: ${errorMessage})`,
  })
}

function expired({ id }: Task): GatewayError {
  return new GatewayError(404, {
    code: 'response_not_found',
    message: `The result of ${id} is no longer stored. It was charged; send the request again to make another one.`,
  })
}

export const ownTaskOperations = [show, result, cancel, remove, image]
