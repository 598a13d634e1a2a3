// Simulates OpenAI: chat completions, embeddings, images, speech, transcriptions and the model list, as strict about parameters as
// the real service. It must never be lenient, except to models named `local-…`, which stand for any other server of this kind.

import { asArray, asNumber, asObject, asString, isGiven, type JsonObject } from '../json'
import { bearerToken, jsonReply, maskedKey, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { type ChatDialect, chatReply, readChat, type TokenCounts } from './chat'
import { answerCompletion, textModels } from './completions'
import { countInputs, type EmbeddingModel, embeddingItems, embeddingList, readInputs } from './embeddings'
import { errorReply, headers, unknownModel, wordsFor } from './errors'
import { badRequest, type Fault, findBodyFault, invalidValue, missingParameter } from './fields'
import { imageModel } from './image-fields'
import { answerImages, imageFile } from './images'
import { findModelFault } from './model-faults'
import {
  contextTokensMax,
  datedName,
  isChatModel,
  isLenient,
  listedModel,
  listedModels,
  reasoningTokens,
} from './models'
import { answerModeration, moderationModels } from './moderations'
import { answerRerank } from './rerank'
import { answerResponse, countResponse } from './responses'
import { answerSpeech, speechModels } from './speech'
import { answerTranscription, transcriptionModels } from './transcriptions'

const embeddingModels = new Map<string, EmbeddingModel>([
  ['text-embedding-3-small', { dimensions: 1536, normalised: true }],
  ['text-embedding-3-large', { dimensions: 3072, normalised: true }],
  ['text-embedding-ada-002', { dimensions: 1536, normalised: true }],
  ['text-embedding-ada-002-v2', { dimensions: 1536, normalised: true }],
])
const lenientEmbedding: EmbeddingModel = { dimensions: 768, normalised: true }
const embeddingFields = ['model', 'input', 'encoding_format', 'dimensions', 'user']
const inputsMax = 2048
/** The endpoints that accept only a JSON object. */
const jsonServices = new Map<string, (request: VendorRequest, body: JsonObject) => Reply>([
  ['/v1/chat/completions', chat],
  ['/v1/completions', answerCompletion],
  ['/v1/responses', answerResponse],
  ['/v1/responses/input_tokens', countResponse],
  ['/v1/embeddings', embeddings],
  ['/v1/moderations', answerModeration],
  ['/v1/rerank', answerRerank],
  ['/v1/audio/speech', answerSpeech],
])
const tokensPerInputMax = 8192
const tokensPerRequestMax = 300_000

export const openai: Simulator = {
  secret: 'sk-sandbox-openai-0001',
  basePath: '/v1',
  // Servers of all kinds speak this API: their fields are not checked.
  standIns: [
    ['/completions', 'local-model'],
    ['/responses', 'local-model'],
    ['/embeddings', 'local-model'],
    ['/audio/', 'local-model'],
    ['/moderations', 'local-model'],
    ['/rerank', 'local-model'],
    ['/images/', ({ response_format: format }) => (format === undefined ? 'gpt-image-2' : 'dall-e-2')],
  ],

  knows(model) {
    if (isLenient(model) || transcriptionModels.has(model) || speechModels.has(model)) return true
    if (isChatModel(model)) return !/-(audio|realtime|search|transcribe|tts)(-|$)/.test(model)
    const others = [...textModels, ...embeddingModels.keys(), ...moderationModels]
    return others.includes(model) || imageModel(model) !== undefined
  },

  refuse(request) {
    const key = bearerToken(request)
    if (key === openai.secret) return undefined
    if (key === undefined) {
      const message =
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
      return errorReply({ status: 401, message, param: null, code: null })
    }
    const message = `Incorrect API key provided: ${maskedKey(key)}. You can find your API key at https://platform.openai.com/account/api-keys.`
    return errorReply({ status: 401, message, param: null, code: 'invalid_api_key' })
  },

  fail(_request, failure) {
    const [type, code, message] = wordsFor(failure)
    const error = { message: failure.text ?? message, type, param: null, code: failure.code ?? code }
    return jsonReply(
      failure.status,
      { error },
      { ...headers(), ...retryAfterHeader(failure.retryAfterSeconds) },
    )
  },

  outOfQuota() {
    const message = 'You exceeded your current quota, please check your plan and billing details.'
    const error = { message, type: 'insufficient_quota', param: null, code: 'insufficient_quota' }
    return jsonReply(429, { error }, headers())
  },

  answer(request) {
    const { method, path } = request
    if (path === '/v1/models' || path.startsWith('/v1/models/')) {
      return method === 'GET' ? models(path.slice('/v1/models/'.length)) : wrongMethod(request)
    }
    if (path === '/v1/audio/transcriptions' || path === '/v1/audio/translations') {
      return method === 'POST' ? answerTranscription(request) : wrongMethod(request)
    }
    const isImage = path === '/v1/images/generations' || path === '/v1/images/edits'
    const serve = jsonServices.get(path)
    if (!serve && !isImage) {
      const message = `Invalid URL (${method} ${path})`
      return errorReply({ status: 404, message, param: null, code: null })
    }
    if (method !== 'POST') return wrongMethod(request)
    if (request.form && isImage) return answerImages(request)
    const body = asObject(request.json)
    if (!body) {
      const message = 'We could not parse the JSON body of your request. The API expects a JSON payload.'
      return errorReply(badRequest(message, null, null))
    }
    return serve ? serve(request, body) : answerImages(request)
  },

  file: imageFile,
}

function wrongMethod(request: VendorRequest): Reply {
  const message = `Not allowed to ${request.method} on ${request.path}.`
  return errorReply({ status: 405, message, param: null, code: 'method_not_supported' })
}

function models(id: string): Reply {
  if (id === '') return jsonReply(200, { object: 'list', data: listedModels.map(listedModel) }, headers())
  return listedModels.includes(id) ? jsonReply(200, listedModel(id), headers()) : unknownModel(id)
}

const dialect: ChatDialect = {
  replyModel: datedName,
  envelope: { service_tier: 'default', system_fingerprint: 'fp_sandbox' },
  message: { refusal: null, annotations: [] },
  firstDelta: { refusal: null },
  padded: true,
  showsReasoning: false,
  toolCalls: 'pieces',
  usage: chatUsage,
  nullUsage: true,
  streamFailure: {
    error: {
      message: 'The server had an error while processing your request. Sorry about that!',
      type: 'server_error',
      param: null,
      code: null,
    },
  },
  headers: {},
}

function chatUsage(counts: TokenCounts): JsonObject {
  const completion = counts.output + counts.reasoning
  return {
    prompt_tokens: counts.prompt,
    completion_tokens: completion,
    total_tokens: counts.prompt + completion,
    prompt_tokens_details: { cached_tokens: counts.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: counts.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

function chat(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? ''
  if (!isLenient(model)) {
    const bodyFault = findBodyFault(body)
    if (bodyFault) return errorReply(bodyFault)
    if (!isChatModel(model)) return unknownModel(model)
    const modelFault = findModelFault(model, body)
    if (modelFault) return errorReply(modelFault)
  } else if (!Array.isArray(body.messages)) {
    return errorReply(missingParameter('messages'))
  }
  const chat = readChat(request, reasoningTokens(model, body.reasoning_effort))
  const max = contextTokensMax(model)
  // A prompt length set by a directive is only reported.
  if (chat.promptTokens > max && request.directives.promptTokens === undefined && !isLenient(model)) {
    const message = `This model's maximum context length is ${max} tokens. However, your messages resulted in ${chat.promptTokens} tokens. Please reduce the length of the messages.`
    return errorReply(badRequest(message, 'messages', 'context_length_exceeded'))
  }
  return chatReply(chat, { ...dialect, headers: headers() })
}

function embeddings(request: VendorRequest, body: JsonObject): Reply {
  const name = asString(body.model) ?? ''
  const fault = findEmbeddingFault(body, name)
  if (fault) return errorReply(fault)
  const model = isLenient(name) ? lenientEmbedding : embeddingModels.get(name)
  if (!model) return unknownModel(name)
  const inputs = readInputs(body.input) ?? []
  const long = inputs.find((input) => input.tokens > tokensPerInputMax)
  if (long) {
    const message = `This model's maximum context length is ${tokensPerInputMax} tokens, however you requested ${long.tokens} tokens. Please reduce your prompt.`
    return errorReply(badRequest(message, null, null))
  }
  const counted = inputs.reduce((sum, input) => sum + input.tokens, 0)
  if (counted > tokensPerRequestMax) {
    const message = `Requested ${counted} tokens, max ${tokensPerRequestMax} tokens per request`
    return errorReply(badRequest(message, null, 'max_tokens_per_request'))
  }
  const tokens = countInputs(inputs, request)
  const items = embeddingItems(request, inputs, model)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return jsonReply(200, embeddingList(request, items, name, usage), headers())
}

function findEmbeddingFault(body: JsonObject, name: string): Fault | undefined {
  if (name === '') return badRequest('you must provide a model parameter', null, null)
  if (!isGiven(body.input)) return missingParameter('input')
  const unknown = Object.keys(body).find((field) => !embeddingFields.includes(field))
  if (unknown !== undefined && !isLenient(name)) {
    return badRequest(`Unknown parameter: '${unknown}'.`, unknown, 'unknown_parameter')
  }
  const inputs = readInputs(body.input)
  if (!inputs || inputs.length === 0 || inputs.some((input) => input.text === '')) {
    return badRequest("'$.input' is invalid. Please check the API reference.", null, null)
  }
  if (inputs.length > inputsMax) {
    const length = asArray(body.input)?.length
    const message = `Invalid 'input': array too long. Expected an array with maximum length ${inputsMax}, but got an array with length ${length} instead.`
    return badRequest(message, 'input', 'array_above_max_length')
  }
  const format = body.encoding_format
  if (isGiven(format) && format !== 'float' && format !== 'base64') {
    return invalidValue('encoding_format', format, ['float', 'base64'])
  }
  return isGiven(body.dimensions) ? findDimensionsFault(body.dimensions, name) : undefined
}

function findDimensionsFault(value: unknown, name: string): Fault | undefined {
  const dimensions = asNumber(value)
  if (dimensions === undefined || !Number.isInteger(dimensions) || dimensions < 1) {
    return badRequest("Invalid value for 'dimensions': expected a positive integer.", 'dimensions', null)
  }
  if (name.startsWith('text-embedding-ada-002')) {
    return badRequest('This model does not support specifying dimensions.', 'dimensions', null)
  }
  const max = embeddingModels.get(name)?.dimensions
  if (max === undefined || dimensions <= max) return undefined
  const message = `Invalid value for 'dimensions' = ${dimensions}. Must be less than or equal to ${max}.`
  return badRequest(message, 'dimensions', null)
}
