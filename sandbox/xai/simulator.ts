// Simulates xAI: chat completions with thinking counted separately from the completion, and images. It must never accept a key that
// is not its own, or know the forms of errors: those are in their own file.

import { asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { type ChatDialect, chatReply, readChat, type TokenCounts } from '../openai/chat'
import { bearerToken, hexId, jsonReply, maskedKey, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { codedError, codes, headers, notDeserialized, objectError, textError } from './errors'
import { imageModels, imageReply, imageResult } from './images'
import { videoFile, videoNames, videoReply } from './video'

const listedModels = ['grok-3', 'grok-3-mini', 'grok-4', 'grok-4-fast-non-reasoning', 'grok-4-fast-reasoning']
const chatNames = /^grok-(?:\d|build-)[a-z0-9.-]*$/
const reasoningByEffort = new Map<unknown, number>([
  ['low', 8],
  ['high', 32],
])
const reasoningDefault = 16
// Prices of grok-4.3, for all models: one US dollar is 10^10 ticks.
const ticksPerInputToken = 12_500
const ticksPerCachedToken = 2_000
const ticksPerOutputToken = 25_000

const CHAT = '/v1/chat/completions'

export const xai: Simulator = {
  secret: 'xai-sandbox-0001',
  basePath: '/v1',
  standIns: [
    ['/chat/completions', 'grok-4.3'],
    ['/images/', 'grok-imagine-image'],
    ['/videos/', 'grok-imagine-video'],
  ],
  knows: (model) => [chatNames, videoNames].some((names) => names.test(model)) || imageModels.includes(model),

  refuse(request) {
    const key = bearerToken(request)
    if (key === xai.secret) return undefined
    if (key === undefined) return textError(401, 'No API key was provided in the Authorization header.')
    const message = `Incorrect API key provided: ${maskedKey(key)}. You can obtain an API key from https://console.x.ai.`
    return codedError(400, codes.invalid, message)
  },

  fail(request, failure) {
    const { status, text, code } = failure
    const extra = retryAfterHeader(failure.retryAfterSeconds)
    if (status >= 500 && code === undefined)
      return textError(status, text ?? 'Service temporarily unavailable', extra)
    if (status === 429) return codedError(status, code ?? codes.exhausted, text ?? 'Too many requests', extra)
    const message = text ?? 'The request was refused.'
    // Chat has OpenAI's form, everything else xAI's own.
    if (request.path !== CHAT) return codedError(status, code ?? codes.invalid, message, extra)
    return objectError(status, message, null, code ?? null, extra)
  },

  outOfQuota() {
    const message = 'Your team has either used all available credits or reached its monthly spending limit.'
    return codedError(403, codes.forbidden, message)
  },

  answer(request) {
    const video = videoReply(request)
    if (video) return video
    const { method, path } = request
    if (method === 'GET' && path === '/v1/models') {
      return jsonReply(
        200,
        { object: 'list', data: [...listedModels, ...imageModels].map(modelEntry) },
        headers(),
      )
    }
    const serve = endpoints.get(path)
    if (!serve) return textError(404, `Not found: ${method} ${path}`)
    if (method !== 'POST') return textError(405, 'Method not allowed')
    const body = asObject(request.json)
    if (body) return serve(request, body)
    const reason = 'expected value at line 1 column 1'
    if (request.json !== undefined) return notDeserialized(reason)
    return textError(400, `Failed to parse the JSON body into the target type: ${reason}`)
  },

  file: (path) => videoFile(path) ?? imageResult(path),
}

const endpoints = new Map<string, (request: VendorRequest, body: JsonObject) => Reply>([
  [CHAT, chat],
  ['/v1/images/generations', (request, body) => imageReply(request, body, 'generate')],
  ['/v1/images/edits', (request, body) => imageReply(request, body, 'edit')],
])

function modelEntry(id: string): JsonObject {
  return { id, object: 'model', created: 1_752_019_200, owned_by: 'xai' }
}

const dialect: ChatDialect = {
  replyModel: (model) => model,
  envelope: { system_fingerprint: `fp_${hexId(10)}` },
  message: { refusal: null },
  firstDelta: {},
  padded: false,
  showsReasoning: true,
  toolCalls: 'whole',
  usage: chatUsage,
  nullUsage: true,
  streamFailure: {
    error: { message: 'Internal error', type: 'server_error', param: null, code: 'internal_error' },
  },
  headers: {},
}

function chatUsage(counts: TokenCounts): JsonObject {
  const { prompt, output, reasoning } = counts
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output + reasoning,
    prompt_tokens_details: {
      text_tokens: prompt,
      audio_tokens: 0,
      image_tokens: 0,
      cached_tokens: counts.cached,
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
    num_sources_used: 0,
    cost_in_usd_ticks:
      (prompt - counts.cached) * ticksPerInputToken +
      counts.cached * ticksPerCachedToken +
      (output + reasoning) * ticksPerOutputToken,
  }
}

function reasons(model: string): boolean {
  return !model.includes('non-reasoning') && /^grok-(3-mini|[4-9])/.test(model)
}

function chat(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model)
  if (model === undefined) {
    return notDeserialized('missing field `model`')
  }
  if (!Array.isArray(body.messages)) {
    return notDeserialized('missing field `messages`')
  }
  if (!chatNames.test(model)) {
    const message = `The model ${model} does not exist or your team does not have access to it.`
    return codedError(404, codes.missing, message)
  }
  if (asObjects(body.messages).length === 0) {
    return objectError(400, 'messages: at least one message is required.', 'messages')
  }
  const isMisnamed = asObjects(body.messages).some(({ role, name }) => role !== 'user' && isGiven(name))
  if (isMisnamed) return codedError(400, codes.invalid, "Only messages of role 'user' can have a name.")
  const refused = refusedField(model, body)
  if (refused) return refused
  const thinking = reasons(model) ? tokensByEffort(body) : 0
  return chatReply(readChat(request, thinking), { ...dialect, headers: headers() })
}

/** The words are on record in test/vendors/xai: those of older models, and those of Grok 4.1 and later. */
function refusedField(model: string, body: JsonObject): Reply | undefined {
  const name = [...refusedNames(model)].find((field) => isGiven(body[field]))
  if (name === undefined) return undefined
  const shown = name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return /^grok-4[.-](?!0709|fast|latest)/.test(model)
    ? codedError(400, 'invalid-argument', `Model ${model} does not support parameter ${shown}.`)
    : codedError(400, codes.invalid, `Argument not supported on this model: ${shown}`)
}

/** Fields that a model refuses. Penalties are refused by all: NativeTavern#83 and uni-api#105 on GitHub. */
function* refusedNames(model: string): Generator<string> {
  yield* ['presence_penalty', 'frequency_penalty']
  if (reasons(model)) yield 'stop'
  if (/^grok-4(-0709|-latest|-fast|\.20|$)/.test(model)) yield 'reasoning_effort'
}

function tokensByEffort(body: JsonObject): number {
  return reasoningByEffort.get(body.reasoning_effort) ?? reasoningDefault
}
