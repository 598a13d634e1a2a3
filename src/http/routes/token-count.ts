// The number of tokens of a request, free of charge: POST /v1/messages/count_tokens, POST /v1/responses/input_tokens. It
// must never hold or charge anything.

import { Elysia } from 'elysia'
import { type Operation, operationOf } from '../../contract/operations'
import { createTokenCount, type TokenCountWorld } from '../../request/token-count'
import { authorizationOf, type KeyedWorld } from '../authorization'
import type { BodyReader } from '../body'
import { clientAddressOf } from '../client-address'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { errorResponse } from '../errors'
import { servedPaths } from '../paths'
import { forwardedOf } from './operations'

/** A path at which requests of an operation are counted, and the form of the answer. */
interface Count {
  operation: Operation
  path: string
  answer(tokens: number): object
}

const counts: readonly Count[] = [
  {
    operation: operationOf('messages'),
    path: '/count_tokens',
    answer: (tokens) => ({ input_tokens: tokens }),
  },
  {
    operation: operationOf('responses'),
    path: '/input_tokens',
    answer: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
]

export function tokenCountRoutes(
  world: KeyedWorld & TokenCountWorld,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
) {
  const app = new Elysia({ name: 'token count' })
  for (const { operation, path, answer } of counts) {
    const { dialect } = operation
    const countTokens = createTokenCount(world, operation)
    const count = async (request: Request, listener: Listener | null): Promise<Response> => {
      const requestId = world.newId('req')
      setKeepAliveTimeout(listener, request, world.config)
      try {
        const tokens = await countTokens({
          authorization: authorizationOf(request, world.config, dialect),
          clientAddress: clientAddressOf(request, listener, world.config),
          headers: forwardedOf(operation, request.headers),
          body: (check) =>
            bodies.read(request, operation.name, () => disableTimeout(listener, request), check),
          signal: request.signal,
        })
        setKeepAliveTimeout(listener, request, world.config)
        const ids = { 'x-request-id': requestId, ...(dialect === 'messages' && { 'request-id': requestId }) }
        return Response.json(answer(tokens), { headers: { ...ids, ...mark } })
      } catch (error) {
        setKeepAliveTimeout(listener, request, world.config)
        return bodies.answer(request, errorResponse(error, dialect, requestId, world.log), listener)
      }
    }
    for (const each of servedPaths(operation, path)) {
      app.post(each, ({ request, server }) => count(request, server), { parse: 'none' })
    }
  }
  return app
}
