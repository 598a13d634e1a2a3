// Simulates an Azure OpenAI resource: the API v1 and the older paths of deployments with their api-version, content filters in
// every chat reply. A deployment has the name of its model. It must never serve a path without its required version.

import { asObject, asObjects, isGiven, type JsonObject, parseJson, printJson } from '../json'
import { openai } from '../openai/simulator'
import { bearerToken, jsonReply, retryAfterHeader } from '../replies'
import type { EventFrame, Reply, Simulator, VendorRequest } from '../simulator'

const VERSION = /^20\d\d-\d\d-\d\d(-preview)?$/
const filtered = Object.fromEntries(
  ['hate', 'self_harm', 'sexual', 'violence'].map((harm) => [harm, { filtered: false, severity: 'safe' }]),
)

export const azure: Simulator = {
  secret: 'azure-sandbox-0001',
  basePath: '',
  standIns: openai.standIns,
  knows: openai.knows,

  refuse(request) {
    const key = request.headers['api-key'] ?? bearerToken(request)
    if (key === azure.secret) return undefined
    return refusal(
      401,
      '401',
      'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
    )
  },

  fail(_request, failure) {
    const { status, retryAfterSeconds: wait } = failure
    const usual =
      status === 429
        ? `Requests have exceeded the token rate limit of your current pricing tier. Please retry after ${wait ?? 10} seconds.`
        : 'The server had an error processing your request.'
    const reply = refusal(status, failure.code ?? String(status), failure.text ?? usual)
    return { ...reply, headers: { ...reply.headers, ...retryAfterHeader(wait) } }
  },

  outOfQuota: (request) => openai.outOfQuota(request),

  async answer(request) {
    const read = readPath(request)
    if (!read) return refusal(404, '404', 'Resource not found')
    const fault = isChat(read) || isResponse(read) ? effortFault(asObject(read.json) ?? {}) : undefined
    if (fault !== undefined) return refusal(400, 'unsupported_parameter', fault)
    const reply = await openai.answer(read)
    if (reply.status === 404 && read.path !== request.path) return deploymentMissing()
    return isChat(read) ? withFilters(reply) : reply
  },
}

/** The request in OpenAI's own form; undefined for an unknown path. */
function readPath(request: VendorRequest): VendorRequest | undefined {
  const { path, query } = request
  const v1 = /^\/openai(\/v1\/.+)$/.exec(path)?.[1]
  const version = query.get('api-version')
  // The v1 API accepts its own name as the version, or none.
  if (v1 !== undefined)
    return version === null || version === 'preview' ? { ...request, path: v1 } : undefined
  if (version === null || !VERSION.test(version)) return undefined
  const [, deployment, rest] = /^\/openai\/deployments\/([^/]+)(\/.+)$/.exec(path) ?? []
  if (deployment === undefined) {
    const whole = /^\/openai(\/(?:responses|models).*)$/.exec(path)?.[1]
    return whole === undefined ? undefined : { ...request, path: `/v1${whole}` }
  }
  const model = decodeURIComponent(deployment)
  return {
    ...request,
    path: `/v1${rest}`,
    json: request.json === undefined ? undefined : { ...asObject(request.json), model },
    form: request.form && [...request.form.filter(([name]) => name !== 'model'), ['model', model] as const],
  }
}

function isChat({ path }: VendorRequest): boolean {
  return path === '/v1/chat/completions'
}

function isResponse({ path }: VendorRequest): boolean {
  return path === '/v1/responses'
}

/** By a footnote of https://learn.microsoft.com/en-us/azure/foundry/openai/how-to/reasoning; the vendor's words are not on record. */
function effortFault(body: JsonObject): string | undefined {
  const effort = body.reasoning_effort ?? asObject(body.reasoning)?.effort
  return effort === 'minimal' && isGiven(body.parallel_tool_calls)
    ? "Unsupported parameter: 'parallel_tool_calls' is not supported when 'reasoning_effort' is set to 'minimal'."
    : undefined
}

function deploymentMissing(): Reply {
  return refusal(
    404,
    'DeploymentNotFound',
    'The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.',
  )
}

function refusal(status: number, code: string, message: string): Reply {
  return jsonReply(status, { error: { code, message } }, { 'apim-request-id': crypto.randomUUID() })
}

/** A chat completion with the results of the filters; a stream begins with the results for the prompt, without a choice. */
function withFilters(reply: Reply): Reply {
  const { body } = reply
  if (reply.status !== 200) return reply
  if (body.kind === 'events') {
    const first = { choices: [], created: 0, id: '', model: '', object: '', ...promptFilters() }
    const frames = withFirst({ data: printJson(first) }, body.stream.frames)
    return { ...reply, body: { kind: 'events', stream: { ...body.stream, frames } } }
  }
  if (body.kind !== 'json') return reply
  const value = asObject(body.value) ?? {}
  const choices = asObjects(value.choices).map((choice) => ({ ...choice, content_filter_results: filtered }))
  return { ...reply, body: { kind: 'json', value: { ...value, choices, ...promptFilters() } } }
}

function promptFilters(): JsonObject {
  return { prompt_filter_results: [{ prompt_index: 0, content_filter_results: filtered }] }
}

function* withFirst(first: EventFrame, frames: Iterable<EventFrame>): Generator<EventFrame> {
  yield first
  for (const frame of frames) {
    const chunk = asObject(parseJson(frame.data))
    const choices = chunk && asObjects(chunk.choices)
    if (!choices?.length) yield frame
    else {
      const marked = choices.map((choice) => ({ ...choice, content_filter_results: {} }))
      yield { ...frame, data: printJson({ ...chunk, choices: marked }) }
    }
  }
}
