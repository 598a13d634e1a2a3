// Simulates fal's queue: a submit that accepts anything, a state, and a result at another address, which also has the model's own
// refusals. It must never check a request before its turn: the real queue does not.

import { asArray, asObject, asString, isGiven, type JsonObject } from '../json'
import { jsonReply, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { cancel, type JobState, jobId, newJob, stateOf, VIDEO_FILE } from '../video-jobs'

interface Endpoint {
  /** The values of `duration`; empty for an endpoint without it. */
  durations: readonly unknown[]
  resolutions?: readonly string[]
  /** Required fields of the endpoint. */
  needs: readonly string[]
  /** True if its result states the duration of the video: `VideoFile` of @fal-ai/client, and not `File`. */
  hasLength?: true
}

const texts = (min: number, max: number, unit = '') =>
  Array.from({ length: max - min + 1 }, (_, index) => `${min + index}${unit}`)
const numbers = (min: number, max: number) => texts(min, max).map(Number)
const kling4 = { durations: texts(3, 30), resolutions: ['720p', '1080p'] }
const luma = { durations: ['5s', '10s'], resolutions: ['540p', '720p', '1080p'] }
const seedance = { durations: [...texts(4, 15), 'auto'], resolutions: ['480p', '720p', '1080p', '4k'] }
const h3 = { durations: numbers(5, 15), resolutions: ['480p', '768p'] }
const wan = { durations: texts(2, 15), resolutions: ['720p', '1080p'], hasLength: true } as const

/** Endpoints by their names, with the fields of @fal-ai/client 1.10 and of their llms.txt. */
const endpoints = new Map<string, Endpoint>([
  ['kling/v4/text-to-video', { ...kling4, needs: ['prompt'] }],
  ['kling/v4/image-to-video', { ...kling4, needs: ['start_image_url'] }],
  ['fal-ai/kling-video/o3/4k/image-to-video', { durations: texts(3, 15), needs: ['image_url'] }],
  ['fal-ai/kling-video/o3/pro/reference-to-video', { durations: texts(3, 15), needs: ['prompt'] }],
  ['fal-ai/kling-video/o3/pro/video-to-video/edit', { durations: [], needs: ['prompt', 'video_url'] }],
  ['luma/agent/ray/v3.2/text-to-video', { ...luma, needs: ['prompt'] }],
  ['bytedance/seedance-2.0/text-to-video', { ...seedance, needs: ['prompt'] }],
  ['bytedance/seedance-2.0/image-to-video', { ...seedance, needs: ['prompt', 'image_url'] }],
  ['minimax/h3-max/text-to-video', { ...h3, needs: ['prompt'] }],
  ['fal-ai/wan/v2.7/text-to-video', { ...wan, needs: ['prompt'] }],
  ['fal-ai/wan/v2.7/reference-to-video', { ...wan, needs: ['prompt', 'reference_image_urls'] }],
  ['fal-ai/wan/v2.7/edit-video', { ...wan, durations: [], needs: ['prompt', 'video_url'] }],
])

/** Accepts all fields of other endpoints, in place of those that are not simulated. */
const ANY = 'sandbox/any/video'
endpoints.set(ANY, { durations: [], needs: [], hasLength: true })

const PREFIX = 'fal-'
const SECONDS = 5
const CHOSEN_SECONDS = 9

export const fal: Simulator = {
  secret: 'fal-sandbox-0001:secret',
  basePath: '',
  standIns: [['/', ANY]],
  modelOf: ({ method, path }) => (method === 'POST' ? path.slice(1) : undefined),
  knows: (model) => endpoints.has(model),

  refuse(request) {
    if (request.headers.authorization === `Key ${fal.secret}`) return undefined
    return refusal(401, 'Cannot access application. Authentication is required to access this application.')
  },

  fail(_request, { status, text, code, retryAfterSeconds }) {
    const headers = retryAfterHeader(retryAfterSeconds)
    const words = text ?? (status === 429 ? 'Too many requests' : 'The request failed.')
    const isModels = status >= 400 && status < 500 && status !== 429 && status !== 401
    const error = { loc: ['body', 'prompt'], msg: words, type: code ?? 'value_error' }
    const detail = isModels ? [error] : words
    return jsonReply(status, { detail, ...(!isModels && code && { error_type: code }) }, headers)
  },

  outOfQuota: () =>
    refusal(
      403,
      'User is locked. Reason: Exhausted balance. Top up your balance at fal.ai/dashboard/billing.',
    ),

  answer(request) {
    const [, app, id, what = ''] = /^\/(.+)\/requests\/([^/]+)(\/status|\/cancel)?$/.exec(request.path) ?? []
    if (app !== undefined && id !== undefined) return follow(request, app, id, what)
    const name = request.path.slice(1)
    const endpoint = endpoints.get(name)
    if (!endpoint) return refusal(404, `Application '${name.split('/')[1] ?? name}' not found`)
    if (request.method !== 'POST') return refusal(405, 'Method Not Allowed')
    const body = asObject(request.json)
    if (!body) return jsonReply(422, { detail: [detailOf([], 'Invalid JSON', 'json_invalid')] })
    return submit(request, name, endpoint, body)
  },

  file: (path) => (path.endsWith('.mp4') ? VIDEO_FILE : undefined),
}

function submit(request: VendorRequest, name: string, endpoint: Endpoint, body: JsonObject): Reply {
  const fault = faultOf(endpoint, body)
  const requested = body.duration
  const seconds =
    requested === 'auto' || (endpoint.durations.length === 0 && !isGiven(requested))
      ? CHOSEN_SECONDS
      : Number.parseInt(String(requested ?? SECONDS), 10)
  const { directives } = request
  const job = newJob(
    {
      seconds,
      model: name,
      echo: { hasLength: endpoint.hasLength === true, seed: body.seed, ...(fault && { detail: [fault] }) },
    },
    fault ? { ...directives, task: { ...directives.task, end: 'failed' } } : directives,
    { code: 'runner_disconnected', message: 'The runner disconnected.' },
  )
  const id = jobId(PREFIX, job)
  return jsonReply(200, { status: 'IN_QUEUE', queue_position: 0, ...addressesOf(request, appOf(name), id) })
}

function faultOf({ needs, durations, resolutions }: Endpoint, body: JsonObject): JsonObject | undefined {
  const missing = needs.find((field) => !isGiven(body[field]) && !isGiven(body.multi_prompt))
  if (missing !== undefined) return detailOf([missing], 'Field required', 'missing')
  const words: [field: string, values: readonly unknown[] | undefined][] = [
    ['duration', durations.length > 0 ? durations : undefined],
    ['resolution', resolutions],
  ]
  for (const [field, values] of words) {
    if (!values || !isGiven(body[field]) || values.includes(body[field])) continue
    const list = values.map((value) => `'${value}'`).join(', ')
    return detailOf([field], `Input should be ${list}`, 'literal_error')
  }
  for (const field of ['image_url', 'start_image_url', 'end_image_url', 'video_url']) {
    if (isGiven(body[field]) && !/^(https?:|data:)/.test(asString(body[field]) ?? ''))
      return detailOf([field], 'Failed to download the file.', 'file_download_error')
  }
  const references = asArray(body.reference_image_urls) ?? []
  return references.length > 5 ? detailOf(['reference_image_urls'], 'Too many', 'too_long') : undefined
}

function detailOf(field: readonly string[], message: string, type: string): JsonObject {
  return { loc: ['body', ...field], msg: message, type }
}

function addressesOf({ filesUrl }: VendorRequest, app: string, id: string): JsonObject {
  const address = `${filesUrl.replace(/\/files$/, '')}/${app}/requests/${id}`
  return {
    request_id: id,
    response_url: address,
    status_url: `${address}/status`,
    cancel_url: `${address}/cancel`,
  }
}

function appOf(name: string): string {
  return name.split('/').slice(0, 2).join('/')
}

function follow(request: VendorRequest, app: string, id: string, what: string): Reply {
  const state = stateOf(PREFIX, id, Date.now())
  const isOthers = state && state.job.model !== ANY && appOf(state.job.model) !== app
  if (!state || state.phase === 'forgotten' || isOthers)
    return what === '/cancel' ? jsonReply(404, { status: 'NOT_FOUND' }) : refusal(404, 'Request not found')
  if (state.pollStatus !== undefined) return refusal(state.pollStatus, 'Internal server error')
  if (what === '/cancel') return stop(request, id, state)
  if (request.method !== 'GET') return refusal(405, 'Method Not Allowed')
  return what === '/status' ? stateReply(request, app, id, state) : resultReply(request, id, state)
}

function stop({ method }: VendorRequest, id: string, state: JobState): Reply {
  if (method !== 'PUT') return refusal(405, 'Method Not Allowed')
  if (cancel(id, state)) return jsonReply(200, { status: 'OK' })
  if (state.phase === 'running') return jsonReply(202, { status: 'CANCELLATION_REQUESTED' })
  return jsonReply(400, { status: 'ALREADY_COMPLETED' })
}

function stateReply(request: VendorRequest, app: string, id: string, { job, phase }: JobState): Reply {
  const addresses = addressesOf(request, app, id)
  if (phase === 'queued') return jsonReply(202, { status: 'IN_QUEUE', queue_position: 2, ...addresses })
  if (phase === 'running') return jsonReply(202, { status: 'IN_PROGRESS', logs: [], ...addresses })
  const isBroken = (phase === 'failed' || phase === 'canceled') && !job.echo.detail
  return jsonReply(200, {
    status: 'COMPLETED',
    logs: [],
    metrics: { inference_time: 12.5 },
    ...(isBroken && { error: job.message, error_type: job.code }),
    ...addresses,
  })
}

function resultReply(request: VendorRequest, id: string, { job, phase }: JobState): Reply {
  if (phase === 'queued' || phase === 'running') return refusal(400, 'Request is still in progress')
  if (phase === 'expired') return refusal(404, 'Request not found')
  if (phase === 'blocked') {
    const message = 'The content could not be processed because it contained material flagged by a checker.'
    return jsonReply(422, { detail: [detailOf(['prompt'], message, 'content_policy_violation')] })
  }
  if (job.echo.detail) return jsonReply(422, { detail: job.echo.detail })
  if (phase !== 'succeeded') return jsonReply(503, { detail: job.message, error_type: job.code })
  return jsonReply(200, {
    video: {
      url: `${request.filesUrl}/${id.slice(0, 12)}.mp4`,
      content_type: VIDEO_FILE.contentType,
      file_name: 'output.mp4',
      file_size: VIDEO_FILE.bytes.length,
      ...(job.echo.hasLength === true && { duration: job.seconds, fps: 24 }),
    },
    ...(isGiven(job.echo.seed) && { seed: job.echo.seed }),
  })
}

function refusal(status: number, detail: string): Reply {
  return jsonReply(status, { detail })
}
