// OpenAI's video API: the same tasks as POST /v1/videos/generations, in another form. Requests go through the same
// line. Another account's task must read exactly as one that does not exist.

import { Elysia, NotFoundError } from 'elysia'
import type { Key } from '../../accounts/keys'
import type { Model } from '../../contract/family'
import { operationOf } from '../../contract/operations'
import type { Db } from '../../db/db'
import { invalidRequest } from '../../lib/errors'
import type { CheckModel, Gateway } from '../../request/line'
import { type DeleteWorld, deleteTaskOf } from '../../tasks/delete'
import { findTask, listTasks, requireTask } from '../../tasks/find'
import { showTask, type Task } from '../../tasks/task'
import type { BodyReader } from '../body'
import { exempt, type Listener } from '../connection'
import { errorResponse } from '../errors'
import { queryOf } from '../target'
import { answerKeyed, type KeyedWorld } from '../with-key'
import { HttpIncoming, type IncomingWorld } from './operations'
import { sendVideo, type VideoWorld } from './video-content'
import { inTheseWords, readVideoRequest, reword } from './video-request'

const PATH = '/v1/videos'
/** The path segment of the operation itself, which is no video. */
const RESERVED = 'generations'
const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

/** A request in OpenAI's form, which is the same for every family. */
class VideoIncoming extends HttpIncoming {
  #size: string | undefined

  override body(check: CheckModel) {
    this.rest()
    return readVideoRequest(this.request, this.world, this.bodies, () => this.exempt(), check)
  }

  reword(body: Record<string, unknown>, model: Model): Record<string, unknown> {
    const own = reword(body, model)
    this.#size = (body.size as string | null | undefined) ?? undefined
    return own
  }

  videoSize(): string | undefined {
    return this.#size
  }
}

export function videoRoutes(
  world: KeyedWorld & IncomingWorld & VideoWorld & DeleteWorld,
  gateway: Gateway,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
) {
  const operation = operationOf('video')

  const answer = (request: Request, work: (key: Key, requestId: string) => Promise<Response>) =>
    answerKeyed(world, request, 'openai', async (key, requestId) => {
      const response = await work(key, requestId)
      for (const name in mark) response.headers.set(name, mark[name] as string)
      return response
    })

  async function create(request: Request, listener: Listener | null): Promise<Response> {
    const requestId = world.newId('req')
    try {
      const response = await gateway.handle(
        new VideoIncoming(world, bodies, operation, request, listener, requestId),
      )
      const document = (await response.json()) as TaskDocument
      // The vendor has begun: an answer without some fields is better than an error, after which clients send the
      // request again.
      const task = await findTask(world.db, null, document.id).catch(() => undefined)
      const headers = new Headers({ ...Object.fromEntries(response.headers), ...mark })
      return Response.json(videoOf(document, task), { headers })
    } catch (error) {
      const response = errorResponse(inTheseWords(error), operation.dialect, requestId, world.log)
      return bodies.answer(request, response, listener)
    }
  }

  const show = (request: Request, id: string) =>
    answer(request, async ({ account }, requestId) =>
      json(videoOfTask(await requireTask(world.db, account, id)), requestId),
    )

  const remove = (request: Request, id: string, listener: Listener | null) =>
    answer(request, async ({ account }, requestId) => {
      const task = await requireTask(world.db, account, id)
      // Its vendor may take a while to stop it.
      exempt(listener, request)
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
    .get(`${PATH}/:id/content`, ({ request, params }) => content(request, params.id))
}

function idIn({ id }: { id: string }): string {
  if (id === RESERVED) throw new NotFoundError()
  return id
}

/** A task in the gateway's own form. */
interface TaskDocument {
  id: string
  model: string
  status: Task['state']
  created_at: number
  progress?: number
  video_url?: string
  error?: { code: string; message: string }
}

const statuses = { submitted: 'queued', succeeded: 'completed', failed: 'failed' } as const

function videoOfTask(task: Task) {
  return videoOf(JSON.parse(showTask(task)), task)
}

function videoOf(document: TaskDocument, task: Task | undefined) {
  const { id, model, status, error } = document
  const isBegun = status === 'submitted' && typeof task?.document === 'string'
  return {
    id,
    object: 'video',
    model,
    status: isBegun ? 'in_progress' : statuses[status],
    progress: status === 'succeeded' ? 100 : Math.round(document.progress ?? 0),
    created_at: document.created_at,
    completed_at: secondsOf(task?.endedAt),
    expires_at: expiryOf(document, task),
    seconds: task?.quantities.second === undefined ? null : String(task.quantities.second),
    size: task?.size ?? null,
    prompt: null,
    remixed_from_video_id: null,
    error: status === 'failed' && error ? error : null,
  }
}

/** When a video expires. Known only for a video that is kept here: vendors do not report it. */
function expiryOf({ video_url: url }: TaskDocument, task: Task | undefined): number | null {
  if (url === undefined || !task || url === task.videoUrl) return null
  return Number(URL.parse(url)?.searchParams.get('expires')) || null
}

function secondsOf(at: number | null | undefined): number | null {
  return typeof at === 'number' ? Math.floor(at / 1000) : null
}

async function pageOf(world: { db: Db }, account: string, query: URLSearchParams) {
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw invalidRequest('limit', `Invalid 'limit': expected a whole number from 1 to ${MAX_LIMIT}.`)
  const order = query.get('order') ?? 'desc'
  if (order !== 'desc' && order !== 'asc')
    throw invalidRequest('order', `Invalid value for 'order'. Supported values are: 'asc', 'desc'.`)
  const afterId = query.get('after')
  const after = afterId ? await findTask(world.db, account, afterId) : undefined
  if (afterId && !after)
    throw invalidRequest('after', `Invalid 'after': there is no such task on this account.`)
  return { limit, oldestFirst: order === 'asc', ...(after && { after }) }
}

function json(value: unknown, requestId: string): Response {
  return Response.json(value, { headers: { 'x-request-id': requestId } })
}
