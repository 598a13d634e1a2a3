// The HTTP application: its routes in order. Nothing must be served that is not listed here.

import { Elysia } from 'elysia'
import { recording } from '../admin/audit-trail'
import { operations } from '../contract/operations'
import { program } from '../db/schema/program'
import { anyHostAdapter } from '../http/any-host'
import { BodyReader, bodyLimitsOf } from '../http/body'
import { withBunRoutes } from '../http/bun-routes'
import type { Recorded } from '../http/callers/operation'
import { callerRoutes } from '../http/callers/routes'
import { clientAddressOf } from '../http/client-address'
import { type Listener, restAfter } from '../http/connection'
import { type Cors, createCors } from '../http/cors'
import { errorResponse } from '../http/errors'
import { servedPaths } from '../http/paths'
import { contentsRoutes } from '../http/routes/contents'
import { docsRoutes } from '../http/routes/docs'
import { healthRoutes } from '../http/routes/health'
import { mcpRoutes } from '../http/routes/mcp'
import { metricsRoutes } from '../http/routes/metrics'
import { oauthRoutes, type RecordedProgram } from '../http/routes/oauth'
import { operationRoutes } from '../http/routes/operations'
import { rootRoutes } from '../http/routes/root'
import { methodsAnswer, type Route, unrouted } from '../http/routes/unrouted'
import { videoRoutes } from '../http/routes/video-submit'
import { checkHost, pathOf } from '../http/target'
import { canRepeatHelp, type Dialect, GatewayError, SHOULD_RETRY } from '../lib/errors'
import type { Gateway } from '../request/line'
import { createTokenCount } from '../request/token-count'
import type { AdminAtPort } from './admin-listener'
import type { ConsoleAtPort } from './console-entrance'
import { createLiveness, createReadiness } from './readiness'
import type { World } from './world'

/**
 * Creates the application. Once another process has taken its place, each answer is the last on its connection. `mark` are headers
 * for the answers of operations, such as the sandbox's. `admin` answers the admin API, if it is at this port, and `console` the
 * console.
 */
export function createApp(
  world: World,
  gateway: Gateway,
  mark: Readonly<Record<string, string>> = {},
  place: { isLeft: boolean } = { isLeft: false },
  { admin, console }: { admin?: AdminAtPort | undefined; console?: ConsoleAtPort } = {},
) {
  const cors = createCors(world)
  const { port, token } = world.config.metrics ?? {}
  const bodies = new BodyReader(world.ticker, () => bodyLimitsOf(world.config))
  const countTokens = createTokenCount(world)
  const recorded: Recorded = (...change) => recordedBy(world, () => app.server)(...change)
  const app = new Elysia({
    name: 'gateway',
    adapter: anyHostAdapter,
    handler: { standardHostname: false },
    serve: {
      // Errors that no handler caught. Bun would otherwise print the source around the error, and answer with text.
      error: (error: unknown) => errorResponse(error, 'openai', world.newId('req'), world.log),
    },
  })
  const fail = (request: Request, error: unknown) => {
    const requestId = world.newId('req')
    const response = errorResponse(error, dialectOf(request), requestId, world.log)
    if (isProbe(request, error)) {
      world.log('request_malformed', {
        request: requestId,
        client: clientAddressOf(request, app.server, world.config),
        ...{ method: request.method, status: response.status },
      })
    }
    if (isShared(request)) cors.share(request, response.headers)
    if (place.isLeft) response.headers.set('connection', 'close')
    return response
  }
  app
    .onError(({ error, code, request }) =>
      fail(request, code === 'NOT_FOUND' ? misdirected(app.routes, request) : error),
    )
    .onBeforeHandle(({ request }) => checkHost(request))
    .onAfterHandle(({ request, response }) => {
      // Requests with a body set the timeouts of their connection themselves.
      if (request.method === 'GET') restAfter(response, app.server, request, world.config)
      if (!(response instanceof Response)) return
      if (place.isLeft) response.headers.set('connection', 'close')
      // Errors other than a GatewayError, such as a missing part of a file.
      if (response.status >= 400 && !response.headers.has(SHOULD_RETRY))
        response.headers.set(SHOULD_RETRY, String(canRepeatHelp(response.status)))
      if (isShared(request)) cors.share(request, response.headers)
    })
    .use(optionsRoutes(cors, () => app.routes))
    .use(videoRoutes(world, gateway, bodies, mark))
    .use(contentsRoutes(world, gateway, bodies, countTokens, mark))
    .use(mcpRoutes(world, gateway, bodies, { mark, version: program().version }))
    .use(
      oauthRoutes(
        world,
        bodies,
        recordedAs(world, () => app.server),
      ),
    )
    .use(callerRoutes({ world, gateway, bodies, mark, countTokens, recorded }))
    .use(healthRoutes(createReadiness(world), createLiveness(world), program()))
    .use(metricsRoutes(world, port === undefined ? token : undefined))
    .use(rootRoutes({ hasConsole: console !== undefined }))
    .use(docsRoutes(world, program().version))
  if (console) app.use(consoleRoutes((request) => console(request, app.server)))
  if (admin) app.all('/admin/v1/*', ({ request }) => admin(request, app.server))
  return withBunRoutes(app.use(operationRoutes(world, gateway, bodies, mark, () => app.server)), fail)
}

/** Answers preflights of web pages, and which methods a path has. */
function optionsRoutes(cors: Cors, routes: () => readonly Route[]) {
  const app = new Elysia()
  for (const path of SHARED_PATHS)
    app.options(`${path}*`, ({ request }) => cors.preflight(request) ?? methodsAnswer(routes(), request))
  return app
}

/** The database for a change by a program that has connected, with the entry in the audit trail. */
function recordedAs(world: World, listener: () => Listener | null): RecordedProgram {
  return (clientId, change, { requestId, request }) => {
    const clientAddress = clientAddressOf(request, listener(), world.config)
    return recording(world, { name: `program ${clientId}`, requestId, clientAddress }, change)
  }
}

/** Changes of a key by its holder are in the audit trail, like those of operators. */
function recordedBy(world: World, listener: () => Listener | null): Recorded {
  return ({ name }, change, { requestId, request }) => {
    const clientAddress = clientAddressOf(request, listener(), world.config)
    return recording(
      world,
      { name: `key ${name}`, requestId, clientAddress },
      { ...change, target: `key:${name}` },
    )
  }
}

function consoleRoutes(ask: (request: Request) => Promise<Response>) {
  const answer = ({ request }: { request: Request }) => ask(request)
  return new Elysia().all('/console', answer).all('/console/*', answer, { parse: 'none' })
}

/** The dialect of errors for a path: Google's below /v1beta, and the operation's at and below the path of an operation. */
function dialectOf(request: Request): Dialect {
  const pathname = pathOf(request)
  if (pathname.startsWith('/v1beta/')) return 'gemini'
  const isBelow = (path: string) => `${pathname}/`.startsWith(`${path}/`)
  return operations.find((operation) => servedPaths(operation).some(isBelow))?.dialect ?? 'openai'
}

/** The error of a request without a route; a broken Host is reported before a wrong path. */
function misdirected(routes: readonly Route[], request: Request): unknown {
  try {
    checkHost(request)
    return unrouted(routes, request)
  } catch (error) {
    return error
  }
}

/**
 * Whether a request looks like a probe: no client of the API sends it, and an operator may want to know about a search for proxies
 * or a wrong proxy.
 */
function isProbe({ method }: Request, error: unknown): boolean {
  return (
    method === 'CONNECT' ||
    method === 'TRACE' ||
    (error instanceof GatewayError && (error.code === 'invalid_host' || error.code === 'invalid_path'))
  )
}

/** Prefixes of the paths of the API, including those that clients of other gateways and base URLs use. */
const SHARED_PATHS = ['/v1/', '/v1beta/', '/v2/', '/messages', '/dashboard/billing/', '/api/v1/'] as const

/** Whether a web page sends the request to the API. MCP, which is also below /v1, answers pages itself. */
function isShared(request: Request): boolean {
  if (!request.headers.has('origin')) return false
  const pathname = pathOf(request)
  return pathname !== '/v1/mcp' && SHARED_PATHS.some((path) => pathname.startsWith(path))
}
