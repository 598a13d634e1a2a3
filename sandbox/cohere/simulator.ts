// Simulates Cohere: reranking, billed by searches of a hundred documents, with errors in `message`. It must never serve another
// endpoint, or return documents: the newest version of the API does not.

import { asArray, asObject, asString, type JsonObject } from '../json'
import { bearerToken, hexId, jsonReply, retryAfterHeader } from '../replies'
import { rank, readRerank } from '../rerank'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'

const models = [
  'rerank-v5.0-pro',
  'rerank-v5.0-fast',
  'rerank-v4.0-pro',
  'rerank-v4.0-fast',
  'rerank-v3.5',
  'rerank-english-v3.0',
  'rerank-multilingual-v3.0',
]
const documentsPerSearch = 100
const documentsMax = 10_000

export const cohere: Simulator = {
  secret: 'co-sandbox-cohere-0001',
  basePath: '/v2',
  standIns: [['/rerank', 'rerank-v4.0-fast']],
  knows: (model) => models.includes(model),

  refuse(request) {
    return bearerToken(request) === cohere.secret ? undefined : refusal(401, 'invalid api token')
  },

  fail(_request, failure) {
    const reply = refusal(failure.status, failure.text ?? sentenceFor(failure.status))
    return { ...reply, headers: retryAfterHeader(failure.retryAfterSeconds) }
  },

  outOfQuota() {
    return refusal(429, 'You are using a Trial key, which is limited to 1000 API calls / month.')
  },

  answer(request) {
    if (request.path !== '/v2/rerank') return refusal(404, 'page not found')
    if (request.method !== 'POST') return refusal(405, 'method not allowed')
    const body = asObject(request.json)
    return body ? reranking(request, body) : refusal(400, 'invalid request: could not parse JSON')
  },
}

function refusal(status: number, message: string): Reply {
  return jsonReply(status, { id: hexId(), message })
}

function sentenceFor(status: number): string {
  if (status === 429) return 'rate limit exceeded, please try again later'
  return status >= 500 ? 'internal server error' : 'invalid request'
}

function reranking(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? ''
  if (model === '') return refusal(400, 'invalid request: model is required')
  if (!models.includes(model))
    return refusal(404, `model '${model}' not found, make sure the name is correct`)
  const known = ['model', 'query', 'documents', 'top_n', 'max_tokens_per_doc', 'priority']
  const unknown = Object.keys(body).find((field) => !known.includes(field))
  // LightRAG#1813 on GitHub.
  if (unknown !== undefined) {
    const usage = 'For proper usage, please refer to https://docs.cohere.com/reference/rerank'
    return refusal(422, `unknown field: parameter '${unknown}' is not a valid field. ${usage}`)
  }
  if (asArray(body.documents)?.some((document) => typeof document !== 'string'))
    return refusal(400, 'invalid request: documents must be a list of strings')
  const question = readRerank(body, 'top_n')
  if (!question) return refusal(400, 'invalid request: query and documents are required')
  const { length } = question.documents
  if (length > documentsMax) return refusal(400, `invalid request: more than ${documentsMax} documents`)
  const results = rank(question, request).map(({ text: _, ...result }) => result)
  const { directives } = request
  const searches = directives.promptTokens ?? Math.ceil(length / documentsPerSearch)
  const billed = reportUsage({ search_units: searches }, directives.usage)
  const meta = { api_version: { version: '2' }, ...(billed && { billed_units: billed }) }
  return jsonReply(200, { id: hexId(), results, meta })
}
