// A route for each operation of the table; all of them lead into the line.

import { Elysia } from 'elysia'
import type { Gateway } from '../gateway'
import { operations } from '../operations'
import type { World } from '../world'
import { authorizationOf } from './authorization'
import { readBody } from './body'
import { errorResponse } from './errors'

/** `exempt` frees a request from the server's own time limit. Not Elysia's `server`, a getter that it defines for each request. */
export function operationRoutes(
  world: World,
  gateway: Gateway,
  mark: Readonly<Record<string, string>>,
  exempt: (request: Request) => void,
) {
  const acceptXApiKey = world.config.server?.acceptXApiKey ?? false
  const app = new Elysia({ name: 'operations' })
  for (const operation of operations) {
    app.post(
      operation.path,
      async ({ request }) => {
        const requestId = world.newId('req')
        try {
          const response = await gateway.handle({
            operation,
            requestId,
            authorization: authorizationOf(request.headers, acceptXApiKey),
            idempotencyKey: request.headers.get('idempotency-key'),
            body: () => readBody(request, operation.maxBodyBytes, exempt),
            signal: () => request.signal,
          })
          for (const name in mark) response.headers.set(name, mark[name] as string)
          return response
        } catch (error) {
          return errorResponse(error, 'openai', requestId, world.log)
        }
      },
      { parse: 'none', detail: { summary: operation.summary } },
    )
  }
  return app
}
