// Simulates Voyage: embeddings and reranking with its own field names, limits by items and by tokens, and errors in `detail`. It
// must never keep vectors in order: the real service only guarantees correct indexes.

import { asArray, asNumber, asObject, asString, isGiven, type JsonObject } from '../json'
import { type EmbeddingInput, vectorOf } from '../openai/embeddings'
import { countTokens } from '../pieces'
import { bearerToken, hexId, jsonReply, retryAfterHeader } from '../replies'
import { countRerank, rank, readRerank } from '../rerank'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { asBase64, asNumbers, shuffled } from '../vectors'

const fields = [
  'input',
  'model',
  'input_type',
  'truncation',
  'output_dimension',
  'output_dtype',
  'encoding_format',
]
const lengths = [256, 512, 1024, 2048]
const lengthDefault = 1024
const inputsMax = 1000
const contextTokens = 32_000
const batchTokensMax = new Map([
  ['voyage-4-large', 120_000],
  ['voyage-4', 320_000],
  ['voyage-4-lite', 1_000_000],
  ['voyage-4-nano', 1_000_000],
  ['voyage-3.5', 320_000],
  ['voyage-3.5-lite', 1_000_000],
  ['voyage-3-large', 120_000],
  ['voyage-code-3', 120_000],
  // Source of the next six: voyageai 0.4.0 on npm, EmbedRequest.input.
  ['voyage-2', 320_000],
  ['voyage-large-2', 120_000],
  ['voyage-finance-2', 120_000],
  ['voyage-multilingual-2', 120_000],
  ['voyage-law-2', 120_000],
  ['voyage-code-2', 120_000],
  // docs.voyageai.com/docs/embeddings
  ['voyage-large-2-instruct', 120_000],
  // No page names a limit for these: the lowest limit of the others applies.
  ['voyage-code-4', 120_000],
  ['voyage-3', 120_000],
  ['voyage-3-lite', 120_000],
  ['voyage-lite-02-instruct', 120_000],
  ['voyage-lite-01', 120_000],
])

export const voyage: Simulator = {
  secret: 'pa-sandbox-voyage-0001',
  basePath: '/v1',
  standIns: [
    ['/embeddings', 'voyage-4'],
    ['/rerank', 'rerank-2.5'],
  ],
  knows: (model) => batchTokensMax.has(model) || rerankModels.includes(model),

  refuse(request) {
    return bearerToken(request) === voyage.secret ? undefined : refusal(401, 'Provided API key is invalid.')
  },

  fail(_request, failure) {
    const reply = refusal(failure.status, failure.text ?? sentenceFor(failure.status))
    return { ...reply, headers: { ...reply.headers, ...retryAfterHeader(failure.retryAfterSeconds) } }
  },

  outOfQuota() {
    const limits = 'reduced rate limits of 3 RPM and 10K TPM'
    return refusal(
      429,
      `You have not yet added your payment method in the billing page and will have ${limits}.`,
    )
  },

  answer(request) {
    const isRerank = request.path === '/v1/rerank'
    if (request.path !== '/v1/embeddings' && !isRerank) return refusal(404, 'Not Found')
    if (request.method !== 'POST') return refusal(405, 'Method Not Allowed')
    const body = asObject(request.json)
    if (!body) return malformed(['body'], 'JSON decode error', 'json_invalid')
    return isRerank ? reranking(request, body) : embeddings(request, body)
  },
}

const rerankFields = ['query', 'documents', 'model', 'top_k', 'return_documents', 'truncation']
const rerankModels = ['3', '3-lite', '2.5', '2.5-lite', '2', '2-lite', '1', 'lite-1'].map(
  (version) => `rerank-${version}`,
)

function reranking(request: VendorRequest, body: JsonObject): Reply {
  const unknown = Object.keys(body).find((field) => !rerankFields.includes(field))
  if (unknown !== undefined) return refusal(400, `Argument '${unknown}' is not supported by our API.`)
  const model = asString(body.model) ?? ''
  if (!rerankModels.includes(model)) {
    const supported = rerankModels.map((each) => `'${each}'`).join(', ')
    return refusal(400, `Model ${model} is not supported. Supported models are [${supported}].`)
  }
  const question = readRerank(body, 'top_k')
  if (!question) return malformed(['body', 'documents'], 'Field required', 'missing')
  const data = rank(question, request).map(({ text, index, relevance_score }) => ({
    relevance_score,
    index,
    ...(body.return_documents === true && { document: text }),
  }))
  const usage = reportUsage({ total_tokens: countRerank(question, request) }, request.directives.usage)
  return jsonReply(200, { object: 'list', data, model, ...(usage && { usage }) }, headers())
}

function headers(): Record<string, string> {
  return { 'request-id': hexId(), 'voyage-processing-ms': '12' }
}

function refusal(status: number, detail: string): Reply {
  return jsonReply(status, { detail }, headers())
}

function malformed(place: (string | number)[], message: string, type: string): Reply {
  return jsonReply(422, { detail: [{ loc: place, msg: message, type }] }, headers())
}

function sentenceFor(status: number): string {
  if (status === 429) return 'Rate limit exceeded. Please slow down.'
  if (status >= 500) return 'The server had an error while processing the request.'
  return 'The request was refused.'
}

function embeddings(request: VendorRequest, body: JsonObject): Reply {
  const fault = findFault(body)
  if (fault) return fault
  const model = asString(body.model) ?? ''
  const texts = (typeof body.input === 'string' ? [body.input] : asArray(body.input)) ?? []
  const inputs = texts.map(
    (text): EmbeddingInput => ({ text: String(text), tokens: countTokens(String(text)) }),
  )
  const long = inputs.findIndex((input) => input.tokens > contextTokens)
  if (long >= 0 && body.truncation === false) {
    const rule = `has too many tokens and does not fit into the model's context window of ${contextTokens} tokens`
    return refusal(
      400,
      `Request to model '${model}' failed. The example at index ${long} in your batch ${rule}.`,
    )
  }
  const tokens = inputs.reduce((sum, input) => sum + Math.min(input.tokens, contextTokens), 0)
  const max = batchTokensMax.get(model) ?? 0
  if (tokens > max) {
    const counted = `Your batch has ${tokens} tokens after truncation.`
    const advice = 'Please lower the number of tokens in the batch.'
    return refusal(
      400,
      `Request to model '${model}' failed. The max allowed tokens per submitted batch is ${max}. ${counted} ${advice}`,
    )
  }
  const items = request.directives.empty
    ? []
    : shuffled(inputs.map((input, index) => item(input, index, body)))
  const total = request.directives.promptTokens ?? tokens
  const usage = reportUsage({ total_tokens: total }, request.directives.usage)
  return jsonReply(200, { object: 'list', data: items, model, usage }, headers())
}

function findFault(body: JsonObject): Reply | undefined {
  const unknown = Object.keys(body).find((field) => !fields.includes(field))
  if (unknown !== undefined) return refusal(400, `Argument '${unknown}' is not supported by our API.`)
  const model = asString(body.model)
  if (model === undefined) return malformed(['body', 'model'], 'Field required', 'missing')
  if (body.input === undefined) return malformed(['body', 'input'], 'Field required', 'missing')
  if (!batchTokensMax.has(model)) {
    return refusal(400, `Model ${model} is not supported. Supported models are ${listed()}.`)
  }
  return findInputFault(body.input) ?? findOptionFault(body)
}

function listed(): string {
  return `[${[...batchTokensMax.keys()].map((model) => `'${model}'`).join(', ')}]`
}

function findInputFault(input: unknown): Reply | undefined {
  const texts = typeof input === 'string' ? [input] : asArray(input)
  const wrong = texts?.findIndex((text) => typeof text !== 'string') ?? 0
  if (!texts || wrong >= 0) {
    return malformed(['body', 'input', wrong], 'Input should be a valid string', 'string_type')
  }
  if (texts.length === 0 || texts.includes('')) {
    return refusal(400, 'Input cannot contain empty strings or empty lists.')
  }
  if (texts.length > inputsMax) {
    return refusal(400, `The batch size limit is ${inputsMax}. Your batch size is ${texts.length}.`)
  }
  return undefined
}

function findOptionFault(body: JsonObject): Reply | undefined {
  const wrong = (name: string, allowed: string) =>
    refusal(
      400,
      `Value '${String(body[name])}' supplied for argument '${name}' is not valid -- accepted values are ${allowed}.`,
    )
  if (isGiven(body.output_dimension) && !lengths.includes(asNumber(body.output_dimension) ?? 0)) {
    return wrong('output_dimension', `[${lengths.join(', ')}]`)
  }
  if (isGiven(body.encoding_format) && body.encoding_format !== 'base64') {
    return wrong('encoding_format', "[null, 'base64']")
  }
  if (isGiven(body.input_type) && body.input_type !== 'query' && body.input_type !== 'document') {
    return wrong('input_type', "[null, 'query', 'document']")
  }
  if (isGiven(body.output_dtype) && !(asString(body.output_dtype) ?? '').match(/^(float|u?int8|u?binary)$/)) {
    return wrong('output_dtype', "['float', 'int8', 'uint8', 'binary', 'ubinary']")
  }
  return undefined
}

function item(input: EmbeddingInput, index: number, body: JsonObject): JsonObject {
  const length = asNumber(body.output_dimension) ?? lengthDefault
  // The input type changes the vector, as in the real service.
  const text = `${asString(body.input_type) ?? ''} ${input.text}`
  const vector = vectorOf(text, { dimensions: 2048, normalised: true }, length)
  const type = asString(body.output_dtype) ?? 'float'
  const asText = body.encoding_format === 'base64'
  if (type === 'float') {
    const embedding = asText ? asBase64(Float32Array.from(vector)) : asNumbers(vector)
    return { object: 'embedding', embedding, index }
  }
  const numbers = quantised(vector, type)
  return { object: 'embedding', embedding: asText ? asBase64(numbers) : Array.from(numbers), index }
}

/** A vector in the narrow number types; the binary ones pack eight signs into a byte. */
function quantised(vector: Float64Array, type: string): Int8Array | Uint8Array {
  const signed = type === 'int8' || type === 'binary'
  const offset = signed ? 128 : 0
  const bytes = type.endsWith('binary')
    ? Array.from({ length: vector.length / 8 }, (_none, place) => packedSigns(vector, place * 8))
    : Array.from(vector, (value) => Math.round(Math.min(1, Math.max(-1, value)) * 127) + 128)
  const shifted = bytes.map((byte) => byte - offset)
  return signed ? Int8Array.from(shifted) : Uint8Array.from(shifted)
}

function packedSigns(vector: Float64Array, start: number): number {
  let byte = 0
  for (let bit = 0; bit < 8; bit++) byte = (byte << 1) | ((vector[start + bit] ?? 0) > 0 ? 1 : 0)
  return byte
}
