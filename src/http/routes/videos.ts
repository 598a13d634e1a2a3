// OpenAI's video API: the same tasks as POST /v1/videos/generations, in another form. Requests go through the same
// line. Another account's task must read exactly as one that does not exist.

import { Elysia, NotFoundError } from 'elysia'
import type { Key } from '../../accounts/keys'
import type { Catalogue } from '../../catalogue/models'
import { type OwnTaskForm, taskOf } from '../../contract/family'
import type { Db } from '../../db/db'
import { invalidRequest } from '../../lib/errors'
import type { Gateway } from '../../request/line'
import { modelOf } from '../../tasks/ask-upstream'
import { type DeleteWorld, deleteTaskOf } from '../../tasks/delete'
import { findTask, listTasks, requireTask } from '../../tasks/find'
import { showTask, type Task } from '../../tasks/task'
import type { BodyReader } from '../body'
import { disableTimeout, type Listener } from '../connection'
import { limitOfQuery } from '../query-limit'
import { queryOf } from '../target'
import { answerKeyed } from '../with-key'
import { sendVideo } from './video-content'
import { videoOfTask } from './video-object'
import { createVideoSubmission, type SubmitWorld } from './video-submit'

const PATH = '/v1/videos'
/** The path segment of the operation itself, which is no video. */
const RESERVED = 'generations'
const LIMITS = { usual: 20, most: 100 }

export function videoRoutes(
  world: SubmitWorld & DeleteWorld & { catalogue: Pick<Catalogue, 'models'> },
  gateway: Gateway,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
) {
  const { create, remix } = createVideoSubmission(world, gateway, bodies, mark)

  const answer = (request: Request, work: (key: Key, requestId: string) => Promise<Response>) =>
    answerKeyed(world, request, 'openai', async (key, requestId) => {
      const response = await work(key, requestId)
      for (const name in mark) response.headers.set(name, mark[name] as string)
      return response
    })

  const show = (request: Request, id: string) =>
    answer(request, async ({ account }, requestId) => {
      const task = await requireTask(world.db, account, id)
      const own = id === task.upstreamId ? ownFormOf(world.catalogue, task) : undefined
      if (!own) return json(videoOfTask(task), requestId)
      const { status, body } = own.shown(id, JSON.parse(showTask(task)))
      return json(body, requestId, status)
    })

  const remove = (request: Request, id: string, listener: Listener | null) =>
    answer(request, async ({ account }, requestId) => {
      const task = await requireTask(world.db, account, id)
      // Its vendor may take a while to stop it.
      disableTimeout(listener, request)
      await deleteTaskOf(world, task, () => request.signal.aborted)
      return json({ id: task.id, object: 'video.deleted', deleted: true }, requestId)
    })

  const content = (request: Request, id: string) =>
    answer(request, async ({ account }, requestId) =>
      sendVideo(world, await requireTask(world.db, account, id), request, requestId),
    )

  const list = (request: Request) =>
    answer(request, async ({ account }, requestId) => {
      const { limit, ...page } = await pageOf(world, account, queryOf(request))
      // One more than requested shows whether there are more.
      const tasks = await listTasks(world.db, { account, ...page, limit: limit + 1 })
      const data = tasks.slice(0, limit).map(videoOfTask)
      const [first_id, last_id] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
      return json({ object: 'list', data, first_id, last_id, has_more: tasks.length > limit }, requestId)
    })

  return new Elysia({ name: 'videos' })
    .post(PATH, ({ request, server }) => create(request, server), { parse: 'none' })
    .get(PATH, ({ request }) => list(request))
    .get(`${PATH}/:id`, ({ request, params }) => show(request, idIn(params)))
    .delete(`${PATH}/:id`, ({ request, params, server }) => remove(request, idIn(params), server))
    .post(`${PATH}/:id/remix`, ({ request, params, server }) => remix(request, idIn(params), server), {
      parse: 'none',
    })
    .get(`${PATH}/:id/content`, ({ request, params }) => content(request, params.id))
}

function idIn({ id }: { id: string }): string {
  if (id === RESERVED) throw new NotFoundError()
  return id
}

async function pageOf(world: { db: Db }, account: string, query: URLSearchParams) {
  const limit = limitOfQuery(query, LIMITS)
  const order = query.get('order') ?? 'desc'
  if (order !== 'desc' && order !== 'asc')
    throw invalidRequest('order', `Invalid value for 'order'. Supported values are: 'asc', 'desc'.`)
  const afterId = query.get('after')
  const after = afterId ? await findTask(world.db, account, afterId) : undefined
  if (afterId && !after)
    throw invalidRequest('after', `Invalid 'after': there is no such task on this account.`)
  return { limit, oldestFirst: order === 'asc', ...(after && { after }) }
}

/** The form of a task for clients of its vendor's own API. */
function ownFormOf({ models }: Pick<Catalogue, 'models'>, task: Task): OwnTaskForm | undefined {
  const model = modelOf({ models }, task)
  return model && taskOf(model.family)?.ownForm
}

function json(value: unknown, requestId: string, status = 200): Response {
  return Response.json(value, { status, headers: { 'x-request-id': requestId } })
}
