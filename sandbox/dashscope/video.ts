// Simulates DashScope's asynchronous videos: a submit that hardly checks anything, and tasks that report later. It must
// never refuse a bad field at submit: the real service accepts it and fails the task.

import { asArray, asNumber, asObject, asObjects, asString, type JsonObject } from '../json'
import { hexId, jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { cancel, type JobState, jobId, newJob, stateOf, VIDEO_FILE } from '../video-jobs'

const VIDEO_PATH = '/api/v1/services/aigc/video-generation/video-synthesis'
const TASKS = '/api/v1/tasks/'
const PREFIX = 'ds-'
export const videoNames = /^(wan|happyhorse)/
const DEFAULT_SECONDS = 5
/** Seconds for a duration of -1. */
const CHOSEN_SECONDS = 12
/** Seconds of each input video, and the maximum that is billed for all together. */
const INPUT_SECONDS = 5
const MAX_INPUT_SECONDS = { ofOlder: 5, ofWan3: 15 }
const VIDEO_TYPES = ['reference_video', 'first_clip', 'video']
const BEIJING_MS = 8 * 3_600_000

/** The fields of a model: size, seconds, and required ones. */
interface Kind {
  models: RegExp
  large: 'size' | 'resolution'
  seconds: readonly [min: number, max: number]
  needs: readonly string[]
  /** Types of `input.media`; undefined if the model has none. */
  media?: readonly string[]
}

const kinds: readonly Kind[] = [
  { models: /^wan2\.5.*t2v/, large: 'size', seconds: [5, 10], needs: ['prompt'] },
  { models: /^wan2\.5.*i2v/, large: 'resolution', seconds: [5, 10], needs: ['img_url'] },
  { models: /^wan2\.6-t2v/, large: 'size', seconds: [2, 15], needs: ['prompt'] },
  { models: /^wan2\.6-i2v/, large: 'resolution', seconds: [2, 15], needs: ['img_url'] },
  { models: /^wan2\.6-r2v/, large: 'size', seconds: [2, 10], needs: ['prompt', 'reference_urls'] },
  {
    models: /^wan2\.7-i2v/,
    large: 'resolution',
    seconds: [2, 15],
    needs: ['media'],
    media: ['first_frame', 'last_frame', 'driving_audio', 'first_clip'],
  },
  {
    models: /^wan2\.7-r2v/,
    large: 'resolution',
    seconds: [2, 15],
    needs: ['prompt', 'media'],
    media: ['reference_image', 'reference_video', 'first_frame'],
  },
  { models: /^wan3/, large: 'resolution', seconds: [2, 30], needs: ['prompt'] },
  {
    models: /^happyhorse.*i2v/,
    large: 'resolution',
    seconds: [3, 15],
    needs: ['media'],
    media: ['first_frame'],
  },
  {
    models: /^happyhorse.*r2v/,
    large: 'resolution',
    seconds: [3, 15],
    needs: ['prompt', 'media'],
    media: ['reference_image'],
  },
  { models: /^happyhorse/, large: 'resolution', seconds: [3, 15], needs: ['prompt'] },
  { models: /^wan/, large: 'resolution', seconds: [2, 15], needs: ['prompt'] },
]
const REFERENCES_MAX = 9
/** Lines of a picture by its larger side, as the usage counts them. */
const LINES: readonly [pixels: number, lines: number][] = [
  [600_000, 480],
  [1_400_000, 720],
  [Number.POSITIVE_INFINITY, 1080],
]
const DEFAULT_LINES = 1080
const FRAMES_A_SECOND = 30

const phases = {
  queued: 'PENDING',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  blocked: 'FAILED',
  canceled: 'CANCELED',
  expired: 'UNKNOWN',
  forgotten: 'UNKNOWN',
} as const

/** The reply to a video's submit, poll or cancel; undefined for any other path. */
export function videoReply(request: VendorRequest): Reply | undefined {
  const { method, path } = request
  if (method === 'POST' && path === VIDEO_PATH) return submit(request)
  if (!path.startsWith(TASKS)) return undefined
  const [id = '', verb] = path.slice(TASKS.length).split('/')
  const state = stateOf(PREFIX, id, Date.now())
  if (method === 'POST' && verb === 'cancel') return stop(id, state)
  return method === 'GET' && verb === undefined ? poll(request, id, state) : undefined
}

export function videoFile(path: string) {
  return path.endsWith('.mp4') ? VIDEO_FILE : undefined
}

function submit(request: VendorRequest): Reply {
  if (request.headers['x-dashscope-async'] !== 'enable') {
    return flat(403, 'AccessDenied', 'current user api does not support synchronous calls.')
  }
  const body = asObject(request.json) ?? {}
  const model = asString(body.model) ?? ''
  if (!videoNames.test(model)) return flat(404, 'ModelNotFound', 'Model can not be found.')
  const parameters = asObject(body.parameters) ?? {}
  const fault = faultOf(model, asObject(body.input) ?? {}, parameters)
  const requested = asNumber(parameters.duration) ?? DEFAULT_SECONDS
  const job = newJob(
    {
      seconds: requested === -1 ? CHOSEN_SECONDS : requested,
      model,
      echo: {
        prompt: asString(asObject(body.input)?.prompt)?.slice(0, 200) ?? '',
        lines: linesOf(model, parameters),
        ratio: asString(parameters.ratio) ?? '16:9',
        inputSeconds: inputSecondsOf(model, asObject(body.input) ?? {}),
      },
    },
    request.directives,
    { code: 'InvalidParameter', message: fault ?? 'The size is not match' },
  )
  const output = { task_status: 'PENDING', task_id: jobId(PREFIX, fault ? { ...job, end: 'failed' } : job) }
  return jsonReply(200, { output, request_id: requestId() })
}

/** Billed seconds of input: those of all videos, up to the maximum that the model reads. */
function inputSecondsOf(model: string, input: JsonObject): number {
  const media = asObjects(input.media) ?? []
  const listed = [input.reference_urls, input.reference_video_urls].flatMap((urls) => asArray(urls) ?? [])
  const count =
    media.filter(({ type }) => VIDEO_TYPES.includes(asString(type) ?? '')).length +
    listed.filter((url) => /\.(mp4|mov)$/.test(asString(url) ?? '')).length
  const most = /^wan3/.test(model) ? MAX_INPUT_SECONDS.ofWan3 : MAX_INPUT_SECONDS.ofOlder
  return Math.min(count * INPUT_SECONDS, most)
}

/** The fault that the real service finds when it starts the task. */
function faultOf(model: string, input: JsonObject, parameters: JsonObject): string | undefined {
  const { large, seconds, needs, media } = kindOf(model)
  const faults = needs.filter((field) => input[field] === undefined).map((f) => `Field required: input.${f}`)
  const types = asObjects(input.media)?.map(({ type }) => asString(type) ?? '') ?? []
  if (media && types.some((type) => !media.includes(type))) {
    faults.push(`Input should be ${listed(media)}: input.media.type`)
  }
  if (asArray(input.media) && types.length > REFERENCES_MAX) {
    faults.push(`List should have at most ${REFERENCES_MAX} items: input.media`)
  }
  const duration = asNumber(parameters.duration)
  const [min, max] = seconds
  const isChosen = duration === -1 && /^wan3/.test(model)
  if (duration !== undefined && !isChosen && (duration < min || duration > max)) {
    faults.push(`Duration should be between ${min} and ${max}`)
  }
  const resolution = asString(parameters.resolution)
  if (large === 'resolution' && resolution !== undefined && !/^(480|720|1080)P$/.test(resolution)) {
    faults.push("Input should be '1080P' or '720P': parameters.resolution")
  }
  const size = asString(parameters.size)
  if (large === 'size' && size !== undefined && !/^\d+\*\d+$/.test(size)) {
    faults.push("Invalid input format, expected format like '480*832'")
  }
  return faults.length > 0 ? faults.join(' & ') : undefined
}

function kindOf(model: string): Kind {
  return kinds.find(({ models }) => models.test(model)) as Kind
}

function listed(words: readonly string[]): string {
  const quoted = words.map((word) => `'${word}'`)
  return quoted.length < 2 ? quoted.join() : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

/** Lines of the video. A resolution that the model does not take becomes its default. */
function linesOf(model: string, parameters: JsonObject): number {
  if (kindOf(model).large === 'resolution') {
    return Number.parseInt(asString(parameters.resolution) ?? '', 10) || DEFAULT_LINES
  }
  const [width, height] = (asString(parameters.size) ?? '').split('*').map(Number)
  const pixels = (width ?? 0) * (height ?? 0)
  return (pixels > 0 && LINES.find(([most]) => pixels <= most)?.[1]) || DEFAULT_LINES
}

function poll(request: VendorRequest, id: string, state: JobState | undefined): Reply {
  if (!state)
    return jsonReply(200, { request_id: requestId(), output: { task_id: id, task_status: 'UNKNOWN' } })
  const { job, phase, pollStatus } = state
  if (pollStatus === 429)
    return flat(429, 'Throttling.RateQuota', 'Requests rate limit exceeded, please try again later.')
  if (pollStatus !== undefined) return flat(pollStatus, 'InternalError', 'An internal error has occured.')
  const output: JsonObject = { task_id: id, task_status: phases[phase] }
  if (phases[phase] !== 'UNKNOWN') output.submit_time = beijingTime(job.startedAt)
  if (phase !== 'queued' && phases[phase] !== 'UNKNOWN')
    output.scheduled_time = beijingTime(job.startedAt + 100)
  if (phases[phase] === 'FAILED') {
    Object.assign(output, {
      end_time: beijingTime(job.startedAt + job.durationMs),
      code: job.code,
      message: job.message,
    })
  }
  if (phase !== 'succeeded') return jsonReply(200, { request_id: requestId(), output })
  Object.assign(output, {
    end_time: beijingTime(job.startedAt + job.durationMs),
    orig_prompt: job.echo.prompt,
    video_url: `${request.filesUrl}/${id.slice(0, 11)}.mp4?Expires=${Math.floor(job.startedAt / 1000) + 86_400}`,
  })
  const inputSeconds = Number(job.echo.inputSeconds)
  const usage = {
    duration: inputSeconds + job.seconds,
    input_video_duration: inputSeconds,
    output_video_duration: job.seconds,
    video_count: 1,
    SR: job.echo.lines,
    ...(kindOf(job.model).large === 'resolution' && { ratio: job.echo.ratio }),
    ...(/^wan3/.test(job.model) && { fps: FRAMES_A_SECOND }),
  }
  return jsonReply(200, { request_id: requestId(), output, usage })
}

function stop(id: string, state: JobState | undefined): Reply {
  if (state && cancel(id, state)) return jsonReply(200, { request_id: requestId() })
  return flat(400, 'UnsupportedOperation', 'The task is not in PENDING status.')
}

function flat(status: number, code: string, message: string): Reply {
  return jsonReply(status, { code, message, request_id: requestId() })
}

function requestId(): string {
  return `${hexId(8)}-${hexId(4)}-${hexId(4)}-${hexId(4)}-${hexId(12)}`
}

/** Local time without a zone, as the real service writes it. */
function beijingTime(at: number): string {
  return new Date(at + BEIJING_MS).toISOString().replace('T', ' ').slice(0, 23)
}
