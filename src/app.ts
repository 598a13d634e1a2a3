// The HTTP application: its parts in order. Read this to know what the gateway serves.

import { Elysia } from 'elysia'
import { version } from '../package.json'
import type { Gateway } from './gateway'
import { artifactRoutes } from './http/artifacts'
import { createCors } from './http/cors'
import { docsRoutes } from './http/docs'
import { errorResponse } from './http/errors'
import { healthRoutes } from './http/health'
import { mcpRoutes } from './http/mcp'
import { modelRoutes } from './http/models'
import { operationRoutes } from './http/operations'
import { rootRoutes } from './http/root'
import { taskRoutes } from './http/tasks'
import { tokenCountRoutes } from './http/token-count'
import { methodsAnswer, unrouted } from './http/unrouted'
import { videoRoutes } from './http/videos'
import type { Dialect } from './lib/errors'
import { operations } from './operations'
import type { World } from './world'

/** `mark` are headers of every answer of an operation, such as one that says that it came from the sandbox. */
export function createApp(world: World, gateway: Gateway, mark: Readonly<Record<string, string>> = {}) {
  const cors = createCors(world.config)
  const app = new Elysia({
    name: 'gateway',
    serve: { idleTimeout: IDLE_TIMEOUT_SECONDS, maxRequestBodySize: MAX_BODY_BYTES },
  })
  const fail = (request: Request, error: unknown) => {
    const response = errorResponse(error, dialectOf(request), world.newId('req'), world.log)
    if (isShared(request)) cors.share(request, response.headers)
    return response
  }
  app
    .onError(({ error, code, request }) =>
      fail(request, code === 'NOT_FOUND' ? unrouted(app.routes, request) : error),
    )
    .onAfterHandle(({ request, response }) => {
      if (isShared(request) && response instanceof Response) cors.share(request, response.headers)
    })
    .options('/v1/*', ({ request }) => cors.preflight(request) ?? methodsAnswer(app.routes, request))
    .use(taskRoutes(world, mark))
    .use(videoRoutes(world, gateway, mark))
    .use(artifactRoutes(world))
    .use(tokenCountRoutes(world, mark))
    .use(mcpRoutes(world, gateway, { mark, version }))
    .use(modelRoutes(world))
    .use(healthRoutes(world))
    .use(rootRoutes())
    .use(docsRoutes(world, version))
  return app.use(operationRoutes(world, gateway, mark, () => app.server))
}

/** For connections that send nothing; requests that wait for a vendor are exempt. */
const IDLE_TIMEOUT_SECONDS = 120
/** Beyond the limit of every operation, so that our own 413 answers first. */
const MAX_BODY_BYTES = 257 * 1024 * 1024

/** Below the path of an operation, as at it, callers read its form of errors. */
function dialectOf(request: Request): Dialect {
  const { pathname } = new URL(request.url)
  return operations.find(({ path }) => `${pathname}/`.startsWith(`${path}/`))?.dialect ?? 'openai'
}

/** Sent by a web page to the API. Tools, which are below /v1 too, have an answer of their own for it. */
function isShared(request: Request): boolean {
  return request.headers.has('origin') && /^\/v1\/(?!mcp$)/.test(new URL(request.url).pathname)
}
