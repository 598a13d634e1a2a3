// Simulates Google's Gemini API: native answers, embeddings, interactions and model list, and its OpenAI-compatible chat and
// embeddings. It must never report token usage for native embeddings: the real service does not.

import { asArray, asNumber, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { type ChatDialect, chatReply, readChat, type TokenCounts } from '../openai/chat'
import {
  type EmbeddingModel,
  embeddingItems,
  embeddingList,
  readInputs,
  vectorOf,
} from '../openai/embeddings'
import { bearerToken, jsonReply } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { asNumbers } from '../vectors'
import { failureReply, googleError, googleHeaders, invalidKey, isCompatible, unknownFields } from './errors'
import { generate, generateActions } from './generate'
import { interact, interactionModels } from './interactions'
import { signatureFault, signatureOf, signs } from './signatures'
import { followVideo, interactVideo, videoModels } from './videos'

const embeddingModels = new Map<string, EmbeddingModel>([
  ['gemini-embedding-001', { dimensions: 3072, normalised: false }],
  ['gemini-embedding-2', { dimensions: 3072, normalised: true }],
  ['gemini-embedding-2-preview', { dimensions: 3072, normalised: true }],
])
const chatModels = ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-flash-preview', 'gemini-3-pro-preview']
const chatNames = /^(?:gemini-(?!embedding)|gemma-|learnlm-)[a-z0-9.-]+$/
/**
 * Fields that were seen refused on the OpenAI-compatible path: page-assist#418, agents#45, SkyrimNet-GamePlugin#77,
 * cursor-byok#112 and openhanako#394 on GitHub.
 */
const refusedFields = [
  'frequency_penalty',
  'presence_penalty',
  'store',
  'metadata',
  'prompt_cache_key',
  'seed',
  'top_k',
  'reasoning',
]
/** Models that refuse the effort `none`: HKUDS/DeepTutor#734 on GitHub. */
const alwaysThinks = /^gemini-(?:2\.5-pro|[3-9])/
const lengthMin = 128
const batchMax = 100
const embedFields = ['model', 'content', 'taskType', 'title', 'outputDimensionality']
const reasoningByEffort = new Map<unknown, number>([
  ['minimal', 4],
  ['low', 8],
  ['medium', 16],
  ['high', 32],
])

export const google: Simulator = {
  secret: 'AIza-sandbox-google-0001',
  basePath: '/v1beta',
  standIns: [
    ['/chat/completions', 'gemini-2.5-flash-lite'],
    [
      '/interactions',
      ({ background }) => (background === true ? 'gemini-omni-1.2-flash' : 'gemini-3.1-flash-image'),
    ],
    [':generateContent', 'gemini-2.5-flash'],
    [':streamGenerateContent', 'gemini-2.5-flash'],
    [':countTokens', 'gemini-2.5-flash'],
    ['/models/', 'gemini-embedding-001'],
    ['/embeddings', 'gemini-embedding-001'],
  ],
  knows: (model) => chatNames.test(model) || embeddingModels.has(model),

  refuse(request) {
    const bearer = bearerToken(request)
    if (isCompatible(request)) {
      if (bearer === google.secret) return undefined
      if (bearer !== undefined) return invalidKey(request)
      return googleError(request, 400, 'Missing or invalid Authorization header.')
    }
    const key = request.headers['x-goog-api-key'] ?? request.query.get('key') ?? undefined
    if (key === google.secret) return undefined
    if (key !== undefined) return invalidKey(request)
    if (bearer !== undefined) {
      const message = 'Request had invalid authentication credentials. Expected OAuth 2 access token.'
      return googleError(request, 401, message)
    }
    const message = "Method doesn't allow unregistered callers. Please use API Key to call this API."
    return googleError(request, 403, message)
  },

  fail: failureReply,

  outOfQuota(request) {
    const message = 'This API method requires billing to be enabled. Please enable billing on the project.'
    return googleError(request, 400, message, [], 'FAILED_PRECONDITION')
  },

  answer(request) {
    if (isCompatible(request)) return compatible(request)
    const { method, path } = request
    if (method === 'GET' && path === '/v1beta/models') return modelList()
    if (method === 'POST' && path === '/v1beta/interactions') {
      const body = asObject(request.json)
      if (!body) return notJson(request)
      return videoModels.includes(String(body.model)) ? interactVideo(request, body) : interact(request, body)
    }
    const followed = followVideo(request)
    if (followed) return followed
    const [, model, action] = /^\/v1(?:beta)?\/models\/([^/:]+)(?::(\w+))?$/.exec(path) ?? []
    if (model === undefined) return googleError(request, 404, `Requested entity was not found: ${path}`)
    if (method === 'GET' && action === undefined) {
      const known = allModels().includes(model)
      return known
        ? jsonReply(200, modelEntry(model), googleHeaders)
        : unknownModel(request, model, 'GetModel')
    }
    if (method === 'POST' && action !== undefined && generateActions.includes(action)) {
      return answersNatively(model) ? generate(request, model, action) : unknownModel(request, model, action)
    }
    const embeds = action === 'embedContent' || action === 'batchEmbedContents'
    if (method !== 'POST' || !embeds) return unknownModel(request, model, action ?? method)
    const vendorModel = embeddingModels.get(model)
    if (!vendorModel) return unknownModel(request, model, 'embedContent')
    const body = asObject(request.json)
    if (!body) return notJson(request)
    return action === 'embedContent'
      ? embedOne(request, body, vendorModel)
      : embedBatch(request, body, model, vendorModel)
  },
}

/** Whether a model answers generateContent. */
export function answersNatively(model: string): boolean {
  return chatNames.test(model)
}

function notJson(request: VendorRequest): Reply {
  return googleError(request, 400, 'Invalid JSON payload received. Unexpected token.')
}

function unknownModel(request: VendorRequest, model: string, action: string): Reply {
  const [, version = 'v1beta'] = request.path.split('/')
  const message = `models/${model} is not found for API version ${version}, or is not supported for ${action}. Call ModelService.ListModels to see the list of available models and their supported methods.`
  return googleError(request, 404, message)
}

function allModels(): string[] {
  return [...chatModels, ...interactionModels, ...embeddingModels.keys()]
}

function modelEntry(model: string): JsonObject {
  const embeds = embeddingModels.has(model)
  return {
    name: `models/${model}`,
    version: '001',
    displayName: model,
    inputTokenLimit: embeds ? 2048 : 1_048_576,
    outputTokenLimit: embeds ? 1 : 65_536,
    supportedGenerationMethods: embeds ? ['embedContent'] : ['generateContent', 'countTokens'],
  }
}

function modelList(): Reply {
  return jsonReply(200, { models: allModels().map(modelEntry) }, googleHeaders)
}

interface Embedded {
  values: number[]
}

/** The vector for one embed request, alone or from a batch, or a reply that refuses it. */
function embed(
  request: VendorRequest,
  item: JsonObject,
  model: EmbeddingModel,
  place: string,
): Embedded | Reply {
  const unknown = Object.keys(item).find((field) => !embedFields.includes(field))
  if (unknown !== undefined) return unknownFields(request, [unknown], place)
  const name = place === '' ? 'EmbedContentRequest' : 'BatchEmbedContentsRequest.requests'
  const parts = asObjects(asObject(item.content)?.parts)
  const texts = parts.map((part) => asString(part.text)).filter((text) => text !== undefined && text !== '')
  if (texts.length === 0) return googleError(request, 400, `* ${name}.content: contents is not specified\n`)
  const length = isGiven(item.outputDimensionality) ? asNumber(item.outputDimensionality) : model.dimensions
  if (length === undefined || length < lengthMin || length > model.dimensions) {
    const range = `must be between ${lengthMin} and ${model.dimensions}`
    return googleError(request, 400, `* ${name}.output_dimensionality: ${range}\n`)
  }
  // The task type changes the vector, as in the real service.
  const text = `${asString(item.taskType) ?? ''} ${texts.join('\n')}`.trim()
  return { values: asNumbers(vectorOf(text, model, length)) }
}

function embedOne(request: VendorRequest, body: JsonObject, model: EmbeddingModel): Reply {
  const embedded = embed(request, body, model, '')
  if ('status' in embedded) return embedded
  return jsonReply(200, { embedding: request.directives.empty ? { values: [] } : embedded }, googleHeaders)
}

function embedBatch(request: VendorRequest, body: JsonObject, name: string, model: EmbeddingModel): Reply {
  const unknown = Object.keys(body).find((field) => field !== 'requests')
  if (unknown !== undefined) return unknownFields(request, [unknown], '')
  const items = asArray(body.requests) ?? []
  if (items.length === 0) {
    return googleError(request, 400, '* BatchEmbedContentsRequest.requests: requests is not specified\n')
  }
  if (items.length > batchMax) {
    const rule = `at most ${batchMax} requests can be in one batch`
    return googleError(request, 400, `* BatchEmbedContentsRequest.requests: ${rule}\n`)
  }
  const embeddings: Embedded[] = []
  for (const [index, item] of items.entries()) {
    const entry = asObject(item) ?? {}
    if (entry.model !== `models/${name}`) {
      const message = `* BatchEmbedContentsRequest.requests[${index}].model: unexpected model name format\n`
      return googleError(request, 400, message)
    }
    const embedded = embed(request, entry, model, `requests[${index}]`)
    if ('status' in embedded) return embedded
    embeddings.push(embedded)
  }
  return jsonReply(200, { embeddings: request.directives.empty ? [] : embeddings }, googleHeaders)
}

const dialect: ChatDialect = {
  replyModel: (model) => model.replace(/^models\//, ''),
  envelope: {},
  message: {},
  firstDelta: {},
  padded: false,
  showsReasoning: false,
  toolCalls: 'whole',
  usage: chatUsage,
  nullUsage: true,
  streamFailure: {
    error: { code: 500, message: 'An internal error has occurred. Please retry.', status: 'INTERNAL' },
  },
  headers: googleHeaders,
}

/** Usage of chat. Thinking is part of the total only, not of the completion. */
function chatUsage(counts: TokenCounts): JsonObject {
  return {
    prompt_tokens: counts.prompt,
    completion_tokens: counts.output,
    total_tokens: counts.prompt + counts.output + counts.reasoning,
    ...(counts.cached > 0 ? { prompt_tokens_details: { cached_tokens: counts.cached } } : {}),
  }
}

function compatible(request: VendorRequest): Reply {
  const { method, path } = request
  const action = path.slice('/v1beta/openai/'.length)
  if (method === 'GET' && action === 'models') {
    const data = allModels().map((model) => ({
      id: `models/${model}`,
      object: 'model',
      owned_by: 'google',
      display_name: model,
    }))
    return jsonReply(200, { object: 'list', data }, googleHeaders)
  }
  if (method !== 'POST' || (action !== 'chat/completions' && action !== 'embeddings')) {
    return googleError(request, 404, `Requested entity was not found: ${path}`)
  }
  const body = asObject(request.json)
  if (!body) return notJson(request)
  const name = (asString(body.model) ?? '').replace(/^models\//, '')
  if (name === '') return googleError(request, 400, 'model is not specified')
  if (action === 'embeddings') return compatibleEmbeddings(request, body, name)
  if (!chatNames.test(name)) return unknownModel(request, name, 'generateContent')
  if (asObjects(body.messages).length === 0) {
    return googleError(request, 400, '* GenerateContentRequest.contents: contents is not specified\n')
  }
  // A null is refused too: the service parses the body into a message.
  const unknown = Object.keys(body).filter((field) => refusedFields.includes(field))
  if (unknown.length > 0) return unknownFields(request, unknown, '')
  if (body.reasoning_effort === 'none' && alwaysThinks.test(name)) {
    return googleError(request, 400, 'Request contains an invalid argument.')
  }
  const fault = signatureFault(body, name)
  if (fault !== undefined) return googleError(request, 400, fault)
  const effort = reasoningByEffort.get(body.reasoning_effort) ?? 0
  const extraContent = (of: 'text' | number) => (of === 'text' || of === 0 ? signatureOf(name) : undefined)
  return chatReply(readChat(request, effort), signs(name) ? { ...dialect, extraContent } : dialect)
}

function compatibleEmbeddings(request: VendorRequest, body: JsonObject, name: string): Reply {
  const model = embeddingModels.get(name)
  if (!model) return unknownModel(request, name, 'embedContent')
  const inputs = readInputs(body.input)
  if (!inputs || inputs.length === 0) return googleError(request, 400, 'input is not specified')
  if (inputs.length > batchMax) {
    const rule = `at most ${batchMax} requests can be in one batch`
    return googleError(request, 400, `* BatchEmbedContentsRequest.requests: ${rule}\n`)
  }
  if (isGiven(body.encoding_format) && body.encoding_format !== 'float') {
    return googleError(request, 400, 'Unsupported encoding_format: only float is supported.')
  }
  // This path numbers every vector 0 and counts no tokens; only the order shows the input of a vector.
  const items = embeddingItems(request, inputs, model).map((item) => ({ ...item, index: 0 }))
  const usage = { prompt_tokens: 0, total_tokens: 0 }
  return jsonReply(200, embeddingList(request, items, name, usage), googleHeaders)
}
