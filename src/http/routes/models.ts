// GET /v1/models: the models that the calling key may use, and never more. Clients of messages, who send their version,
// get the list in the form that they know.

import { Elysia } from 'elysia'
import type { Key } from '../../accounts/keys'
import { cardOf, type ModelCard } from '../../catalogue/model-card'
import type { Catalogue } from '../../catalogue/models'
import { idOfName, type ListedModel, modelsOf, unknownModel } from '../../catalogue/models'
import { operations } from '../../contract/operations'
import { GatewayError, invalidRequest } from '../../lib/errors'
import type { System } from '../../lib/system'
import { tolerated } from '../paths'
import { limitOfQuery } from '../query-limit'
import { queryOf } from '../target'
import { answerKeyed, type KeyedWorld } from '../with-key'

const MESSAGES_VERSION = 'anthropic-version'
const MODE_HEADER = 'x-gateway-mode'
/** Models on a page of the list for clients of messages, and the most that they may request. */
const LIMITS = { usual: 20, most: 1_000 }

type Card = (model: ListedModel) => ModelCard | undefined
type Show = (model: ListedModel, card: Card) => object

/** Makes the cards of models as a key sees them, each once per catalogue and plan: a reload brings another catalogue. */
function createCards(world: { catalogue: Catalogue }): (key: Key) => Card {
  const made = new WeakMap<Catalogue, WeakMap<object, Map<string, ModelCard | undefined>>>()
  return (key) => {
    const { catalogue } = world
    const byPlan = made.get(catalogue) ?? new WeakMap<object, Map<string, ModelCard | undefined>>()
    made.set(catalogue, byPlan)
    const cards = byPlan.get(key.plan ?? catalogue) ?? new Map<string, ModelCard | undefined>()
    byPlan.set(key.plan ?? catalogue, cards)
    return ({ id }) => {
      if (!cards.has(id)) cards.set(id, cardOf(catalogue, key, id))
      return cards.get(id)
    }
  }
}

export function modelRoutes(world: KeyedWorld & Pick<System, 'now'> & { catalogue: Catalogue }) {
  // The catalogue does not say when a model was made; the start of this process is as good a time as any.
  const startedAt = world.now()
  const created = Math.floor(startedAt / 1000)
  const createdAt = new Date(created * 1000).toISOString().replace('.000Z', 'Z')
  const cardsFor = createCards(world)
  const show: Show = (model, card) => {
    const { id, ownedBy } = model
    return { id, object: 'model', created, owned_by: ownedBy, name: id, ...card(model) }
  }
  const showForMessages: Show = (model, card) => ({
    type: 'model',
    id: model.id,
    display_name: model.id,
    created_at: createdAt,
    max_input_tokens: card(model)?.context_length || null,
    max_tokens: card(model)?.max_completion_tokens ?? null,
  })

  function answer(
    request: Request,
    read: (models: ListedModel[], forMessages: boolean, card: Card, key: Key) => unknown,
  ) {
    const forMessages = request.headers.has(MESSAGES_VERSION)
    return answerKeyed(world, request, forMessages ? 'messages' : 'openai', (key, requestId) => {
      const headers = { 'x-request-id': requestId, ...(forMessages && { 'request-id': requestId }) }
      return Response.json(read(modelsOf(world.catalogue, key), forMessages, cardsFor(key), key), { headers })
    })
  }

  const list = (request: Request) =>
    answer(request, (all, forMessages, card) => {
      const query = queryOf(request)
      const isWanted = filterOf(query, request.headers)
      const models = all.filter((model) => isWanted(card(model)))
      const shown = (model: ListedModel) => (forMessages ? showForMessages : show)(model, card)
      return forMessages ? pageOf(models, query, shown) : { object: 'list', data: models.map(shown) }
    })

  const find = (request: Request, id: string) =>
    answer(request, (models, forMessages, card, key) => {
      const meant = idOfName(world.catalogue, id)
      const model = models.find((candidate) => candidate.id === meant)
      if (model) return (forMessages ? showForMessages : show)(model, card)
      throw new GatewayError(404, {
        code: 'model_not_found',
        message: unknownModel(world.catalogue, key, id),
        param: 'model',
      })
    })

  const app = new Elysia({ name: 'models' })
  for (const path of tolerated('/v1/models')) {
    app.get(path, ({ request }) => list(request))
    app.get(`${path}/*`, ({ request, params }) => find(request, decoded(params['*'])))
  }
  return app
}

/**
 * The filter that a query asks for: by operation, or by what comes out and by fields, as clients of other lists ask. A client that
 * can set headers but no query names the operation in `x-gateway-mode`. Throws 400 for an operation that does not exist.
 */
function filterOf(query: URLSearchParams, headers: Headers): (card: ModelCard | undefined) => boolean {
  const asked = [
    ['operation', query.get('operation')],
    ['mode', query.get('mode')],
    [MODE_HEADER, headers.get(MODE_HEADER)],
  ] as const
  const [field, operation] = asked.find(([, name]) => name !== null) ?? ['', null]
  if (operation !== null && !operations.some(({ name }) => name === operation)) {
    const known = operations.map(({ name }) => name).join(', ')
    throw invalidRequest(field, `Invalid '${field}': expected one of ${known}.`)
  }
  const output = query.get('output_modalities')?.split(',') ?? []
  const parameters = query.get('supported_parameters')?.split(',') ?? []
  const isOutput = ({ architecture }: ModelCard) =>
    output.length === 0 ||
    output.some((name) => name === 'all' || architecture.output_modalities.includes(name))
  return (card) =>
    card !== undefined &&
    (operation === null || card.operations.some((name) => name === operation)) &&
    isOutput(card) &&
    parameters.every((name) => card.supported_parameters?.includes(name))
}

/** A page of the list, with the ids at its ends, from which a client continues. */
function pageOf(models: ListedModel[], query: URLSearchParams, show: (model: ListedModel) => object) {
  const limit = limitOfQuery(query, LIMITS)
  const after = placeOf(models, 'after_id', query)
  const before = placeOf(models, 'before_id', query)
  const rest = models.slice(after === undefined ? 0 : after + 1, before)
  // Backwards, the page is the one that ends before the id.
  const page = before === undefined ? rest.slice(0, limit) : rest.slice(-limit)
  return {
    data: page.map(show),
    has_more: page.length < rest.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

function placeOf(
  models: ListedModel[],
  field: 'after_id' | 'before_id',
  query: URLSearchParams,
): number | undefined {
  const id = query.get(field)
  if (id === null) return undefined
  const place = models.findIndex((model) => model.id === id)
  if (place !== -1) return place
  throw invalidRequest(
    field,
    `Invalid '${field}': there is no model \`${id.slice(0, 128)}\` in the list. Begin without it.`,
  )
}

/** An id from a path. Clients encode ids such as `owner/name:tag`; an id that does not decode is unknown. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
