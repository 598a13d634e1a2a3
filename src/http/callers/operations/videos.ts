// Tasks in the form of OpenAI's video API: listed, read, deleted, and their videos. They are the same tasks as those of POST
// /v1/videos/generations. Another account's task must look exactly like one that does not exist.

import { Type } from '@sinclair/typebox'
import { fileAnswers } from '../../../api-document/described'
import { OneOf } from '../../../api-operation/operation'
import { limitParameter, list, maybeText, named, text } from '../../../api-operation/schemas'
import { taskOf } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { modelOf } from '../../../tasks/ask-upstream'
import { deleteTaskOf } from '../../../tasks/delete'
import { findTask, listTasks, requireTask, taskNotFound } from '../../../tasks/find'
import { showTask } from '../../../tasks/task'
import { disableTimeout } from '../../connection'
import { callerOperation, shared } from '../operation'
import { sendVideo } from '../video-content'
import { videoOfTask } from '../video-object'
import { range } from './files'

const ofVideos = { tag: 'Video', isMarked: true, aliases: [] } as const
const ofVideo = { ...ofVideos, params: { id: 'The id of the task.' }, missing: taskNotFound('task_1') }

const VideoList = named(
  'VideoList',
  {
    object: Type.Literal('list'),
    data: list(shared('Video')),
    first_id: maybeText,
    last_id: maybeText,
    has_more: Type.Boolean(),
  },
  { object: 'list', data: [], first_id: null, last_id: null, has_more: false },
)

const listVideos = callerOperation(VideoList)({
  ...ofVideos,
  id: 'listVideos',
  endpoint: 'GET /v1/videos',
  summary: 'The video tasks of the account, newest first',
  query: Type.Object({
    limit: limitParameter(20, 100, 'Tasks on a page.'),
    after: Type.Optional(Type.String({ description: 'The page after this task.' })),
    order: OneOf(['asc', 'desc'], { default: 'desc', description: 'By time.' }),
  }),
  answers: 'A page of tasks.',
  async run({ world: { db }, key: { account } }, { limit, after: afterId, order }) {
    const after = afterId ? await findTask(db, account, afterId) : undefined
    if (afterId && !after)
      throw invalidRequest('after', `Invalid 'after': there is no such task on this account.`)
    // One more than requested shows whether there are more.
    const page = {
      account,
      operation: 'video' as const,
      oldestFirst: order === 'asc',
      limit: limit + 1,
      ...(after && { after }),
    }
    const tasks = await listTasks(db, page)
    const data = tasks.slice(0, limit).map(videoOfTask)
    const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
    return { object: 'list', data, first_id, last_id, has_more: tasks.length > limit }
  },
})

const show = callerOperation(shared('Video'))({
  ...ofVideo,
  id: 'getVideo',
  forTokens: true,
  endpoint: 'GET /v1/videos/{id}',
  summary: 'One video task in this form',
  description:
    'By the `request_id` that the answer to a submit has for some models, the task in the words of their vendor, for its own clients.',
  answers: 'The task.',
  furtherAnswers: { '202': { description: 'The task in the words of its vendor, while it runs.' } },
  async run({ world, key, params: { id = '' } }) {
    const task = await requireTask(world.db, key, id)
    const model = id === task.upstreamId ? modelOf(world.catalogue, task) : undefined
    const own = model && taskOf(model.family)?.ownForm?.shown(id, JSON.parse(showTask(task)))
    return own ? Response.json(own.body, { status: own.status }) : videoOfTask(task)
  },
})

const remove = callerOperation(
  named(
    'DeletedVideo',
    { id: text, object: Type.Literal('video.deleted'), deleted: Type.Literal(true) },
    { id: 'task_0193a1b2c3d47e8f', object: 'video.deleted', deleted: true },
  ),
)({
  ...ofVideo,
  id: 'deleteVideo',
  endpoint: 'DELETE /v1/videos/{id}',
  summary: 'Delete a video task',
  description: 'With its kept results. What runs is stopped first, if its vendor can.',
  answers: 'It is deleted.',
  errors: ['running'],
  async run({ world, key, params: { id = '' }, request, listener }) {
    const task = await requireTask(world.db, key, id)
    // Its vendor may take a while to stop it.
    disableTimeout(listener, request)
    await deleteTaskOf(world, task, () => request.signal.aborted)
    return { id: task.id, object: 'video.deleted', deleted: true }
  },
})

const content = callerOperation(Type.Unsafe<Response>())({
  ...ofVideo,
  id: 'getVideoContent',
  forTokens: true,
  endpoint: 'GET /v1/videos/{id}/content',
  summary: 'The bytes of a finished video',
  query: Type.Object({ variant: OneOf(['video'], { default: 'video', description: 'There is one.' }) }),
  parameters: [range],
  furtherAnswers: fileAnswers('video/mp4'),
  errors: ['notReady', 'vendor'],
  async run({ world, key, params: { id = '' }, request, requestId }) {
    return sendVideo(world, await requireTask(world.db, key, id), request, requestId)
  },
})

export const videoOperations = [listVideos, show, remove, content]
