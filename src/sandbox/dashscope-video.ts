// Simulates DashScope's asynchronous videos: a submit that hardly checks anything, and tasks that tell later.
// Must never refuse a bad field at submit: the true service accepts it and fails the task.

import { asNumber, asObject, asString, type JsonObject } from './json'
import { hexId, jsonReply } from './replies'
import type { Reply, VendorRequest } from './simulator'
import { cancel, type JobState, jobId, newJob, stateOf, VIDEO_FILE } from './video-jobs'

export const VIDEO_PATH = '/api/v1/services/aigc/video-generation/video-synthesis'
const TASKS = '/api/v1/tasks/'
const PREFIX = 'ds-'
const names = /^(wan|happyhorse)/
const DEFAULT_SECONDS = 5
/** What -1 comes to. */
const CHOSEN_SECONDS = 12
const BEIJING_MS = 8 * 3_600_000

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

/** A video's submit, poll or cancel; undefined for any other path. */
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
  if (!names.test(model)) return flat(404, 'ModelNotFound', 'Model can not be found.')
  const parameters = asObject(body.parameters) ?? {}
  const fault = faultOf(model, asObject(body.input) ?? {}, parameters)
  const asked = asNumber(parameters.duration) ?? DEFAULT_SECONDS
  const job = newJob(
    {
      seconds: asked === -1 ? CHOSEN_SECONDS : asked,
      model,
      echo: { prompt: asString(asObject(body.input)?.prompt)?.slice(0, 200) ?? '' },
    },
    request.directives,
    { code: 'InvalidParameter', message: fault ?? 'The size is not match' },
  )
  const output = { task_status: 'PENDING', task_id: jobId(PREFIX, fault ? { ...job, end: 'failed' } : job) }
  return jsonReply(200, { output, request_id: requestId() })
}

/** What the true service finds when it begins with the task. */
function faultOf(model: string, input: JsonObject, parameters: JsonObject): string | undefined {
  const faults: string[] = []
  const isMedia = /^(wan2\.7|wan3|happyhorse)/.test(model)
  const isImage = /-(i2v|r2v)/.test(model)
  if (input.prompt === undefined && !isImage) faults.push('Field required: input.prompt')
  if (isMedia && isImage && input.media === undefined) faults.push('Field required: input.media')
  if (!isMedia && /-i2v/.test(model) && input.img_url === undefined)
    faults.push('Field required: input.img_url')
  const duration = asNumber(parameters.duration)
  if (duration !== undefined && duration !== -1 && (duration < 2 || duration > 30)) {
    faults.push('Duration should be between 2 and 15')
  }
  const resolution = asString(parameters.resolution)
  if (resolution !== undefined && !/^(480|720|1080)P$/.test(resolution)) {
    faults.push("Input should be '1080P' or '720P': parameters.resolution")
  }
  return faults.length > 0 ? faults.join(' & ') : undefined
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
  const usage = {
    duration: job.seconds,
    input_video_duration: 0,
    output_video_duration: job.seconds,
    video_count: 1,
    SR: 720,
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

/** Local time without a zone, as the true service writes it. */
function beijingTime(at: number): string {
  return new Date(at + BEIJING_MS).toISOString().replace('T', ' ').slice(0, 23)
}
