// GET /v1/videos/generations/{id}: the state of a video task, for the account that owns it. Another account's task must
// read exactly as one that does not exist.

import { Elysia } from 'elysia'
import { waitOfRequest } from '../../lib/waiting'
import { requireTask } from '../../tasks/find'
import { showTask } from '../../tasks/task'
import { type WaitWorld, waitForTask } from '../../tasks/wait'
import { exempt, type Listener } from '../connection'
import { answerKeyed, type KeyedWorld } from '../with-key'

export function taskRoutes(world: KeyedWorld & WaitWorld, mark: Readonly<Record<string, string>>) {
  const show = (request: Request, id: string, exempt: () => void) =>
    answerKeyed(world, request, 'openai', async ({ account }, requestId) => {
      const task = await requireTask(world.db, account, id)
      const waitMs = waitOfRequest(request.url, request.headers.get('prefer'))
      if (waitMs > 0) exempt()
      const leaves = () => request.signal.aborted
      const ended =
        waitMs > 0 && (await waitForTask(world, task.id, account, world.monotonic() + waitMs, leaves))
      return new Response(ended ? ended.body : showTask(task), {
        headers: { 'content-type': 'application/json', 'x-request-id': requestId, ...mark },
      })
    })

  const lift = (request: Request, server: Listener | null) => () => exempt(server, request)
  return (
    new Elysia({ name: 'tasks' })
      .get('/v1/videos/generations/:id', ({ request, params, server }) =>
        show(request, params.id, lift(request, server)),
      )
      // The path on other gateways.
      .get('/v1/video/generations/:id', ({ request, params, server }) =>
        show(request, params.id, lift(request, server)),
      )
  )
}
