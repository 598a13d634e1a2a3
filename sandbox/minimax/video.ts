// Simulates MiniMax' videos: those of H3 over version 2 of the API, which checks a request at once, and those of Hailuo over
// version 1, whose errors have the HTTP status 200 and whose file has an address of its own. It must never charge for a video that
// it did not make.

import { asArray, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { cancel, type JobState, jobId, newJob, stateOf, VIDEO_FILE } from '../video-jobs'

const PREFIX = 'mmv-'
const INVALID = 2013
const SENSITIVE = 1027
/** Seconds of each reference video. */
const INPUT_SECONDS = 4

interface Hailuo {
  /** Seconds by resolution. */
  made: Readonly<Record<string, readonly number[]>>
  needsFrame?: true
  takesLast?: true
}
const hailuos: Readonly<Record<string, Hailuo>> = {
  'MiniMax-Hailuo-2.3': { made: { '768P': [6, 10], '1080P': [6] } },
  'MiniMax-Hailuo-2.3-Fast': { made: { '768P': [6, 10], '1080P': [6] }, needsFrame: true },
  'MiniMax-Hailuo-02': { made: { '512P': [6, 10], '768P': [6, 10], '1080P': [6] }, takesLast: true },
}
const h3s: Readonly<Record<string, readonly string[]>> = {
  'MiniMax-H3': ['768P', '2K'],
  'MiniMax-H3-Max': ['480P', '768P'],
}
export const videoModels = [...Object.keys(hailuos), ...Object.keys(h3s)]

const RATIOS = ['adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16']
const H3_FIELDS = [
  'model',
  'content',
  'resolution',
  'duration',
  'ratio',
  'callback_url',
  'aigc_watermark',
  'extra',
]
const H3_SECONDS = { min: 4, max: 15, usual: 5 }
const MAX_FILES: Readonly<Record<string, number>> = {
  reference_image: 9,
  reference_video: 3,
  reference_audio: 3,
}
const MAX_TEXT_LENGTH = 7_000

/** The answer to a request about videos; undefined for any other path. */
export function video(request: VendorRequest): Reply | undefined {
  const { method, path } = request
  const [, about, id] = /^\/v2\/(query\/video_generation|video_generation)\/([^/]+)$/.exec(path) ?? []
  if (id !== undefined) return about === 'video_generation' ? remove(request, id) : h3State(request, id)
  if (path === '/v2/video_generation') return method === 'POST' ? submitH3(request) : undefined
  if (path === '/v1/video_generation') return method === 'POST' ? submitHailuo(request) : undefined
  if (path === '/v1/query/video_generation') return hailuoState(request)
  return path === '/v1/files/retrieve' ? file(request) : undefined
}

function submitH3(request: VendorRequest): Reply {
  const body = asObject(request.json)
  const fault = body ? h3Fault(body) : 'json'
  if (!body || fault !== undefined)
    return refusal(400, 'bad_request_error', `invalid params, ${fault} (${INVALID})`)
  const media = asObjects(body.content).map(({ role, type }) => asString(role) ?? asString(type) ?? '')
  const count = (...names: string[]) => media.filter((name) => names.includes(name)).length
  const job = newJob(
    {
      seconds: Number(body.duration ?? H3_SECONDS.usual),
      model: String(body.model),
      echo: {
        resolution: body.resolution,
        ratio: body.ratio ?? 'adaptive',
        inputSeconds: count('reference_video') * INPUT_SECONDS,
        images: count('first_frame', 'last_frame', 'reference_image', 'image_url'),
      },
    },
    request.directives,
    { code: '1000', message: 'internal error' },
  )
  return jsonReply(200, { task_id: jobId(PREFIX, job) })
}

function h3Fault(body: JsonObject): string | undefined {
  const unknown = Object.keys(body).find((field) => !H3_FIELDS.includes(field))
  if (unknown !== undefined) return `unknown field '${unknown}'`
  const resolutions = h3s[String(body.model)]
  if (!resolutions) return `model '${String(body.model)}' is not supported`
  if (!resolutions.includes(String(body.resolution)))
    return `resolution must be one of ${resolutions.join(', ')}`
  const { min, max, usual } = H3_SECONDS
  const seconds = body.duration ?? usual
  if (!Number.isInteger(seconds) || Number(seconds) < min || Number(seconds) > max)
    return `duration must be an integer from ${min} to ${max}`
  if (isGiven(body.ratio) && !RATIOS.includes(String(body.ratio))) return 'ratio'
  return contentFault(asObjects(body.content), body.ratio)
}

function contentFault(content: readonly JsonObject[], ratio: unknown): string | undefined {
  const texts = content.flatMap(({ type, text }) => (type === 'text' ? [asString(text) ?? ''] : []))
  if (!texts.some((text) => text.trim() !== ''))
    return 'content must include a non-empty text item (prompt is required)'
  if (texts.some((text) => text.length > MAX_TEXT_LENGTH)) return 'text is too long'
  const media = content.filter(({ type }) => type !== 'text')
  for (const item of media) {
    const url = asString(asObject(item[String(item.type)])?.url) ?? ''
    if (!/^(https?:|data:|mm_file:)/.test(url)) return `${String(item.type)}.url is invalid`
  }
  const roles = media.map(({ role, type }) => asString(role) ?? (type === 'image_url' ? 'first_frame' : ''))
  const isFrame = (role: string) => role === 'first_frame' || role === 'last_frame'
  if (roles.some((role) => !isFrame(role) && MAX_FILES[role] === undefined)) return 'role'
  if (roles.some(isFrame) && !roles.every(isFrame)) return 'frames and references cannot be used together'
  if (new Set(roles.filter(isFrame)).size < roles.filter(isFrame).length)
    return 'one first and one last frame'
  for (const [role, most] of Object.entries(MAX_FILES))
    if (roles.filter((each) => each === role).length > most) return `too many items of ${role}`
  if (roles.length > 0 && roles.every((role) => role === 'reference_audio'))
    return 'audio needs an image or a video'
  return roles.length === 0 && (!isGiven(ratio) || ratio === 'adaptive') ? 'ratio is required' : undefined
}

function h3State(request: VendorRequest, id: string): Reply {
  const state = stateOf(PREFIX, id, Date.now())
  if (!state || state.phase === 'forgotten' || !h3s[state.job.model])
    return refusal(400, 'bad_request_error', `invalid params, invalid task_id (${INVALID})`)
  if (state.pollStatus !== undefined)
    return refusal(state.pollStatus, 'server_error', 'internal error (1000)')
  const { job } = state
  const status = h3Status(state)
  const { inputSeconds, images, resolution, ratio } = job.echo as Record<string, number | string>
  const usage = {
    total_seconds: job.seconds + Number(inputSeconds),
    input_seconds: inputSeconds,
    output_seconds: job.seconds,
    input_image_count: images,
  }
  const at = Math.floor(job.startedAt / 1000)
  const task = { id, model: job.model, status, created_at: at, updated_at: at + 1, resolution, ratio }
  const facts = { duration: job.seconds, task_type: 'generation', modality: 'video' }
  if (status === 'succeeded')
    return jsonReply(200, { task: { ...task, ...facts, content: { url: addressOf(request, id) }, usage } })
  return jsonReply(200, {
    task: { ...task, ...facts, ...(status === 'failed' && { error: errorOf(state) }) },
  })
}

function h3Status({ phase }: JobState): string {
  if (phase === 'blocked') return 'failed'
  return phase === 'canceled' ? 'cancelled' : phase
}

function errorOf({ job, phase }: JobState): JsonObject {
  if (phase === 'blocked')
    return { code: String(SENSITIVE), message: 'the generated video contains sensitive content' }
  return { code: job.code, message: job.message }
}

function remove({ method }: VendorRequest, id: string): Reply {
  const state = stateOf(PREFIX, id, Date.now())
  if (method !== 'DELETE' || !state)
    return refusal(400, 'bad_request_error', `invalid params, task_id (${INVALID})`)
  if (cancel(id, state)) return jsonReply(200, { task_id: id, status: 'cancelled' })
  if (state.phase === 'running' || state.phase === 'canceled')
    return refusal(400, 'bad_request_error', `invalid params, the task is ${state.phase} (${INVALID})`)
  return jsonReply(200, { task_id: id, status: 'deleted' })
}

function submitHailuo(request: VendorRequest): Reply {
  const body = asObject(request.json)
  const fault = body ? hailuoFault(body) : 'json'
  if (!body || fault !== undefined) return verdict({}, INVALID, `invalid params, ${fault}`)
  const job = newJob(
    { seconds: Number(body.duration), model: String(body.model), echo: {} },
    request.directives,
    { code: '1000', message: 'unknown error' },
  )
  return verdict({ task_id: jobId(PREFIX, job) })
}

const HAILUO_FIELDS = [
  'model',
  'prompt',
  'first_frame_image',
  'last_frame_image',
  'subject_reference',
  'duration',
  'resolution',
  'prompt_optimizer',
  'fast_pretreatment',
  'callback_url',
  'aigc_watermark',
]

function hailuoFault(body: JsonObject): string | undefined {
  const unknown = Object.keys(body).find((field) => !HAILUO_FIELDS.includes(field))
  if (unknown !== undefined) return `unknown field '${unknown}'`
  const model = hailuos[String(body.model)]
  if (!model) return `unknown model '${String(body.model)}'`
  const seconds = model.made[String(body.resolution)]
  if (!seconds?.includes(Number(body.duration)))
    return `model ${String(body.model)} does not support the resolution ${body.resolution} with ${body.duration}s`
  if (model.needsFrame && !isGiven(body.first_frame_image)) return 'first_frame_image is required'
  if (isGiven(body.last_frame_image) && !model.takesLast) return 'last_frame_image is not supported'
  if (isGiven(asArray(body.subject_reference))) return 'subject_reference is not supported'
  return isGiven(body.prompt) || isGiven(body.first_frame_image) ? undefined : 'prompt is required'
}

const STATUSES: Readonly<Record<string, string>> = {
  queued: 'Queueing',
  running: 'Processing',
  succeeded: 'Success',
}

function hailuoState({ query }: VendorRequest): Reply {
  const id = query.get('task_id') ?? ''
  const state = stateOf(PREFIX, id, Date.now())
  if (!state || state.phase === 'forgotten' || !hailuos[state.job.model])
    return verdict({}, INVALID, 'invalid params, task_id')
  if (state.pollStatus !== undefined)
    return { ...verdict({}, 1000, 'unknown error'), status: state.pollStatus }
  const { job, phase } = state
  const status = STATUSES[phase] ?? 'Fail'
  if (phase === 'blocked')
    return verdict({ task_id: id, status }, SENSITIVE, 'video contains sensitive content')
  if (status === 'Fail') return verdict({ task_id: id, status }, Number(job.code) || 1000, job.message)
  const made = { file_id: `9${id.slice(PREFIX.length)}`, video_width: 1366, video_height: 768 }
  return verdict({ task_id: id, status, ...(status === 'Success' ? made : { file_id: '' }) })
}

function file(request: VendorRequest): Reply {
  const id = `${PREFIX}${(request.query.get('file_id') ?? '').slice(1)}`
  const state = stateOf(PREFIX, id, Date.now())
  if (state?.phase !== 'succeeded') return verdict({}, INVALID, 'invalid params, file_id')
  return verdict({
    file: {
      file_id: request.query.get('file_id'),
      bytes: VIDEO_FILE.bytes.length,
      created_at: Math.floor(state.job.startedAt / 1000),
      filename: 'output_aigc.mp4',
      purpose: 'video_generation',
      download_url: addressOf(request, id),
    },
  })
}

function addressOf({ filesUrl }: VendorRequest, id: string): string {
  return `${filesUrl}/${id.slice(0, 12)}.mp4`
}

function verdict(members: JsonObject, code = 0, message = 'success'): Reply {
  return jsonReply(200, { ...members, base_resp: { status_code: code, status_msg: message } })
}

function refusal(status: number, type: string, message: string): Reply {
  const error = { type, message, http_code: String(status) }
  return jsonReply(status, { type: 'error', error, request_id: '021785229015510a2c883cf675b9804d' })
}
