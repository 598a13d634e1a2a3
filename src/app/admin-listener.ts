// Serves the admin API: on its own listener, or at the port of the API for this machine only. It must never answer
// another machine unless the configuration allows it.

import { AdminApi } from '../admin/api'
import type { ProcessControl } from '../admin/operation'
import { certificateOf } from '../config/listening'
import { everyPath } from '../http/bun-routes'
import { clientAddressOf } from '../http/client-address'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../http/connection'
import { errorResponse } from '../http/errors'
import { checkHost, pathOf } from '../http/target'
import { GatewayError } from '../lib/errors'
import { inBrackets } from '../lib/url-host'
import { isLocal, notFoundForOthers } from '../listen/this-machine'
import type { ConsoleAtPort } from './console-entrance'
import type { World } from './world'

export interface AdminListener {
  url: string
  /** Accepts nothing new; running requests are finished. */
  leave(): Promise<void>
  stop(): Promise<void>
}

const DEFAULT_HOST = '127.0.0.1'
const IDLE_SECONDS = 30
const MAX_BODY_BYTES = 1024 * 1024

/** Answers requests of the admin API that arrive at the port of the API. */
export type AdminAtPort = (request: Request, listener: Listener | null) => Promise<Response>

/** Answers at the port of the API: this machine only, unless the configuration allows others. */
export function adminAtPort(world: World, api: AdminApi): AdminAtPort {
  return async (request, listener) => {
    if (world.config.admin?.allowRemote !== true && !isLocal(request, listener))
      return errorResponse(notFoundForOthers(), 'openai', world.newId('req'), world.log)
    // A backup may take minutes.
    disableTimeout(listener, request)
    try {
      return await api.answer(request, clientAddressOf(request, listener, world.config))
    } finally {
      setKeepAliveTimeout(listener, request, world.config)
    }
  }
}

/** Opens the configured listener; undefined if none is configured. Throws if its address cannot be used. */
export function listenForAdmins(
  world: World,
  api: AdminApi,
  console: ConsoleAtPort,
  canShare: boolean,
): AdminListener | undefined {
  const { host = DEFAULT_HOST, port } = world.config.admin ?? {}
  if (port === undefined) return undefined
  const { tls } = world.config.server ?? {}
  const fail = (_: Request, error: unknown) => errorResponse(error, 'openai', world.newId('req'), world.log)
  const answer = async (request: Request): Promise<Response> => {
    try {
      checkHost(request)
      const path = pathOf(request)
      if (/^\/console(\/|$)/.test(path)) return await console(request, server)
      if (!path.startsWith('/admin/v1/')) throw notServed()
      // A backup may take minutes.
      server.timeout(request, 0)
      return await api.answer(request, clientAddressOf(request, server, world.config))
    } catch (error) {
      return fail(request, error)
    }
  }
  const server: Bun.Server<unknown> = Bun.serve({
    hostname: host,
    port,
    reusePort: canShare,
    development: false,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: MAX_BODY_BYTES,
    ...(tls && { tls: certificateOf(tls) }),
    routes: everyPath(answer, fail),
    fetch: answer,
  })
  const scheme = tls ? 'https' : 'http'
  return {
    url: `${scheme}://${inBrackets(host)}:${server.port}/admin/v1`,
    leave: () => server.stop(),
    stop: () => server.stop(true),
  }
}

/** The admin API of a process, which gets the process when that has started. */
export function createAdminApi(
  world: World,
  version: string,
): { api: AdminApi; control(of: ProcessControl): void } {
  let known: ProcessControl | undefined
  const control = () => {
    if (known) return known
    throw new GatewayError(503, {
      code: 'starting',
      message: 'The gateway is starting. Try again in a moment.',
    })
  }
  return {
    api: new AdminApi(world, control, version),
    control(of) {
      known = of
    },
  }
}

function notServed(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message: 'This port serves /console and /admin/v1 only.',
  })
}
