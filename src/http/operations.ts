// A route for each operation of the table; all of them lead into the line.

import { Elysia } from 'elysia'
import type { Gateway, Incoming } from '../gateway'
import { waitOfRequest } from '../lib/waiting'
import { type Operation, operations } from '../operations'
import type { World } from '../world'
import { authorizationOf } from './authorization'
import { readBody } from './body'
import { errorResponse } from './errors'
import { readForm } from './form'
import { gatewayUrlOf } from './gateway-url'
import { tolerated } from './paths'

/** `listener` is the server. Not Elysia's `server`, a getter that it defines anew for each request. */
export function operationRoutes(
  world: World,
  gateway: Gateway,
  mark: Readonly<Record<string, string>>,
  listener: () => Listener | null,
) {
  const app = new Elysia({ name: 'operations' })
  const routes = operations.flatMap((operation) =>
    [operation.path, ...(operation.aliases ?? [])].flatMap(tolerated).map((path) => ({ operation, path })),
  )
  for (const { operation, path } of routes) {
    app.post(
      path,
      async ({ request }) => {
        const requestId = world.newId('req')
        try {
          const response = await gateway.handle(incomingOf(world, operation, request, listener(), requestId))
          for (const name in mark) response.headers.set(name, mark[name] as string)
          return response
        } catch (error) {
          return errorResponse(error, operation.dialect, requestId, world.log)
        }
      },
      { parse: 'none', detail: { summary: operation.summary } },
    )
  }
  return app
}

/** As much of the server as a request needs. */
export interface Listener {
  url: URL
  timeout(request: Request, seconds: number): void
}

/** A request over HTTP, as the line takes it. */
export function incomingOf(
  { config, uploads }: World,
  operation: Operation,
  request: Request,
  listener: Listener | null,
  requestId: string,
): Incoming {
  const { headers } = request
  // Bun cuts quiet connections, and a model may think for minutes: our own time limits apply instead.
  const exempt = () => listener?.timeout(request, 0)
  return {
    operation,
    requestId,
    authorization: authorizationOf(headers, config),
    idempotencyKey: headers.get('idempotency-key'),
    waitMs: operation.name === 'video' ? waitOfRequest(request.url, headers.get('prefer')) : 0,
    body: () =>
      operation.body === 'form'
        ? readForm(request, uploads, { maxBytes: operation.maxBodyBytes, exempt })
        : readBody(request, operation.maxBodyBytes, exempt),
    headers: forwardedOf(operation, headers),
    signal: () => request.signal,
    gatewayUrl: () => gatewayUrlOf(config.server?.publicUrl, request, listener),
  }
}

const NOTHING = {}

/** What the caller says to the vendor in headers. */
export function forwardedOf({ forwards }: Operation, headers: Headers): Readonly<Record<string, string>> {
  if (!forwards) return NOTHING
  return Object.fromEntries(
    forwards.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}
