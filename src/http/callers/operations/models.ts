// GET /v1/models: the models that the calling key may use, and never more. Clients that send a version of the messages API, and
// those of Google's API that send the key in a header of their own, get the list in the form that they know.

import { type Static, Type } from '@sinclair/typebox'
import { Nullable, OneOf } from '../../../api-operation/operation'
import { count, list, maybeCount, maybeText, named, text } from '../../../api-operation/schemas'
import { conditional, readParameter } from '../../../api-operation/values'
import { cardOf, type ModelCard } from '../../../catalogue/model-card'
import { type Catalogue, idOfName, type ListedModel, modelsOf, unknownModel } from '../../../catalogue/models'
import { operations } from '../../../contract/operations'
import { type Dialect, GatewayError, invalidRequest } from '../../../lib/errors'
import { CONTENTS_KEY } from '../../authorization'
import { decodedId } from '../../target'
import { type CallerContext, callerOperation } from '../operation'
import {
  ContentsModel,
  ContentsModelList,
  contentsPage,
  contentsQuery,
  shownInContents,
} from './contents-models'

const MESSAGES_VERSION = 'anthropic-version'
const MODE_HEADER = 'x-gateway-mode'
const AT = 1_767_225_600

const limits = { context_length: 200_000, max_completion_tokens: 64_000 }
const example = {
  id: 'a-chat-model',
  object: 'model',
  created: AT,
  owned_by: 'somebody',
  name: 'a-chat-model',
  operations: ['chat', 'messages', 'responses'],
  architecture: {
    modality: 'text+image->text',
    input_modalities: ['text', 'image'],
    output_modalities: ['text'],
  },
  ...limits,
  top_provider: { ...limits, is_moderated: false },
  pricing: { prompt: '0.000001', completion: '0.000005', input_cache_read: '0.0000001' },
  prices: { per_1m_input_tokens: '1', per_1m_output_tokens: '5', per_1m_cached_input_tokens: '0.1' },
  supported_parameters: ['max_tokens', 'temperature', 'tools'],
}
const Model = named(
  'Model',
  {
    id: text,
    object: Type.Literal('model'),
    created: count,
    owned_by: text,
    name: text,
    operations: list(text, { description: 'What it can be asked: chat, image, embeddings …' }),
    architecture: Type.Object({
      modality: text,
      input_modalities: list(text),
      output_modalities: list(text),
    }),
    context_length: Nullable(Type.Integer(), { description: 'Tokens; 0 for a model that reads none.' }),
    max_completion_tokens: maybeCount,
    top_provider: Type.Object({
      context_length: maybeCount,
      max_completion_tokens: maybeCount,
      is_moderated: Type.Boolean(),
    }),
    pricing: Type.Unsafe<Readonly<Record<string, string>>>(
      Type.Object(
        { prompt: text, completion: text },
        {
          description: 'Dollars for one token, picture or request; the highest where they depend on a size.',
        },
      ),
    ),
  },
  example,
)
const ModelList = named(
  'ModelList',
  { object: Type.Literal('list'), data: list(Model) },
  { object: 'list', data: [example] },
)
const MessagesModel = named(
  'MessagesModel',
  {
    type: Type.Literal('model'),
    id: text,
    display_name: text,
    created_at: text,
    max_input_tokens: maybeCount,
    max_tokens: maybeCount,
  },
  {
    type: 'model',
    id: 'a-chat-model',
    display_name: 'a-chat-model',
    created_at: '2026-01-01T00:00:00Z',
    max_input_tokens: 200_000,
    max_tokens: 64_000,
  },
)
const MessagesModelList = named(
  'MessagesModelList',
  { data: list(MessagesModel), has_more: Type.Boolean(), first_id: maybeText, last_id: maybeText },
  { data: [], has_more: false, first_id: null, last_id: null },
)

const Limit = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  description: 'Models on a page, for clients of messages.',
})
const USUAL_LIMIT = '20'
const optional = (description: string) => Type.Optional(Type.String({ description }))
const Operation = OneOf(operations.map(({ name }) => name))
const ListQuery = Type.Object({
  mode: conditional({ ...Operation, description: 'Only models that serve this operation, such as `chat`.' }),
  operation: Type.Optional({ ...Operation, description: 'The same as `mode`.' }),
  output_modalities: optional('Only models that make one of these, such as `text,image`; `all`: any.'),
  supported_parameters: optional('Only chat models that take all of these fields, such as `tools`.'),
  limit: conditional(Limit),
  after_id: optional('The page after this model.'),
  before_id: optional('The page before this model.'),
  ...contentsQuery,
})
type ListQuery = Static<typeof ListQuery>

const ofModels = {
  tag: 'Models',
  dialects: ['openai', 'messages', 'gemini'],
  dialectOf: ({ headers }: Request) =>
    headers.has(MESSAGES_VERSION) ? 'messages' : headers.has(CONTENTS_KEY) ? 'gemini' : 'openai',
  parameters: [
    {
      name: MESSAGES_VERSION,
      in: 'header',
      description: 'Clients of messages send it, and read the answer in the form that they know.',
      schema: { type: 'string' },
    },
    {
      name: CONTENTS_KEY,
      in: 'header',
      description:
        'Clients of `generateContent` send the key in it, and read the answer in the form that they know.',
      schema: { type: 'string' },
    },
  ],
} as const

const oneModel = {
  params: { id: 'Its id, which may contain slashes.' },
  answers: 'The model.',
  missing: modelNotFound(
    'The model `no-such-model` does not exist or this key may not use it. This key may use: …',
  ),
}

/** Below /v1beta there is only one form. */
const inContents = {
  tag: 'Models',
  dialects: ['gemini'],
  dialectOf: (): Dialect => 'gemini',
  aliases: [],
} as const

const listModels = callerOperation(Type.Union([ModelList, MessagesModelList, ContentsModelList]))({
  ...ofModels,
  parameters: [
    ...ofModels.parameters,
    {
      name: 'X-Gateway-Mode',
      in: 'header',
      description: 'The same as `mode`, for clients that can set headers but no query.',
      schema: { type: 'string' },
    },
  ],
  id: 'listModels',
  forTokens: true,
  endpoint: 'GET /v1/models',
  summary: 'The models that this key may use',
  query: ListQuery,
  answers: 'The list, whole, or by pages for clients of messages and of `generateContent`.',
  async run(context, query) {
    const { world, key, dialect } = context
    const card = cardsFor(context)
    const isWanted = filterOf(query, context.request.headers)
    const models = modelsOf(world.catalogue, key).filter((model) => isWanted(card(model)))
    if (dialect === 'gemini')
      return contentsPage(models, query, (model) => shownInContents(model, card(model)))
    if (dialect === 'messages')
      return pageOfModels(models, query, (model) => shownForMessages(context, model, card(model)))
    return { object: 'list', data: models.map((model) => shown(context, model, card(model))) }
  },
})

const getModel = callerOperation(Type.Union([Model, MessagesModel, ContentsModel]))({
  ...ofModels,
  id: 'getModel',
  forTokens: true,
  endpoint: 'GET /v1/models/{+id}',
  ...oneModel,
  summary: 'One model',
  async run(context) {
    const model = modelInAddress(context)
    const card = cardsFor(context)(model)
    if (context.dialect === 'gemini') return shownInContents(model, card)
    const show = context.dialect === 'messages' ? shownForMessages : shown
    return show(context, model, card)
  },
})

const listContentsModels = callerOperation(ContentsModelList)({
  ...inContents,
  id: 'listContentsModels',
  forTokens: true,
  endpoint: 'GET /v1beta/models',
  summary: 'Models, in the form of `generateContent`',
  description: 'The models that this key may use, as clients of `generateContent` read them.',
  query: Type.Object(contentsQuery),
  answers: 'A page of the list.',
  async run(context, query) {
    const card = cardsFor(context)
    const models = modelsOf(context.world.catalogue, context.key)
    return contentsPage(models, query, (model) => shownInContents(model, card(model)))
  },
})

const getContentsModel = callerOperation(ContentsModel)({
  ...inContents,
  id: 'getContentsModel',
  forTokens: true,
  endpoint: 'GET /v1beta/models/{+id}',
  ...oneModel,
  summary: 'One model, in the form of `generateContent`',
  async run(context) {
    const model = modelInAddress(context)
    return shownInContents(model, cardsFor(context)(model))
  },
})

/** The model in the path. Throws 404 for a model that the key may not use. */
function modelInAddress({ world: { catalogue }, key, params }: CallerContext): ListedModel {
  const id = decodedId(params['*'] ?? '')
  const meant = idOfName(catalogue, id)
  const model = modelsOf(catalogue, key).find((candidate) => candidate.id === meant)
  if (!model) throw modelNotFound(unknownModel(catalogue, key, id))
  return model
}

/** Cached cards, by catalogue and plan: a reload replaces them. */
const made = new WeakMap<Catalogue, WeakMap<object, Map<string, ModelCard | undefined>>>()

function cardsFor({ world: { catalogue }, key }: CallerContext) {
  const byPlan = made.get(catalogue) ?? new WeakMap<object, Map<string, ModelCard | undefined>>()
  made.set(catalogue, byPlan)
  const cards = byPlan.get(key.plan ?? catalogue) ?? new Map<string, ModelCard | undefined>()
  byPlan.set(key.plan ?? catalogue, cards)
  return ({ id }: ListedModel) => {
    if (!cards.has(id)) cards.set(id, cardOf(catalogue, key, id))
    return cards.get(id)
  }
}

/** The catalogue does not say when a model was created; the start of this process is used instead. */
const madeAt = ({ startedAt }: CallerContext) => Math.floor(startedAt / 1000)

function shown(context: CallerContext, { id, ownedBy }: ListedModel, card?: ModelCard): Static<typeof Model> {
  const known = { id, object: 'model', created: madeAt(context), owned_by: ownedBy, name: id } as const
  return { ...known, ...(card as ModelCard) }
}

function shownForMessages(
  context: CallerContext,
  model: ListedModel,
  card?: ModelCard,
): Static<typeof MessagesModel> {
  return {
    type: 'model',
    id: model.id,
    display_name: model.id,
    created_at: new Date(madeAt(context) * 1000).toISOString().replace('.000Z', 'Z'),
    max_input_tokens: card?.context_length || null,
    max_tokens: card?.max_completion_tokens ?? null,
  }
}

function modelNotFound(message: string): GatewayError {
  return new GatewayError(404, { code: 'model_not_found', message, param: 'model' })
}

/**
 * Selects models by operation, or by output and fields, as clients of other lists do. A client that can set headers but not a query
 * names the operation in `x-gateway-mode`.
 */
function filterOf(query: ListQuery, headers: Headers): (card: ModelCard | undefined) => boolean {
  const mode = query.mode ?? headers.get(MODE_HEADER)
  const field = query.mode === undefined ? MODE_HEADER : 'mode'
  const operation = query.operation ?? (mode === null ? undefined : readParameter(field, Operation, mode))
  const output = query.output_modalities?.split(',') ?? []
  const parameters = query.supported_parameters?.split(',') ?? []
  const isOutput = ({ architecture }: ModelCard) =>
    output.length === 0 ||
    output.some((name) => name === 'all' || architecture.output_modalities.includes(name))
  return (card) =>
    card !== undefined &&
    (operation === undefined || card.operations.some((name) => name === operation)) &&
    isOutput(card) &&
    parameters.every((name) => card.supported_parameters?.includes(name))
}

/** A page of the list, with the ids at its ends, from which a client continues. */
function pageOfModels<Shown extends { id: string }>(
  models: readonly ListedModel[],
  query: ListQuery,
  show: (model: ListedModel) => Shown,
) {
  const limit = readParameter('limit', Limit, query.limit ?? USUAL_LIMIT)
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
  models: readonly ListedModel[],
  field: 'after_id' | 'before_id',
  { [field]: id }: ListQuery,
): number | undefined {
  if (id === undefined) return undefined
  const place = models.findIndex((model) => model.id === id)
  if (place !== -1) return place
  throw invalidRequest(
    field,
    `Invalid '${field}': there is no model \`${id.slice(0, 128)}\` in the list. Begin without it.`,
  )
}

export const modelOperations = [listModels, getModel, listContentsModels, getContentsModel]
