// Simulates Vertex AI: Gemini's own API and its chat by the OpenAI-compatible endpoint, Claude's messages by rawPredict, and the
// exchange of a service account's assertions for tokens. It must never accept a key in place of a token.

import { WITHOUT_SAMPLING } from '../anthropic/models'
import { anthropic } from '../anthropic/simulator'
import { generate, generateActions } from '../google/generate'
import { answersNatively } from '../google/simulator'
import { asObject, isGiven as isPresent, type JsonObject } from '../json'
import { createLookalike } from '../openai/lookalike'
import { bearerToken, jsonReply, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { giveToken, isGiven, serviceAccount } from './tokens'

const PLACE = /^\/v1\/projects\/sandbox-project\/locations\/([a-z0-9-]+)(\/.+)$/
const CLAUDE = /^\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/
const GEMINI = /^\/publishers\/google\/models\/([^/:]+):(\w+)$/
/** The older version. Anthropic's SDKs send 2026-10-21 since bedrock-sdk 1.1 and vertex-sdk 1.1. */
const VERSION = 'vertex-2023-10-16'
const WORDS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

const chat = createLookalike({
  secret: null,
  basePath: '',
  chatPath: '/chat/completions',
  models: ['google/gemini-2.5-flash', 'google/gemini-2.5-pro'],
  thinks: (model) => (model.endsWith('pro') ? 8 : 0),
  error: ({ status, message }) => errorBody(status, message),
  unauthorized: { status: 401, message: 'Unauthenticated' },
  missingModel: (model) => ({
    status: 404,
    message: `Publisher Model \`${model}\` was not found or your project does not have access to it.`,
  }),
  outOfQuota: { status: 403, message: 'This API method requires billing to be enabled.' },
})

export const vertex: Simulator = {
  secret: serviceAccount,
  basePath: '/v1',
  standIns: [
    ['/endpoints/openapi', 'google/gemini-2.5-flash'],
    ['/publishers/google', 'gemini-2.5-flash'],
    ['/publishers/anthropic', 'claude-sonnet-4-5@20250929'],
  ],
  knows: (model) => model.startsWith('claude-') || chat.knows(model) || answersNatively(model),

  refuse(request) {
    if (request.path === '/token' || isGiven(bearerToken(request))) return undefined
    return refusal(
      401,
      'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
    )
  },

  fail({ path }, { status, text, retryAfterSeconds: wait }) {
    const usual = status === 429 ? tooMany(path) : 'Internal error encountered.'
    const reply = refusal(status, text ?? usual)
    return { ...reply, headers: retryAfterHeader(wait) }
  },

  outOfQuota: () =>
    refusal(403, 'This API method requires billing to be enabled. Please enable billing on project #1.'),

  answer(request) {
    if (request.path === '/token') return giveToken(request)
    const [, , below] = PLACE.exec(request.path) ?? []
    if (below === undefined) return refusal(404, 'The requested URL was not found on this server.')
    const [, gemini, verb = ''] = GEMINI.exec(below) ?? []
    if (gemini !== undefined) {
      const model = decodeURIComponent(gemini)
      const isKnown = answersNatively(model) && generateActions.includes(verb)
      return isKnown ? generate(request, model, verb) : unknownModel(request)
    }
    const openapi = /^\/endpoints\/openapi(\/.+)$/.exec(below)?.[1]
    return openapi === undefined ? predict(request, below) : chat.answer({ ...request, path: openapi })
  },
}

/** Too many requests: for Claude, whose models have separate quotas, as in anthropics/claude-code#1440 (2025-05-30). */
function tooMany(path: string): string {
  const [, model] = /\/publishers\/anthropic\/models\/([^/:@]+)/.exec(path) ?? []
  return model === undefined
    ? 'Resource exhausted. Please try again later.'
    : `Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with base model: anthropic-${model}. Please submit a quota increase request. https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.`
}

async function predict(request: VendorRequest, below: string): Promise<Reply> {
  const [, id, verb] = CLAUDE.exec(below) ?? []
  const body = asObject(request.json)
  if (id === undefined || !body) return refusal(404, 'The requested URL was not found on this server.')
  const { anthropic_version: version, model: named, ...fields } = body
  const isCount = id === 'count-tokens'
  const isNewest = version === WITHOUT_SAMPLING
  if (version !== VERSION && !isNewest) return refusal(400, 'anthropic_version: Field required')
  if (!isCount && named !== undefined) return refusal(400, 'model: Extra inputs are not permitted')
  if (isPresent(fields.stream) && (fields.stream === true) !== (verb === 'streamRawPredict')) {
    return refusal(400, 'stream: does not fit the method')
  }
  const model = decodeURIComponent(isCount ? String(named) : id).replace(/@\d+$/, '')
  if (!model.startsWith('claude-')) return unknownModel(request)
  return anthropic.answer({
    ...request,
    path: isCount ? '/v1/messages/count_tokens' : '/v1/messages',
    headers: { ...request.headers, 'anthropic-version': isNewest ? WITHOUT_SAMPLING : '2023-06-01' },
    json: { ...fields, model },
  })
}

/** anthropics/claude-code#18447 (2026-01-16). */
function unknownModel({ path }: VendorRequest): Reply {
  const place = path.replace(/^\/v1\//, '').replace(/:\w+$/, '')
  return refusal(
    404,
    `Publisher Model \`${decodeURIComponent(place)}\` was not found or your project does not have access to it.`,
  )
}

function errorBody(status: number, message: string): JsonObject {
  return { error: { code: status, message, status: WORDS[status] ?? 'INTERNAL' } }
}

function refusal(status: number, message: string): Reply {
  return jsonReply(status, errorBody(status, message))
}
