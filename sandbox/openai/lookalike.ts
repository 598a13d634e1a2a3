// Simulators of vendors that speak OpenAI's chat completions, embeddings and transcriptions with their own differences: errors,
// usage, and refusals. It must never name a vendor: each difference is a field of Likeness.

import { messageReply } from '../anthropic/messages'
import { asArray, asObject, asString, isGiven, type JsonObject } from '../json'
import { bearerToken, jsonReply, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { type ChatDialect, chatReply, readChat, type TokenCounts } from './chat'
import { countInputs, embeddingItems, embeddingList, readInputs } from './embeddings'
import { type Transcript, transcribe } from './transcriptions'

export interface Words {
  status: number
  message: string
  code?: string | null
  type?: string
  /** The field at fault, for vendors that name it separately. */
  param?: string
  /** Single faults, for vendors that list them. */
  faults?: readonly JsonObject[]
}

interface Likeness {
  secret: string | null
  basePath: string
  chatPath: string
  /** Present if messages are served too. */
  messagesPath?: string
  /** Models in its list; the first replaces unknown ones. */
  models: readonly string[]
  /** Names of additional models. Absent: none. */
  names?: RegExp
  /** Tokens that a model thinks before it answers. */
  thinks?(model: string, body: JsonObject): number
  /** The error for a conversation that the vendor refuses, of either dialect. */
  refusedConversation?(body: JsonObject, model: string): Words | undefined
  /** The error for a field that the vendor or the model refuses. */
  refusedField?(body: JsonObject, model: string, isMessages: boolean): Words | undefined
  error(words: Words): JsonObject
  unauthorized: Words
  missingModel(model: string): Words
  outOfQuota: Words
  usage?(counts: TokenCounts, model: string): JsonObject
  dialect?: Partial<ChatDialect>
  /** True if a stream always reports its usage in its last chunk. */
  alwaysSendsUsage?: true
  embeddings?: VectorLikeness
  audio?: AudioLikeness
  /** Other paths. */
  other?(request: VendorRequest): Reply | undefined
}

/** Differences of a vendor's embeddings. `fields` lists those in addition to the model and the input. */
interface VectorLikeness {
  models: RegExp
  fields: readonly string[]
  /** The field for the length of a vector, and the length of a full vector. */
  lengthField: string
  dimensions(model: string): number
  inputsMax: number
}

/** Differences of a vendor's transcriptions. `fields` lists those in addition to the model and the file. */
interface AudioLikeness {
  models: RegExp
  fields: readonly string[]
  formats: readonly string[]
  answer(
    transcript: Transcript,
    model: string,
    usage: (figures: JsonObject) => JsonObject | undefined,
  ): JsonObject
}

/** Usage with the cached tokens in their usual place. */
export function plainUsage({ prompt, output, reasoning, cached }: TokenCounts): JsonObject {
  const completion = output + reasoning
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  }
}

export function createLookalike(like: Likeness): Simulator {
  const refusal = (words: Words, headers = {}): Reply => jsonReply(words.status, like.error(words), headers)
  const knows = (model: string) => like.models.includes(model) || like.names?.test(model) === true
  const pathOf = (operation: string) => like.chatPath.replace('/chat/completions', operation)
  const modelsPath = pathOf('/models')
  return {
    secret: like.secret ?? 'none',
    basePath: like.basePath,
    standIns: [
      [like.chatPath, like.models[0] ?? ''],
      ['/messages', like.models[0] ?? ''],
    ],
    knows,
    refuse(request) {
      const key = request.headers['x-api-key'] ?? bearerToken(request)
      return like.secret === null || key === like.secret ? undefined : refusal(like.unauthorized)
    },
    fail(_request, { status, text, code, retryAfterSeconds: wait }) {
      const usual = status === 429 ? 'Rate limit reached.' : 'The request failed.'
      return refusal({ status, message: text ?? usual, code: code ?? null }, retryAfterHeader(wait))
    },
    outOfQuota: () => refusal(like.outOfQuota),
    answer(request) {
      const other = like.other?.(request)
      if (other) return other
      const { method, path } = request
      const isMessages = path === like.messagesPath
      if (method === 'GET' && path === modelsPath) return modelList(like.models)
      if (like.audio && path === pathOf('/audio/transcriptions')) return audioOf(like, like.audio, request)
      if (like.embeddings && path === pathOf('/embeddings')) return vectorsOf(like, like.embeddings, request)
      if (path !== like.chatPath && !isMessages) return refusal({ status: 404, message: 'Not Found' })
      if (method !== 'POST') return refusal({ status: 405, message: 'Method Not Allowed' })
      const body = asObject(request.json)
      const model = asString(body?.model)
      if (!body || model === undefined || !asArray(body.messages)) {
        return refusal({ status: 400, message: 'The request body is not valid.' })
      }
      if (!knows(model)) return refusal(like.missingModel(model))
      const refused = like.refusedField?.(body, model, isMessages) ?? like.refusedConversation?.(body, model)
      if (refused) return refusal(refused)
      return isMessages ? messageReply(request, {}) : chatOf(like, request, body, model)
    },
  }
}

/** How a chat completion forces a call: of any tool, or of a certain one; undefined if it does not. */
export function forcedChoice({ tool_choice: choice }: JsonObject): 'required' | 'specified' | undefined {
  if (choice === 'required') return 'required'
  return isGiven(asObject(choice)?.function) ? 'specified' : undefined
}

function modelList(ids: readonly string[]): Reply {
  const data = ids.map((id) => ({ id, object: 'model', created: 1_754_006_400, owned_by: 'sandbox' }))
  return jsonReply(200, { object: 'list', data })
}

async function audioOf(like: Likeness, audio: AudioLikeness, request: VendorRequest): Promise<Reply> {
  const model = asString(request.form?.find(([name]) => name === 'model')?.[1]) ?? ''
  const refusal = (words: Words) => jsonReply(words.status, like.error(words))
  if (!audio.models.test(model)) return refusal(like.missingModel(model))
  const transcript = await transcribe(request, audio)
  if (typeof transcript === 'string') return refusal({ status: 400, message: transcript })
  if (transcript.format === 'text') {
    const body = {
      kind: 'text',
      text: `${transcript.text}\n`,
      contentType: 'text/plain; charset=utf-8',
    } as const
    return { status: 200, headers: {}, body }
  }
  const usage = (figures: JsonObject) => reportUsage(figures, request.directives.usage)
  return jsonReply(200, audio.answer(transcript, model, usage))
}

function vectorsOf(like: Likeness, vectors: VectorLikeness, request: VendorRequest): Reply {
  const body = asObject(request.json) ?? {}
  const model = asString(body.model) ?? ''
  const refusal = (words: Words) => jsonReply(words.status, like.error(words))
  if (!vectors.models.test(model)) return refusal(like.missingModel(model))
  const unknown = Object.keys(body).find((name) => !['model', 'input', ...vectors.fields].includes(name))
  if (unknown !== undefined) return refusal({ status: 422, message: `unknown field: ${unknown}` })
  const inputs = readInputs(body.input)
  if (!inputs || typeof asArray(body.input)?.[0] === 'object')
    return refusal({ status: 422, message: 'input: expected texts' })
  if (inputs.length > vectors.inputsMax)
    return refusal({
      status: 400,
      message: 'Too many inputs in request, split into more batches.',
      code: '3210',
    })
  const tokens = countInputs(inputs, request)
  const json = { ...body, dimensions: body[vectors.lengthField] }
  const items = embeddingItems({ ...request, json }, inputs, {
    dimensions: vectors.dimensions(model),
    normalised: true,
  })
  const usage = { prompt_tokens: tokens, total_tokens: tokens, completion_tokens: 0 }
  return jsonReply(200, { id: 'embd_sandbox', ...embeddingList(request, items, model, usage) })
}

function chatOf(like: Likeness, request: VendorRequest, body: JsonObject, model: string): Reply {
  const read = like.alwaysSendsUsage
    ? { ...request, json: { ...body, stream_options: { include_usage: true } } }
    : request
  const chat = readChat(read, like.thinks?.(model, body) ?? 0)
  return chatReply(chat, {
    replyModel: (name) => name,
    envelope: {},
    message: {},
    firstDelta: {},
    padded: false,
    showsReasoning: true,
    toolCalls: 'whole',
    usage: (counts) => (like.usage ?? plainUsage)(counts, model),
    nullUsage: true,
    streamFailure: like.error({ status: 500, message: 'Internal server error', type: 'server_error' }),
    headers: {},
    ...like.dialect,
  })
}
