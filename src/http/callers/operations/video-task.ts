// GET /v1/videos/generations/{id}: the state of a video task, for the account that owns it. Another account's task must look
// exactly like one that does not exist.

import { waiting } from '../../../api-document/headers'
import { waitOfRequest } from '../../../lib/waiting'
import { wholeAnswer } from '../../../request/stream/paced-body'
import { requireTask, taskNotFound } from '../../../tasks/find'
import { showTask } from '../../../tasks/task'
import { waitForTask } from '../../../tasks/wait'
import { disableTimeout } from '../../connection'
import { callerOperation, shared } from '../operation'

const show = callerOperation(shared('VideoTask'))({
  id: 'getVideoTask',
  endpoint: 'GET /v1/videos/generations/{id}',
  // The path on other gateways.
  aliases: ['/v1/video/generations/{id}'],
  params: { id: "The id of the task, or the vendor's id." },
  tag: 'Video',
  summary: 'The state of a video task',
  isMarked: true,
  forTokens: true,
  parameters: waiting,
  answers: 'The task in the form of its vendor, with these additional fields.',
  missing: taskNotFound('task_1'),
  async run({ world, key, params: { id = '' }, request, listener }) {
    const task = await requireTask(world.db, key, id)
    const waitMs = waitOfRequest(request.url, request.headers.get('prefer'))
    if (waitMs > 0) disableTimeout(listener, request)
    const leaves = () => request.signal.aborted
    const ended =
      waitMs > 0 && (await waitForTask(world, task.id, key.account, world.monotonic() + waitMs, leaves))
    return wholeAnswer(world.backlog, ended ? ended.body : showTask(task), {
      headers: { 'content-type': 'application/json' },
    })
  },
})

export const videoTaskOperations = [show]
