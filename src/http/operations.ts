// A route for each operation of the table; all of them lead into the line.

import { Elysia } from 'elysia'
import type { Gateway } from '../gateway'
import { operations } from '../operations'
import type { World } from '../world'
import { authorizationOf } from './authorization'
import { readBody } from './body'
import { errorResponse } from './errors'

export function operationRoutes(world: World, gateway: Gateway, mark: Readonly<Record<string, string>>) {
  const acceptXApiKey = world.config.server?.acceptXApiKey ?? false
  const app = new Elysia({ name: 'operations' })
  for (const operation of operations) {
    app.post(
      operation.path,
      async ({ request, server }) => {
        const requestId = world.newId('req')
        // Bun cuts quiet connections, and a model may think for minutes: our own time limits apply instead.
        const exempt = () => server?.timeout(request, 0)
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
          return errorResponse(error, operation.dialect, requestId, world.log)
        }
      },
      { parse: 'none', detail: { summary: operation.summary } },
    )
  }
  return app
}
