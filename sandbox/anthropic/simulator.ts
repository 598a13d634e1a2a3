// Simulates Anthropic: messages, token counting and the model list, as strict about headers and fields as the real
// service. It must never ignore an unknown field: the real service refuses it unless a beta header allows it.

import { asArray, asNumber, asObject, asString, isGiven, type JsonObject } from '../json'
import { bearerToken, hexId, jsonReply, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { countInput, messageReply } from './messages'
import { findModelFault, findVersionFault } from './models'

const listedModels = [
  'claude-fable-5-1',
  'claude-opus-5-5',
  'claude-sonnet-5-5',
  'claude-haiku-5-5',
  'claude-haiku-4-5',
]
const names = /^claude-[a-z0-9-]+$/
const fields = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'service_tier',
  'cache_control',
  'container',
  'inference_geo',
]
// Fields about the answer only, which a count of tokens does not have.
const answerFields = [
  'max_tokens',
  'stream',
  'metadata',
  'service_tier',
  'stop_sequences',
  'temperature',
  'top_k',
  'top_p',
]
// Fields that need a value in the anthropic-beta header.
const betaFields = new Map([
  ['context_management', 'context-management'],
  ['mcp_servers', 'mcp-client'],
  // The older name of output_config.format, which litellm sends (BetaJSONOutputFormat of Anthropic's SDK).
  ['output_format', 'structured-outputs'],
])
const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}
const sentences: Readonly<Record<number, string>> = {
  401: 'invalid x-api-key',
  429: 'This request would exceed the rate limit of your organization.',
  500: 'Internal server error',
  529: 'Overloaded',
}

export const anthropic: Simulator = {
  secret: 'sk-ant-sandbox-0001',
  basePath: '/v1',
  standIns: [['/messages', 'claude-sonnet-5-5']],
  knows: (model) => names.test(model),

  refuse(request) {
    const key = request.headers['x-api-key'] ?? bearerToken(request)
    if (key === undefined) return errorReply(401, 'x-api-key header is required')
    return key === anthropic.secret ? undefined : errorReply(401, 'invalid x-api-key')
  },

  fail(_request, failure) {
    const { status, text, code } = failure
    const message = text ?? sentences[status] ?? 'The request was refused.'
    const reply = errorReply(status, message, code)
    return { ...reply, headers: { ...reply.headers, ...retryAfterHeader(failure.retryAfterSeconds) } }
  },

  outOfQuota() {
    return errorReply(402, 'Your credit balance is too low to access the Anthropic API.')
  },

  answer(request) {
    const { method, path } = request
    if (request.headers['anthropic-version'] === undefined) {
      return errorReply(400, 'anthropic-version: header is required')
    }
    if (method === 'GET' && path === '/v1/models') return modelList()
    const counts = path === '/v1/messages/count_tokens'
    if (method !== 'POST' || (path !== '/v1/messages' && !counts)) return errorReply(404, 'Not found')
    const body = asObject(request.json)
    if (!body) return errorReply(400, 'The request body is not valid JSON')
    const fault = findFault(request, body, counts)
    if (fault !== undefined) return errorReply(400, fault)
    if (!names.test(asString(body.model) ?? '')) return errorReply(404, `model: ${String(body.model)}`)
    if (counts) return jsonReply(200, { input_tokens: countInput(body) }, headers())
    const modelFault = findModelFault(body)
    if (modelFault !== undefined) return errorReply(400, modelFault)
    return messageReply(request, headers())
  },
}

function headers(requestId = `req_${hexId(24)}`): Record<string, string> {
  const reset = new Date(Date.now() + 60_000).toISOString()
  const limits: Record<string, string> = {}
  for (const [kind, limit] of [
    ['requests', 4000],
    ['tokens', 2_000_000],
    ['input-tokens', 1_600_000],
    ['output-tokens', 400_000],
  ] as const) {
    limits[`anthropic-ratelimit-${kind}-limit`] = String(limit)
    limits[`anthropic-ratelimit-${kind}-remaining`] = String(limit - 1)
    limits[`anthropic-ratelimit-${kind}-reset`] = reset
  }
  return { 'request-id': requestId, 'anthropic-organization-id': 'sandbox', ...limits }
}

function errorReply(status: number, message: string, code?: string): Reply {
  const requestId = `req_${hexId(24)}`
  const type = code ?? errorTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  return jsonReply(
    status,
    { type: 'error', error: { type, message }, request_id: requestId },
    headers(requestId),
  )
}

function modelList(): Reply {
  const data = listedModels.map((id) => ({
    type: 'model',
    id,
    display_name: id,
    created_at: '2025-10-01T00:00:00Z',
  }))
  const ends = { has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id }
  return jsonReply(200, { data, ...ends }, headers())
}

/** The first fault of a body, in the order of the real service. */
function findFault(request: VendorRequest, body: JsonObject, counts: boolean): string | undefined {
  if (!isGiven(body.model)) return 'model: Field required'
  const fault = findMessageFault(body.messages)
  if (fault !== undefined) return fault
  if (!counts && !isGiven(body.max_tokens)) return 'max_tokens: Field required'
  if (isGiven(body.max_tokens) && !Number.isInteger(body.max_tokens)) {
    return 'max_tokens: Input should be a valid integer'
  }
  const temperature = asNumber(body.temperature) ?? 1
  if (temperature < 0 || temperature > 1) return 'temperature: range: 0..1'
  const thinking = asObject(body.thinking)
  const budget = asNumber(thinking?.budget_tokens)
  if (thinking?.type === 'enabled' && (budget ?? 0) < 1024) {
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  }
  if (!counts && budget !== undefined && budget >= (asNumber(body.max_tokens) ?? 0)) {
    return '`max_tokens` must be greater than `thinking.budget_tokens`.'
  }
  const removed = findVersionFault(request.headers['anthropic-version'], body)
  if (removed !== undefined) return removed
  const beta = request.headers['anthropic-beta'] ?? ''
  const unknown = Object.keys(body).find((field) => {
    const needed = betaFields.get(field)
    if (counts && answerFields.includes(field)) return true
    return needed === undefined ? !fields.includes(field) : !beta.includes(needed)
  })
  return unknown === undefined ? undefined : `${unknown}: Extra inputs are not permitted`
}

function findMessageFault(value: unknown): string | undefined {
  const messages = asArray(value)
  if (!isGiven(value)) return 'messages: Field required'
  if (!messages || messages.length === 0) return 'messages: at least one message is required'
  for (const [index, message] of messages.entries()) {
    const { role, content } = asObject(message) ?? {}
    if (role !== 'user' && role !== 'assistant' && !(role === 'system' && index > 0)) {
      return `messages: Unexpected role "${String(role)}". Allowed roles are "user" or "assistant"`
    }
    if (typeof content !== 'string' && !Array.isArray(content)) {
      return `messages.${index}.content: Input should be a valid array`
    }
    if (role === 'user' && content.length === 0) {
      return `messages.${index}: user messages must have non-empty content`
    }
  }
  return undefined
}
