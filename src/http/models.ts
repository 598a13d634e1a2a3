// GET /v1/models: what the calling key may use (spec, Model list).

import { Elysia } from 'elysia'
import { GatewayError } from '../lib/errors'
import { type ListedModel, modelsOf } from '../models'
import type { World } from '../world'
import { authorizationOf } from './authorization'
import { errorResponse } from './errors'

export function modelRoutes(world: World) {
  const acceptXApiKey = world.config.server?.acceptXApiKey ?? false
  // The catalogue does not say when a model was made; the start of this process is as good a time as any.
  const created = Math.floor(world.now() / 1000)
  const show = ({ id, ownedBy }: ListedModel) => ({ id, object: 'model', created, owned_by: ownedBy })

  async function answer(request: Request, read: (models: ListedModel[]) => unknown): Promise<Response> {
    const requestId = world.newId('req')
    try {
      const key = await world.authenticator.authenticate(authorizationOf(request.headers, acceptXApiKey))
      return Response.json(read(modelsOf(world.catalogue, key)), { headers: { 'x-request-id': requestId } })
    } catch (error) {
      return errorResponse(error, 'openai', requestId, world.log)
    }
  }

  return new Elysia({ name: 'models' })
    .get('/v1/models', ({ request }) =>
      answer(request, (models) => ({ object: 'list', data: models.map(show) })),
    )
    .get('/v1/models/*', ({ request, params }) =>
      answer(request, (models) => {
        const id = decoded(params['*'])
        const model = models.find((candidate) => candidate.id === id)
        if (model) return show(model)
        throw new GatewayError(404, {
          code: 'model_not_found',
          message: `The model \`${id.slice(0, 128)}\` does not exist or this key may not use it.`,
          param: 'model',
        })
      }),
    )
}

/** Clients encode ids such as `owner/name:tag`; what does not decode is no id of ours. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
