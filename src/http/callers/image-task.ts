// A task of images in the form of sub2api, whose clients poll it: docs/ASYNC_IMAGE_TASKS.md of Wei-Shaw/sub2api. It must show
// no more than the task does.

import { asObject } from '../../lib/objects'
import type { Task } from '../../tasks/task'

/** The parts of a task that are known when it begins. */
type BegunTask = Pick<Task, 'id' | 'state' | 'createdAt' | 'endedAt' | 'errorCode' | 'errorMessage'>

const statuses = { submitted: 'processing', succeeded: 'completed', failed: 'failed' } as const

/** `result` is the answer of the request; undefined before it exists, and once it has expired. */
export function imageTaskOf(task: BegunTask, result?: unknown) {
  const { id, state, createdAt, endedAt, errorCode, errorMessage } = task
  const [first] = (asObject(result).data ?? []) as readonly unknown[]
  const { url } = asObject(first)
  return {
    id,
    task_id: id,
    object: 'image.generation.task',
    status: statuses[state],
    created_at: Math.floor(createdAt / 1000),
    ...(endedAt !== null && { completed_at: Math.floor(endedAt / 1000) }),
    ...(state === 'submitted' && { poll_url: `/v1/images/tasks/${id}` }),
    ...(state === 'succeeded' && { http_status: 200 }),
    ...(typeof url === 'string' && { image_url: url }),
    ...(result !== undefined && { result }),
    ...(state === 'failed' && { error: { type: 'api_error', code: errorCode, message: errorMessage } }),
  }
}
