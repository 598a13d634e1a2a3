// Simulates Amazon Bedrock: Claude's messages by InvokeModel, other models by Converse, whole and as frames, and chat completions of the models that have
// them. Every request must be signed. It must never accept a body that names its model.

import { isFrom47, WITHOUT_SAMPLING } from '../anthropic/models'
import { anthropic } from '../anthropic/simulator'
import { asArray, asObject, asString, type JsonObject, parseJson } from '../json'
import { createLookalike } from '../openai/lookalike'
import { hexId, jsonReply, retryAfterHeader } from '../replies'
import type { EventFrame, Reply, Simulator, VendorRequest } from '../simulator'
import { claudeNames, conversation, converseNames } from './converse'
import { eventFrame, exceptionFrame } from './frames'
import { findSchemaFault } from './schema-faults'
import { type Credentials, signatureFault } from './signature'

const credentials: Credentials = {
  accessKeyId: 'ASIASANDBOX00000001',
  secretAccessKey: 'sandbox/secret+access/key0000000000000001',
  sessionToken: 'sandbox//session+token==',
}
/** The older version. Anthropic's SDKs send 2026-10-21 since bedrock-sdk 1.1 and vertex-sdk 1.1. */
const VERSION = 'bedrock-2023-05-31'
const INVOKE = /^\/model\/([^/]+)\/invoke(-with-response-stream)?$/
const CONVERSE = /^\/model\/([^/]+)\/converse(-stream)?$/

const chat = createLookalike({
  secret: null,
  basePath: '',
  chatPath: '/openai/v1/chat/completions',
  models: ['openai.gpt-oss-120b-1:0'],
  error: ({ message, type = 'invalid_request_error' }) => ({ error: { message, type } }),
  unauthorized: { status: 401, message: 'Unauthorized' },
  missingModel: () => ({ status: 404, message: 'The model does not exist.' }),
  outOfQuota: { status: 429, message: 'Too many tokens per day, please wait before trying again.' },
})

export const bedrock: Simulator = {
  secret: Object.values(credentials).join(':'),
  basePath: '',
  standIns: [
    ['/openai/v1/chat', 'openai.gpt-oss-120b-1:0'],
    ['/converse', 'amazon.nova-lite-v1:0'],
    ['/model/', 'anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ],
  knows: (model) => claudeNames.test(model) || converseNames.test(model) || chat.knows(model),

  refuse(request) {
    const fault = signatureFault({ ...request, path: `/bedrock${request.path}` }, credentials)
    return fault === undefined ? undefined : refusal(403, 'UnrecognizedClientException', fault)
  },

  fail(_request, { status, text, retryAfterSeconds: wait }) {
    const type =
      status === 429
        ? 'ThrottlingException'
        : status >= 500
          ? 'InternalServerException'
          : 'ValidationException'
    const usual =
      status === 429 ? 'Too many requests, please wait before trying again.' : 'The request failed.'
    return refusal(status, type, text ?? usual, retryAfterHeader(wait))
  },

  outOfQuota: () =>
    refusal(403, 'AccessDeniedException', 'Your account is not authorized to invoke this API operation.'),

  answer(request) {
    if (request.path.startsWith('/openai/')) return chat.answer(request)
    const [, spoken, isStream] = request.method === 'POST' ? (CONVERSE.exec(request.path) ?? []) : []
    if (spoken !== undefined) return converse(request, decodeURIComponent(spoken), isStream !== undefined)
    const [, id, streamed] = INVOKE.exec(request.path) ?? []
    if (id === undefined || request.method !== 'POST')
      return refusal(404, 'UnknownOperationException', 'Not Found')
    return invoke(request, decodeURIComponent(id), streamed !== undefined)
  },
}

function converse(request: VendorRequest, id: string, isStreamed: boolean): Reply {
  const reply = conversation(request, id, isStreamed)
  if (typeof reply === 'string') return refusal(400, 'ValidationException', reply)
  return { ...framed(reply), headers: { 'x-amzn-requestid': crypto.randomUUID() } }
}

async function invoke(request: VendorRequest, id: string, isStreamed: boolean): Promise<Reply> {
  const model = claudeNames.exec(id)?.[1]
  if (model === undefined) {
    return refusal(400, 'ValidationException', 'The provided model identifier is invalid.')
  }
  const body = asObject(request.json)
  if (!body)
    return refusal(400, 'ValidationException', 'Malformed input request, please reformat your input.')
  const { anthropic_version: version, anthropic_beta: betas, ...fields } = body
  const extra = ['model', 'stream'].find((name) => name in fields)
  if (extra !== undefined)
    return refusal(400, 'ValidationException', `${extra}: Extra inputs are not permitted`)
  const isNewest = version === WITHOUT_SAMPLING && isFrom47(model)
  if (version !== VERSION && !isNewest) {
    return refusal(400, 'ValidationException', 'anthropic_version: Field required')
  }
  const fault = findSchemaFault(model, fields)
  if (fault !== undefined) return refusal(400, 'ValidationException', fault)
  const reply = await anthropic.answer({
    ...request,
    path: '/v1/messages',
    headers: {
      'anthropic-version': isNewest ? WITHOUT_SAMPLING : '2023-06-01',
      ...(betas !== undefined && { 'anthropic-beta': (asArray(betas) ?? []).join(',') }),
    },
    json: { ...fields, model, stream: isStreamed },
  })
  if (reply.status !== 200) return inOwnWords(reply)
  return { ...framed(reply), headers: { 'x-amzn-requestid': crypto.randomUUID() } }
}

function inOwnWords({ status, body }: Reply): Reply {
  const error = body.kind === 'json' ? asObject(asObject(body.value)?.error) : undefined
  return refusal(status, 'ValidationException', asString(error?.message) ?? '')
}

/** A stream as frames: events of Converse by their names, those of messages each in a chunk. */
function framed(reply: Reply): Reply {
  if (reply.body.kind !== 'events') return reply
  const contentType = 'application/vnd.amazon.eventstream'
  return {
    ...reply,
    body: { kind: 'events', stream: { ...reply.body.stream, framing: { contentType, encode } } },
  }
}

function encode({ event: name, data }: EventFrame): Uint8Array {
  const event = asObject(parseJson(data))
  if (event?.type === 'error') {
    return exceptionFrame('internalServerException', asString(asObject(event.error)?.message) ?? 'error')
  }
  const p = 'abcdefgh'.slice(data.length % 8)
  if (event?.type === undefined && name !== undefined) return eventFrame(name, { ...event, p })
  return eventFrame('chunk', { bytes: Buffer.from(data).toString('base64'), p })
}

function refusal(status: number, type: string, message: string, headers: JsonObject = {}): Reply {
  const own = { 'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/` }
  return jsonReply(
    status,
    { message },
    { 'x-amzn-requestid': hexId(), ...own, ...(headers as Record<string, string>) },
  )
}
