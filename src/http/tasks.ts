// GET /v1/videos/generations/{id}: how a video task stands, for the account that it belongs to (spec).
// Another account's task must read exactly as one that does not exist.

import { Elysia } from 'elysia'
import { waitOfRequest } from '../lib/waiting'
import { waitForTask } from '../submit'
import { requireTask, showTask } from '../tasks'
import type { World } from '../world'
import { authorizationOf } from './authorization'
import { errorResponse } from './errors'

export function taskRoutes(world: World, mark: Readonly<Record<string, string>>) {
  async function show(request: Request, id: string, exempt: () => void): Promise<Response> {
    const requestId = world.newId('req')
    try {
      const key = await world.authenticator.authenticate(authorizationOf(request.headers, world.config))
      const task = await requireTask(world.db, key.account, id)
      const waitMs = waitOfRequest(request.url, request.headers.get('prefer'))
      if (waitMs > 0) exempt()
      const leaves = () => request.signal.aborted
      const ended =
        waitMs > 0 && (await waitForTask(world, task.id, key.account, world.now() + waitMs, leaves))
      return new Response(ended ? ended.body : showTask(task), {
        headers: { 'content-type': 'application/json', 'x-request-id': requestId, ...mark },
      })
    } catch (error) {
      return errorResponse(error, 'openai', requestId, world.log)
    }
  }

  const lift = (request: Request, server: Server | null) => () => server?.timeout(request, 0)
  return (
    new Elysia({ name: 'tasks' })
      .get('/v1/videos/generations/:id', ({ request, params, server }) =>
        show(request, params.id, lift(request, server)),
      )
      // What callers of other gateways use.
      .get('/v1/video/generations/:id', ({ request, params, server }) =>
        show(request, params.id, lift(request, server)),
      )
  )
}

/** As much of the server as is needed to let a quiet connection live. */
type Server = { timeout(request: Request, seconds: number): void }
