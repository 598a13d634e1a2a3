// POST /v1/messages/count_tokens: the number of tokens of a request, free of charge. It must never hold or charge
// anything.

import { Elysia } from 'elysia'
import { createTokenCount, messagesOperation, type TokenCountWorld } from '../../request/token-count'
import { authorizationOf } from '../authorization'
import type { BodyReader } from '../body'
import { exempt, type Listener, rest } from '../connection'
import { errorResponse } from '../errors'
import { tolerated } from '../paths'
import type { KeyedWorld } from '../with-key'
import { forwardedOf } from './operations'

const PATH = `${messagesOperation.path}/count_tokens`

export function tokenCountRoutes(
  world: KeyedWorld & TokenCountWorld,
  bodies: BodyReader,
  mark: Readonly<Record<string, string>>,
) {
  const countTokens = createTokenCount(world)

  async function answer(request: Request, listener: Listener | null): Promise<Response> {
    const requestId = world.newId('req')
    rest(listener, request, world.config)
    try {
      const tokens = await countTokens({
        authorization: authorizationOf(request.headers, world.config, messagesOperation.dialect),
        headers: forwardedOf(messagesOperation, request.headers),
        body: (check) => bodies.read(request, messagesOperation.name, () => exempt(listener, request), check),
        signal: request.signal,
      })
      rest(listener, request, world.config)
      const headers = { 'x-request-id': requestId, 'request-id': requestId, ...mark }
      return Response.json({ input_tokens: tokens }, { headers })
    } catch (error) {
      rest(listener, request, world.config)
      const response = errorResponse(error, messagesOperation.dialect, requestId, world.log)
      return bodies.answer(request, response, listener)
    }
  }

  const app = new Elysia({ name: 'token count' })
  for (const path of tolerated(PATH)) {
    app.post(path, ({ request, server }) => answer(request, server), { parse: 'none' })
  }
  return app
}
