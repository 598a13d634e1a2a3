// Simulates Ark's video tasks: a submit that returns only an id, and the task object for polling and deletion. It must never accept
// frames together with reference media: the real service does not.

import { asNumber, asObject, asObjects, asString, type JsonObject } from '../json'
import { picture } from '../pictures'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { cancel, type JobState, jobId, newJob, stateOf, VIDEO_FILE } from '../video-jobs'
import { errorReply, invalid, missing, unknownModel } from './errors'

const TASKS = '/api/v3/contents/generations/tasks'
const PREFIX = 'cgt-'
export const videoNames = /seedance/
const DEFAULT_SECONDS = 5
const CHOSEN_SECONDS = 9
/** Seconds of every reference video. */
const REFERENCE_SECONDS = 4
const IMAGES_MAX = 9
const FRAMES_A_SECOND = 24
const EXPIRY_SECONDS = 172_800
/** Durations of models, in seconds; other models make 2 to 12. */
const seconds: readonly [models: RegExp, min: number, max: number][] = [
  [/seedance-1-5/, 4, 12],
  [/seedance-2-0/, 4, 15],
  [/seedance-2-5/, 4, 30],
]
const drafts = /seedance-1-5/
/** Width times height by resolution, at 16:9. */
const pixels = new Map([
  ['480p', 864 * 496],
  ['720p', 1280 * 720],
  ['1080p', 1920 * 1080],
])

const phases = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  blocked: 'failed',
  canceled: 'cancelled',
  expired: 'expired',
  forgotten: 'forgotten',
} as const

/** The reply to a task's submit, poll or deletion; undefined for any other path. */
export function videoReply(request: VendorRequest): Reply | undefined {
  const { method, path } = request
  if (method === 'POST' && path === TASKS) return submit(request)
  if (!path.startsWith(`${TASKS}/`)) return undefined
  const id = path.slice(TASKS.length + 1)
  const state = stateOf(PREFIX, id, Date.now())
  if (!state || state.phase === 'forgotten') {
    return errorReply({ status: 404, code: 'ResourceNotFound', message: `The task ${id} is not found.` })
  }
  if (method === 'DELETE') return remove(id, state)
  return method === 'GET' ? poll(request, id, state) : undefined
}

export function videoFile(path: string) {
  if (/^\/cgt-[0-9a-f]{8}\.png$/.test(path)) return picture('png', 320, 180)
  return path.endsWith('.mp4') ? VIDEO_FILE : undefined
}

function submit(request: VendorRequest): Reply {
  const body = asObject(request.json) ?? {}
  const model = asString(body.model)
  if (model === undefined) return missing('model')
  if (!videoNames.test(model)) return unknownModel(model)
  const content = asObjects(body.content)
  if (!content || content.length === 0) return missing('content')
  const fault = contentFault(content)
  if (fault) return invalid('content', fault)
  const unfit = draftFault(model, body)
  if (unfit) return invalid('draft', unfit)
  const draft = asObject(content.find(({ type }) => type === 'draft_task')?.draft_task)
  const drafted = draft && stateOf(PREFIX, asString(draft.id) ?? '', Date.now())
  if (draft && drafted?.phase !== 'succeeded')
    return invalid('content', 'the draft task is not found or not done')
  const duration = drafted?.job.seconds ?? asNumber(body.duration) ?? DEFAULT_SECONDS
  const [, min, max] = seconds.find(([models]) => models.test(model)) ?? [videoNames, 2, 12]
  if (duration !== -1 && (duration < min || duration > max)) {
    return invalid('duration', 'the specified duration is not supported')
  }
  const seed = asNumber(body.seed)
  const job = newJob(
    {
      seconds: duration === -1 ? CHOSEN_SECONDS : duration,
      model,
      echo: {
        seed: seed === undefined || seed === -1 ? 58_944 : seed,
        resolution: asString(body.resolution) ?? '720p',
        ratio: asString(body.ratio) ?? '16:9',
        generate_audio: body.generate_audio !== false,
        draft: body.draft === true,
        return_last_frame: body.return_last_frame === true,
        draft_task_id: draft ? draft.id : null,
        execution_expires_after: asNumber(body.execution_expires_after) ?? EXPIRY_SECONDS,
        service_tier: asString(body.service_tier) ?? 'default',
        inputSeconds: REFERENCE_SECONDS * content.filter(({ type }) => type === 'video_url').length,
      },
    },
    request.directives,
    {
      code: 'OutputVideoSensitiveContentDetected',
      message: 'The request failed because the output video may contain sensitive information.',
    },
  )
  return jsonReply(200, { id: jobId(PREFIX, job) })
}

function draftFault(model: string, body: JsonObject): string | undefined {
  if (body.draft !== true) return undefined
  if (!drafts.test(model)) return 'the model does not support draft'
  return asString(body.resolution) === '480p' ? undefined : 'a draft is of the resolution 480p'
}

function contentFault(content: JsonObject[]): string | undefined {
  const images = content.filter(({ type }) => type === 'image_url').length
  if (images > IMAGES_MAX) return `expected at most ${IMAGES_MAX} reference images but got ${images} instead`
  const roles = new Set(content.map(({ role }) => asString(role) ?? ''))
  const hasFrames = roles.has('first_frame') || roles.has('last_frame')
  const hasReferences = [...roles].some((role) => role.startsWith('reference_'))
  if (hasFrames && hasReferences)
    return 'first/last frame content cannot be mixed with reference media content'
  return undefined
}

function poll(request: VendorRequest, id: string, { job, phase, pollStatus }: JobState): Reply {
  if (pollStatus !== undefined) {
    return errorReply({
      status: pollStatus,
      code: 'InternalServiceError',
      message: 'The service encountered an error.',
    })
  }
  const { startedAt, durationMs, seconds, echo } = job
  const { return_last_frame: wantsLastFrame, inputSeconds, ...repeated } = echo
  const status = phases[phase]
  const task: JsonObject = {
    id,
    model: job.model,
    status,
    error: null,
    created_at: Math.floor(startedAt / 1000),
    updated_at: Math.floor(Math.min(Date.now(), startedAt + durationMs) / 1000),
    service_tier: echo.service_tier,
    execution_expires_after: echo.execution_expires_after,
  }
  if (status === 'failed') task.error = { code: job.code, message: job.message }
  if (status !== 'succeeded') return jsonReply(200, task)
  const frames = (Number(inputSeconds) + seconds) * FRAMES_A_SECOND
  const tokens = Math.round((frames * (pixels.get(String(echo.resolution)) ?? 0)) / 1024)
  return jsonReply(200, {
    ...task,
    content: {
      video_url: `${request.filesUrl}/${id.slice(0, 12)}.mp4`,
      ...(wantsLastFrame === true && { last_frame_url: `${request.filesUrl}/${id.slice(0, 12)}.png` }),
    },
    ...repeated,
    duration: seconds,
    framespersecond: FRAMES_A_SECOND,
    usage: { completion_tokens: tokens, total_tokens: tokens },
  })
}

function remove(id: string, state: JobState): Reply {
  if (cancel(id, state)) return jsonReply(200, {})
  if (state.phase !== 'running' && state.phase !== 'canceled') return jsonReply(200, {})
  const message = 'The task is running and cannot be deleted.'
  return errorReply({ status: 409, code: 'InvalidAction.RunningTaskDeletion', message })
}
