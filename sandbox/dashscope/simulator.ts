// Simulates Alibaba's DashScope: its OpenAI-compatible chat and embeddings, and its native paths. It must never accept
// what the real service refuses: big batches, odd vector lengths, base64 vectors.

import { asArray, asNumber, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { type ChatDialect, chatReply, readChat, type TokenCounts } from '../openai/chat'
import { countInputs, embeddingItems, embeddingList, readInputs } from '../openai/embeddings'
import { forcedChoice } from '../openai/lookalike'
import { bearerToken, jsonReply, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { errorReply, headers, internalError, invalid, unknownModel, wordsFor } from './errors'
import { answerImages, imageFile, imageModels, imageNames } from './images'
import { answerSpeech, speechFile, speechNames } from './speech'
import { generatorFor, videoFor } from './stand-ins'
import { videoFile, videoNames, videoReply } from './video'

const chatNames = /^(qwen|qwq|qvq|deepseek|kimi|glm)/
// The default length comes first.
const embeddingLengths = new Map<string, readonly number[]>([
  ['text-embedding-v4', [1024, 2048, 1536, 768, 512, 256, 128, 64]],
  ['text-embedding-v3', [1024, 768, 512, 256, 128, 64]],
])
const inputsMax = 10
const tokensPerInputMax = 8192
const thinkingTokens = 24

export const dashscope: Simulator = {
  secret: 'sk-sandbox-dashscope-0001',
  basePath: '',
  standIns: [
    ['/chat/completions', 'qwen-plus'],
    ['/embeddings', 'text-embedding-v4'],
    ['/multimodal-generation/', generatorFor],
    ['/video-synthesis', videoFor],
  ],

  knows(model) {
    if (imageNames.test(model)) return imageModels.has(model)
    if (/-tts(-|$)/.test(model)) return speechNames.test(model)
    return chatNames.test(model) || videoNames.test(model) || embeddingLengths.has(model)
  },

  refuse(request) {
    const key = bearerToken(request)
    if (key === dashscope.secret) return undefined
    const message = key === undefined ? 'No API-key provided.' : 'Invalid API-key provided.'
    return errorReply(request, {
      status: 401,
      code: 'InvalidApiKey',
      compatibleCode: 'invalid_api_key',
      message,
    })
  },

  fail(request, failure) {
    const error = wordsFor(failure)
    const code = failure.code ?? error.code
    const compatibleCode = failure.code ?? error.compatibleCode
    const message = failure.text ?? error.message
    const reply = errorReply(request, { ...error, code, compatibleCode, message })
    return { ...reply, headers: { ...reply.headers, ...retryAfterHeader(failure.retryAfterSeconds) } }
  },

  outOfQuota(request) {
    const message = 'Access denied, please make sure your account is in good standing.'
    const code = 'Arrearage'
    return errorReply(request, { status: 400, code, compatibleCode: code, type: code, message })
  },

  answer(request) {
    const video = videoReply(request)
    if (video) return video
    const { method, path } = request
    const body = asObject(request.json)
    const serve = services.get(path)
    if (!serve) {
      const message = `The path ${path} is not known.`
      return errorReply(request, { status: 404, code: 'NotFound', compatibleCode: 'not_found', message })
    }
    if (method !== 'POST') {
      const message = `Request method '${method}' not supported`
      return errorReply(request, { status: 405, code: 'BadRequest', compatibleCode: 'bad_request', message })
    }
    if (!body) return invalid(request, 'Request body is not valid JSON.')
    if (asString(body.model) === undefined) {
      return invalid(request, "you must provide a model parameter, 'model' is a required property")
    }
    return serve(request, body)
  },

  file: (path, query) => videoFile(path) ?? imageFile(path, query) ?? speechFile(path, query),
}

const services: ReadonlyMap<string, (request: VendorRequest, body: JsonObject) => Reply> = new Map([
  ['/compatible-mode/v1/chat/completions', chat],
  ['/compatible-mode/v1/embeddings', embeddings],
  ['/api/v1/services/aigc/multimodal-generation/generation', generate],
  ['/api/v1/services/embeddings/text-embedding/text-embedding', nativeEmbeddings],
])

/** The reply of the path that several kinds of models share. */
function generate(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? ''
  if (imageNames.test(model)) return answerImages(request, body)
  if (speechNames.test(model)) return answerSpeech(request, body)
  return unknownModel(request, model)
}

const dialect: ChatDialect = {
  replyModel: (model) => model,
  envelope: { system_fingerprint: null },
  message: {},
  firstDelta: {},
  padded: false,
  showsReasoning: true,
  toolCalls: 'pieces-with-empty-id',
  usage: chatUsage,
  nullUsage: true,
  streamFailure: {
    error: {
      code: 'internal_error',
      param: null,
      message: internalError[2],
      type: 'server_error',
    },
    request_id: '4909100c-7b5a-9f92-bfe5-000000000000',
  },
  headers: {},
}

function chatUsage(counts: TokenCounts): JsonObject {
  const completion = counts.output + counts.reasoning
  const details =
    counts.reasoning > 0 ? { completion_tokens_details: { reasoning_tokens: counts.reasoning } } : {}
  return {
    prompt_tokens: counts.prompt,
    completion_tokens: completion,
    total_tokens: counts.prompt + completion,
    prompt_tokens_details: { cached_tokens: counts.cached },
    ...details,
  }
}

function chat(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? ''
  if (!chatNames.test(model)) return unknownModel(request, model)
  const messages = asArray(body.messages)
  if (!messages || messages.length === 0) {
    return invalid(request, "<400> InternalError.Algo.InvalidParameter: 'messages' must not be empty")
  }
  if (messages.some((message) => asString(asObject(message)?.role) === undefined)) {
    return invalid(request, "'role' is a required property - 'messages.0'")
  }
  if (isGiven(body.stream_options) && body.stream !== true) {
    return invalid(request, "'stream_options' can only be used when stream is enabled")
  }
  if (/^(qwq|qvq)/.test(model) && body.stream !== true) {
    return invalid(
      request,
      'This model only support stream mode, please enable the stream parameter to access the model.',
    )
  }
  const thinks = thinksFor(model, body)
  const refused = refusedWords(model, body, thinks)
  if (refused !== undefined) return invalid(request, refused)
  const budget = asNumber(body.thinking_budget) ?? thinkingTokens
  const chat = readChat(request, thinks ? Math.min(thinkingTokens, budget) : 0)
  return chatReply(chat, { ...dialect, headers: headers() })
}

/** Whether a model thinks; Qwen 3.8 does unless a request turns it off. */
function thinksFor(model: string, { enable_thinking: requested }: JsonObject): boolean {
  return (
    requested === true ||
    (/^qwen3\.8/.test(model) && requested !== false) ||
    /^(qwq|qvq)|-thinking/.test(model)
  )
}

/** The words are on record in test/vendors/dashscope. */
function refusedWords(model: string, body: JsonObject, thinks: boolean): string | undefined {
  if (/^qwen3-\d+b/.test(model) && body.stream !== true && body.enable_thinking !== false) {
    return 'parameter.enable_thinking must be set to false for non-streaming calls'
  }
  if (thinks && forcedChoice(body)) {
    return '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode'
  }
  const asksForJson = asObject(body.response_format)?.type === 'json_object'
  return asksForJson && !/json/i.test(JSON.stringify(body.messages))
    ? "<400> InternalError.Algo.InvalidParameter: 'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    : undefined
}

function embeddings(request: VendorRequest, body: JsonObject): Reply {
  const name = asString(body.model) ?? ''
  const lengths = embeddingLengths.get(name)
  if (!lengths) return unknownModel(request, name)
  const inputs = readInputs(body.input)
  const isText = typeof body.input === 'string' || asArray(body.input)?.every((i) => typeof i === 'string')
  if (!inputs || inputs.length === 0 || !isText) {
    return algorithmError(request, 'Value error, contents is neither str nor list of str.: input.contents')
  }
  if (inputs.length > inputsMax) {
    const rule = `it should not be larger than ${inputsMax}.`
    return algorithmError(request, `Value error, batch size is invalid, ${rule}: input.contents`)
  }
  if (inputs.some((input) => input.tokens === 0 || input.tokens > tokensPerInputMax)) {
    return algorithmError(request, `Range of input length should be [1, ${tokensPerInputMax}]`)
  }
  if (isGiven(body.dimensions) && !lengths.includes(asNumber(body.dimensions) ?? 0)) {
    const allowed = [...lengths].sort((left, right) => left - right).join(', ')
    return algorithmError(
      request,
      `Value error, dimension is invalid, it should be in [${allowed}].: parameters.dimension`,
    )
  }
  if (isGiven(body.encoding_format) && body.encoding_format !== 'float') {
    return algorithmError(request, "Value error, encoding_format is invalid, only 'float' is supported.")
  }
  const tokens = countInputs(inputs, request)
  // Vectors longer than the default exist too.
  const dimensions = asNumber(body.dimensions) ?? lengths[0] ?? 1024
  const items = embeddingItems(request, inputs, { dimensions, normalised: true })
  const list = embeddingList(request, items, name, { prompt_tokens: tokens, total_tokens: tokens })
  return jsonReply(200, { ...list, id: crypto.randomUUID() }, headers())
}

/** Embeddings by the native path, which the gateway does not use and the vendor's SDK does. */
function nativeEmbeddings(request: VendorRequest, body: JsonObject): Reply {
  const { input, parameters, ...rest } = body
  const { dimension, text_type: _, output_type: __ } = asObject(parameters) ?? {}
  const reply = embeddings(request, {
    ...rest,
    input: asObject(input)?.texts,
    ...(isGiven(dimension) && { dimensions: dimension }),
  })
  if (reply.status !== 200 || reply.body.kind !== 'json') return reply
  const { data, usage, id } = asObject(reply.body.value) ?? {}
  const vectors = asObjects(data).map(({ embedding, index }) => ({ embedding, text_index: index }))
  const total = asObject(usage)?.total_tokens
  const value = { request_id: id, output: { embeddings: vectors }, usage: { total_tokens: total } }
  return { ...reply, body: { kind: 'json', value } }
}

/** The error of embeddings: the model's own sentence, with its status within. */
function algorithmError(request: VendorRequest, sentence: string): Reply {
  const code = 'InvalidParameter'
  const message = `<400> InternalError.Algo.InvalidParameter: ${sentence}`
  return errorReply(request, { status: 400, code, compatibleCode: code, type: code, message })
}
