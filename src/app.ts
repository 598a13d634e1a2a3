// The HTTP application: its parts in order. Read this to know what the gateway serves.

import { Elysia } from 'elysia'
import { version } from '../package.json'
import type { Gateway } from './gateway'
import { artifactRoutes } from './http/artifacts'
import { docsRoutes } from './http/docs'
import { errorResponse } from './http/errors'
import { healthRoutes } from './http/health'
import { mcpRoutes } from './http/mcp'
import { modelRoutes } from './http/models'
import { operationRoutes } from './http/operations'
import { rootRoutes } from './http/root'
import { taskRoutes } from './http/tasks'
import { tokenCountRoutes } from './http/token-count'
import { videoRoutes } from './http/videos'
import { type Dialect, GatewayError } from './lib/errors'
import { operations } from './operations'
import type { World } from './world'

/** `mark` are headers of every answer of an operation, such as one that says that it came from the sandbox. */
export function createApp(world: World, gateway: Gateway, mark: Readonly<Record<string, string>> = {}) {
  const app = new Elysia({
    name: 'gateway',
    serve: { idleTimeout: IDLE_TIMEOUT_SECONDS, maxRequestBodySize: MAX_BODY_BYTES },
  })
    .onError(({ error, code, request }) =>
      errorResponse(
        code === 'NOT_FOUND' ? notFound(request) : error,
        dialectOf(request),
        world.newId('req'),
        world.log,
      ),
    )
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

function notFound(request: Request): GatewayError {
  const { pathname } = new URL(request.url)
  if (operations.some(({ path, aliases }) => path === pathname || aliases?.includes(pathname))) {
    return new GatewayError(405, {
      code: 'method_not_allowed',
      message: `${pathname} takes POST, not ${request.method}.`,
      headers: { allow: 'POST' },
    })
  }
  return new GatewayError(404, {
    code: 'unknown_route',
    type: 'invalid_request_error',
    message: `There is no ${request.method} ${pathname.slice(0, 200)} here. The API is below /v1.`,
  })
}
