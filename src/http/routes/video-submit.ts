// POST /v1/videos and /v1/videos/{id}/remix: submits videos in OpenAI's form: new ones, and others made from an earlier one. Their
// requests must use the same line as those of POST /v1/videos/generations, and are never sent twice.

import { Elysia } from 'elysia'
import { API_TOKENS } from '../../accounts/authenticator'
import type { EarlierVideo, Model } from '../../contract/family'
import { operationOf } from '../../contract/operations'
import type { Db } from '../../db/db'
import type { CheckModel, Gateway } from '../../request/line'
import { findTask, requireTask } from '../../tasks/find'
import type { Task } from '../../tasks/task'
import { authorizationOf, type KeyedWorld } from '../authorization'
import type { BodyReader } from '../body'
import { freshAddressOf, type VideoWorld } from '../callers/video-content'
import { type TaskDocument, videoOf } from '../callers/video-object'
import { clientAddressOf } from '../client-address'
import type { Listener } from '../connection'
import { errorResponse } from '../errors'
import { HttpIncoming, type IncomingWorld } from './operations'
import { readVideoRequest, remixRequest, reword, rewordRemix, withVideoFieldNames } from './video-request'

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

/** A request for another video made from an earlier one. */
class RemixIncoming extends VideoIncoming {
  readonly remixOf: EarlierVideo
  readonly #model: string

  constructor({ task, url }: { task: Task; url: string }, ...of: Parts) {
    super(...of)
    const { id, model, quantities, pollContext } = task
    this.remixOf = { id, url, seconds: quantities.second ?? 0, pollContext }
    this.#model = model
  }

  override async body(check: CheckModel) {
    const bytes = await super.body(check)
    return remixRequest(bytes, { id: this.remixOf.id, model: this.#model })
  }

  override reword(body: Record<string, unknown>, model: Model): Record<string, unknown> {
    return rewordRemix(body, model, this.remixOf)
  }
}

type Parts = ConstructorParameters<typeof HttpIncoming>

type SubmitWorld = KeyedWorld & IncomingWorld & VideoWorld & { db: Db }

export function videoRoutes(
  world: SubmitWorld,
  gateway: Gateway,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
) {
  const operation = operationOf('video')

  async function submit(
    request: Request,
    listener: Listener | null,
    incoming: (parts: Parts) => VideoIncoming | Promise<VideoIncoming>,
  ): Promise<Response> {
    const requestId = world.newId('req')
    try {
      const parts: Parts = [world, bodies, operation, request, listener, requestId]
      const response = await gateway.handle(await incoming(parts))
      const document = (await response.json()) as TaskDocument
      // The vendor has begun: an answer without some fields is better than an error, after which clients send the
      // request again.
      const task = await findTask(world.db, null, document.id).catch(() => undefined)
      const headers = new Headers({ ...Object.fromEntries(response.headers), ...mark })
      return Response.json(videoOf(document, task), { headers })
    } catch (error) {
      const response = errorResponse(withVideoFieldNames(error), operation.dialect, requestId, world.log)
      return bodies.answer(request, response, listener)
    }
  }

  const create = (request: Request, listener: Listener | null) =>
    submit(request, listener, (parts) => new VideoIncoming(...parts))

  const remix = (request: Request, id: string, listener: Listener | null) =>
    submit(request, listener, async (parts) => {
      const asked = authorizationOf(request, world.config, operation.dialect)
      const from = clientAddressOf(request, listener, world.config)
      const key = await world.authenticator.authenticate(asked, from, API_TOKENS)
      const task = await requireTask(world.db, key, id)
      return new RemixIncoming({ task, url: freshAddressOf(task, world.now()) }, ...parts)
    })

  return new Elysia({ name: 'videos' })
    .post('/v1/videos', ({ request, server }) => create(request, server), { parse: 'none' })
    .post('/v1/videos/:id/remix', ({ request, params, server }) => remix(request, params.id, server), {
      parse: 'none',
    })
}
