// Simulates the videos of Google's Interactions API: interactions that run in the background, with usage by kind of token, and
// files that only the key opens. It must never show a video too early, or accept fields that the API does not have.

import { asArray, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { countTokens } from '../pieces'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { cancel, type JobState, jobId, newJob, stateOf, VIDEO_FILE } from '../video-jobs'
import { googleError, googleHeaders } from './errors'

/** The minimum and maximum seconds of a model. */
const models: Readonly<Record<string, readonly [number, number]>> = {
  'gemini-omni-1.2-flash': [3, 15],
  'gemini-omni-1.1-flash': [3, 10],
}
export const videoModels = Object.keys(models)

const PREFIX = 'v1_'
const TOKENS_A_SECOND: Readonly<Record<string, number>> = {
  '360p': 1_931,
  '720p': 5_792,
  '1080p': 8_688,
  '4k': 17_376,
}
const PICTURE_TOKENS = 1_120
const INPUT_SECONDS = 4
const THOUGHTS = 169
const FORMAT_FIELDS = ['type', 'aspect_ratio', 'delivery', 'duration', 'gcs_uri', 'resolution']
const TASKS = ['text_to_video', 'image_to_video', 'reference_to_video', 'edit', 'extend', 'upscale']

/** The answer to a request for a video. */
export function interactVideo(request: VendorRequest, body: JsonObject): Reply {
  const format = asObject((asArray(body.response_format) ?? [body.response_format])[0]) ?? {}
  const fault = faultOf(body, format)
  if (fault !== undefined) return googleError(request, 400, fault)
  const parts = typeof body.input === 'string' ? [{ type: 'text', text: body.input }] : asObjects(body.input)
  const count = (kind: string) => parts.filter(({ type }) => type === kind).length
  const videos = count('video') + (isGiven(body.previous_interaction_id) ? 1 : 0)
  const isEdit = videos > 0 && !isGiven(format.duration)
  const seconds = isEdit ? INPUT_SECONDS : Number.parseInt(asString(format.duration) ?? '8', 10)
  const each = TOKENS_A_SECOND[String(format.resolution ?? '720p')] ?? 0
  const words = parts.reduce((sum, { text }) => sum + countTokens(asString(text) ?? ''), 0)
  const input = words + count('image') * PICTURE_TOKENS + videos * INPUT_SECONDS * each
  const job = newJob(
    { seconds, model: String(body.model), echo: { input, video: seconds * each } },
    request.directives,
    {
      code: 'internal',
      message: 'The video could not be generated.',
    },
  )
  return jsonReply(200, shown(request, jobId(PREFIX, job)), googleHeaders)
}

function faultOf(body: JsonObject, format: JsonObject): string | undefined {
  const [min, max] = models[String(body.model)] ?? [0, 0]
  const odd = Object.keys(format).find((field) => !FORMAT_FIELDS.includes(field))
  if (odd !== undefined) return `Unknown parameter 'response_format.${odd}'.`
  if (format.type !== 'video') return "Invalid value for 'response_format.type'."
  if (format.delivery === 'uri' && body.store === false) return "'delivery' of 'uri' requires 'store'."
  if (isGiven(format.resolution) && !TOKENS_A_SECOND[String(format.resolution)]) return 'Invalid resolution.'
  if (isGiven(format.aspect_ratio) && !['16:9', '9:16'].includes(String(format.aspect_ratio)))
    return `Invalid aspect_ratio: ${format.aspect_ratio}.`
  const seconds = /^(\d+)s$/.exec(asString(format.duration) ?? `${min}s`)?.[1]
  if (seconds === undefined || Number(seconds) < min || Number(seconds) > max)
    return `Invalid input: 'response_format.duration' must be from ${min}s to ${max}s.`
  const task = asObject(asObject(body.generation_config)?.video_config)?.task
  if (isGiven(task) && !TASKS.includes(String(task))) return `Invalid task: ${task}.`
  return isGiven(body.input) ? undefined : 'The input of an interaction must not be empty.'
}

/** The answer to a request about a video; undefined for any other path. */
export function followVideo(request: VendorRequest): Reply | undefined {
  const { method, path } = request
  const [, file] = /^\/v1beta\/files\/([^/:]+):download$/.exec(path) ?? []
  if (file !== undefined && method === 'GET')
    return { status: 200, headers: googleHeaders, body: { kind: 'bytes', ...VIDEO_FILE } }
  const [, id, action] = /^\/v1beta\/interactions\/([^/]+)(\/cancel)?$/.exec(path) ?? []
  const state = id === undefined ? undefined : stateOf(PREFIX, id, Date.now())
  if (id === undefined) return undefined
  if (!state || state.phase === 'forgotten') return googleError(request, 400, 'Invalid interaction name.')
  if (state.pollStatus !== undefined) return googleError(request, state.pollStatus, 'Internal error.')
  if (action !== undefined) cancel(id, state)
  return jsonReply(200, shown(request, id), googleHeaders)
}

const STATUSES: Readonly<Record<string, string>> = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  blocked: 'completed',
  canceled: 'cancelled',
  expired: 'incomplete',
}

function shown(request: VendorRequest, id: string): JsonObject {
  const state = stateOf(PREFIX, id, Date.now()) as JobState
  const { job, phase } = state
  const at = new Date(job.startedAt).toISOString()
  const status = STATUSES[phase] ?? 'failed'
  const interaction = { id, object: 'interaction', model: job.model, status, created: at, updated: at }
  if (status === 'failed') return { ...interaction, errors: [{ code: job.code, message: job.message }] }
  if (status !== 'completed') return interaction
  const isShown = phase === 'succeeded'
  const address = `${request.filesUrl.replace(/\/files$/, '')}/v1beta/files/${id.slice(0, 11)}:download?alt=media`
  const words = [{ type: 'text', text: isShown ? 'Here is your video.' : 'I cannot make this video.' }]
  const video = [{ type: 'video', mime_type: VIDEO_FILE.contentType, uri: address }]
  const { input, video: made } = job.echo as { input: number; video: number }
  return {
    ...interaction,
    steps: [
      { type: 'thought', signature: Buffer.from('signed by the sandbox').toString('base64') },
      { type: 'model_output', content: isShown ? [...words, ...video] : words },
    ],
    usage: usageOf(input, isShown ? made : 0),
  }
}

/** Usage as in recorded replies: texts are in the totals only, and thoughts are not part of the output. */
function usageOf(input: number, made: number): JsonObject {
  const texts = 5
  return {
    total_tokens: input + made + texts + THOUGHTS,
    total_input_tokens: input,
    input_tokens_by_modality: [{ modality: 'text', tokens: input }],
    total_cached_tokens: 0,
    total_output_tokens: made + texts,
    ...(made > 0 && { output_tokens_by_modality: [{ modality: 'video', tokens: made }] }),
    total_tool_use_tokens: 0,
    total_thought_tokens: THOUGHTS,
  }
}
