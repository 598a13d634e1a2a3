// Simulates xAI's videos: a submit that checks, and polls that may answer 202 without a body. It must never send JSON with every
// 202: clients of the real service cannot rely on it.

import { asArray, asNumber, asObject, asString, isGiven, type JsonObject } from '../json'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { jobId, newJob, stateOf, VIDEO_FILE } from '../video-jobs'

const SUBMIT = '/v1/videos/generations'
const EDIT = '/v1/videos/edits'
const TASKS = '/v1/videos/'
const PREFIX = 'gv-'
const DEFAULT_SECONDS = 8
const TICKS_PER_SECOND = 500_000_000
const TICKS_PER_PICTURE = 20_000_000
export const videoNames = /^grok-imagine-video/
const needsImage = /^grok-imagine-video-1\.5-preview/
/** The second generation: https://muapi.ai/zh/grok-imagine-video-1-5 and docs.argil.ai, 2026-11. */
const isSharp = /^grok-imagine-video-1\.5/
const REFERENCES_MAX = 7

/** The reply to a video's submit or poll; undefined for any other path. */
export function videoReply(request: VendorRequest): Reply | undefined {
  const { method, path } = request
  if (method === 'POST' && (path === SUBMIT || path === EDIT)) return submit(request)
  if (method !== 'GET' || !path.startsWith(TASKS)) return undefined
  return poll(request, path.slice(TASKS.length))
}

export function videoFile(path: string) {
  return path.endsWith('.mp4') ? VIDEO_FILE : undefined
}

function submit(request: VendorRequest): Reply {
  const body = asObject(request.json)
  if (!body) return plain(400, 'Failed to parse the JSON body.')
  const model = asString(body.model) ?? ''
  if (!videoNames.test(model))
    return coded(404, 'Some requested entity was not found', `The model ${model} does not exist.`)
  if (typeof body.image === 'string') {
    return plain(
      422,
      `Failed to deserialize the JSON body into the target type: image: invalid type: string "${body.image}", expected struct ImageUrl`,
    )
  }
  const fault = request.path === EDIT ? editFault(model, body) : faultOf(model, body)
  if (fault) return coded(400, 'Client specified an invalid argument', fault)
  const job = newJob(
    { seconds: asNumber(body.duration) ?? DEFAULT_SECONDS, model, echo: { pictures: picturesIn(body) } },
    request.directives,
    { code: 'internal_error', message: 'Video generation failed.' },
  )
  return jsonReply(200, { request_id: jobId(PREFIX, job) })
}

function picturesIn({
  image,
  last_frame: last,
  reference_images: references,
  keyframes,
}: JsonObject): number {
  const lists = [references, keyframes].flatMap((list) => asArray(list) ?? [])
  return [image, last].filter(isGiven).length + lists.length
}

function faultOf(model: string, body: JsonObject): string | undefined {
  if (needsImage.test(model) && !isGiven(body.image)) return 'An image is required for this model.'
  const references = asArray(body.reference_images)?.length ?? 0
  if (!isGiven(body.prompt) && !isGiven(body.image) && references === 0) return 'A prompt is required.'
  if (references > 0 && isGiven(body.image)) return 'image and reference_images cannot be used together.'
  if (references > REFERENCES_MAX) return `At most ${REFERENCES_MAX} reference images are allowed.`
  const duration = asNumber(body.duration)
  if (duration !== undefined && (duration < 1 || duration > 15 || !Number.isInteger(duration))) {
    return 'duration must be an integer between 1 and 15.'
  }
  const resolution = asString(body.resolution)
  const resolutions = ['480p', '720p', ...(isSharp.test(model) ? ['1080p'] : [])]
  if (resolution !== undefined && !resolutions.includes(resolution)) {
    return `Unsupported resolution: ${resolution}`
  }
  for (const field of ['seed', 'negative_prompt', 'size']) {
    if (isGiven(body[field])) return `Argument not supported: ${field}`
  }
  return undefined
}

function editFault(model: string, body: JsonObject): string | undefined {
  if (isSharp.test(model)) return 'This model does not edit videos.'
  if (!isGiven(body.prompt)) return 'A prompt is required.'
  if (asString(asObject(body.video)?.url) === undefined) return 'A video is required.'
  for (const field of ['duration', 'resolution', 'aspect_ratio']) {
    if (isGiven(body[field])) return `Argument not supported: ${field}`
  }
  return undefined
}

function poll(request: VendorRequest, id: string): Reply {
  const state = stateOf(PREFIX, id, Date.now())
  if (!state) return coded(404, 'Some requested entity was not found', `The request ${id} was not found.`)
  const { job, phase, progress, pollStatus } = state
  if (pollStatus !== undefined) return plain(pollStatus, 'Service temporarily unavailable')
  if (phase === 'queued')
    return { status: 202, headers: {}, body: { kind: 'text', text: '', contentType: 'application/json' } }
  if (phase === 'running') return jsonReply(202, { status: 'pending', progress, model: job.model })
  if (phase === 'forgotten')
    return coded(404, 'Some requested entity was not found', `The request ${id} was not found.`)
  if (phase === 'expired') return jsonReply(200, { status: 'expired' })
  if (phase === 'failed' || phase === 'canceled') {
    return jsonReply(200, { status: 'failed', error: { code: job.code, message: job.message } })
  }
  const blocked = phase === 'blocked'
  const url = blocked ? '' : `${request.filesUrl}/xai-video-${id.slice(0, 11)}.mp4`
  return jsonReply(200, {
    status: 'done',
    video: { url, duration: job.seconds, respect_moderation: !blocked },
    model: job.model,
    usage: {
      cost_in_usd_ticks: TICKS_PER_SECOND * job.seconds + TICKS_PER_PICTURE * Number(job.echo.pictures),
    },
    progress: 100,
  })
}

function coded(status: number, code: string, error: string): Reply {
  return jsonReply(status, { code, error })
}

function plain(status: number, error: string): Reply {
  return jsonReply(status, { error })
}
