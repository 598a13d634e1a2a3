// Simulates Runway: three endpoints that check their bodies at once, tasks with their cost, and videos that take the credits of
// the vendor's list. It must never accept an unknown field: the real service does not.

import { asArray, asObject, asString, isGiven, type JsonObject } from '../json'
import { bearerToken, jsonReply, retryAfterHeader } from '../replies'
import type { Reply, Simulator, VendorRequest } from '../simulator'
import { cancel, type JobState, jobId, newJob, stateOf, VIDEO_FILE } from '../video-jobs'

type Place = 'text_to_video' | 'image_to_video' | 'video_to_video'

interface Model {
  places: readonly Place[]
  /** Supported lengths in seconds; empty for a model that edits. */
  seconds?: readonly number[]
  /** Frames, or resolutions, with their credits per second of output and of input. */
  frames: Readonly<Record<string, readonly [output: number, input?: number]>>
  framesAre: 'ratio' | 'resolution' | 'none'
  fields: readonly string[]
  /** Minimum number of credits per task. */
  least?: number
  silent?: number
}

const between = (min: number, max: number) => Array.from({ length: max - min + 1 }, (_, index) => min + index)
const all: readonly Place[] = ['text_to_video', 'image_to_video', 'video_to_video']
const [fromText, fromImage] = [all.slice(0, 1), all.slice(1, 2)]
const gen = Object.fromEntries(
  ['1280:720', '720:1280', '1104:832', '960:960', '832:1104', '1584:672'].map((ratio) => [
    ratio,
    [12] as const,
  ]),
)
const veo = (credits: number) =>
  Object.fromEntries(
    ['1280:720', '720:1280', '1080:1920', '1920:1080'].map((ratio) => [ratio, [credits] as const]),
  )
const seedance = {
  ...rated(['992:432', '864:496', '640:640', '480:854', '496:864'], 20, 10),
  ...rated(['1280:720', '960:960', '720:1280', '1112:834'], 30, 15),
  ...rated(['1920:1080', '1440:1440', '1080:1920'], 68, 34),
}

/** By the types of @runwayml/sdk 4.20, and docs.dev.runwayml.com/guides/pricing. */
const models: Readonly<Record<string, Model>> = {
  'gen4.5': {
    places: [...fromText, ...fromImage],
    seconds: between(2, 10),
    frames: gen,
    framesAre: 'ratio',
    fields: ['contentModeration', 'outputFormat', 'proresProfile', 'seed'],
  },
  aleph2: {
    places: ['video_to_video'],
    frames: { '': [28] },
    framesAre: 'none',
    fields: [
      'contentModeration',
      'keyframes',
      'outputFormat',
      'proresProfile',
      'ratio',
      'seed',
      'targetAspectRatio',
    ],
    least: 56,
  },
  'veo3.1': {
    places: [...fromText, ...fromImage],
    seconds: [4, 6, 8],
    frames: veo(40),
    framesAre: 'ratio',
    fields: ['audio', 'negativePrompt', 'seed'],
    silent: 20,
  },
  seedance2_5: {
    places: all,
    seconds: between(4, 30),
    frames: seedance,
    framesAre: 'ratio',
    fields: ['audio', 'mode', 'referenceAudio', 'references', 'referenceVideos', 'seed'],
    least: 80,
  },
  hailuo3: {
    places: all,
    seconds: between(5, 15),
    frames: { '768p': [10, 10], '2k': [15, 15] },
    framesAre: 'resolution',
    fields: ['ratio', 'referenceAudio', 'references', 'referenceVideos'],
  },
}

const PREFIX = 'rw-'
const TASKS = '/v1/tasks/'
const CHOSEN_SECONDS = 9
/** Length of every video in a request, in seconds. */
const INPUT_SECONDS = 4
const CREDITS_PER_PICTURE = 2

export const runway: Simulator = {
  secret: 'key_sandbox_runway_0001',
  basePath: '/v1',
  standIns: [
    ['/video_to_video', ({ videoUri }) => (videoUri === undefined ? 'seedance2_5' : 'aleph2')],
    ['_to_video', 'seedance2_5'],
  ],
  knows: (model) => Object.hasOwn(models, model),

  refuse(request) {
    if (bearerToken(request) !== runway.secret) return refusal(401, 'The API key you provided is not valid.')
    if (isGiven(request.headers['x-runway-version'])) return undefined
    return refusal(400, 'The X-Runway-Version header is required.')
  },

  fail(_request, { status, text, code, retryAfterSeconds }) {
    const words = text ?? 'The request failed.'
    return jsonReply(status, { error: words, ...(code && { code }) }, retryAfterHeader(retryAfterSeconds))
  },

  outOfQuota: () => refusal(400, 'You do not have enough credits to run this task.'),

  answer(request) {
    const { method, path } = request
    if (path.startsWith(TASKS)) return follow(request, path.slice(TASKS.length))
    if (path === '/v1/organization' && method === 'GET')
      return jsonReply(200, { creditBalance: 10_000, tier: {}, usage: {} })
    const place = all.find((each) => path === `/v1/${each}`)
    if (!place) return refusal(404, 'Not found')
    if (method !== 'POST') return refusal(405, 'Method not allowed')
    const body = asObject(request.json)
    return body ? submit(request, place, body) : refusal(400, 'The request body is not valid JSON.')
  },

  file: (path) => (path.endsWith('.mp4') ? VIDEO_FILE : undefined),
}

function submit(request: VendorRequest, place: Place, body: JsonObject): Reply {
  const model = models[asString(body.model) ?? '']
  if (!model?.places.includes(place)) return invalid(['model'], `Invalid value for ${place}`, 'invalid_union')
  const fault = faultOf(model, place, body)
  if (fault) return invalid(...fault)
  const isEdit = isGiven(body.videoUri)
  const isChosen = body.duration === 'auto' || isEdit
  const seconds = isChosen ? (isEdit ? INPUT_SECONDS : CHOSEN_SECONDS) : Number(body.duration ?? 5)
  const credits = creditsFor(model, body, seconds)
  const job = newJob({ seconds, model: String(body.model), echo: { credits } }, request.directives, {
    code: 'INTERNAL.BAD_OUTPUT.CODE01',
    message: 'An unexpected error occurred.',
  })
  return jsonReply(200, {
    id: jobId(PREFIX, job),
    estimatedCost: { credits: isChosen ? credits * 4 : credits },
  })
}

function creditsFor(model: Model, body: JsonObject, seconds: number): number {
  const [output = 0, input = 0] = frameOf(model, body) ?? []
  const videos = [body.promptVideo, ...(asArray(body.referenceVideos) ?? [])].filter(isGiven).length
  const pictures = model.framesAre === 'resolution' ? (asArray(body.references)?.length ?? 0) : 0
  const rate = body.audio === false ? (model.silent ?? output) : output
  const sum = seconds * rate + videos * INPUT_SECONDS * input + pictures * CREDITS_PER_PICTURE
  return Math.max(sum, model.least ?? 0)
}

function frameOf({ frames, framesAre }: Model, body: JsonObject) {
  return framesAre === 'none' ? frames[''] : frames[String(body[framesAre])]
}

type Fault = [path: readonly string[], message: string, code: string]

function faultOf(model: Model, place: Place, body: JsonObject): Fault | undefined {
  const own = ['model', 'promptText', ...(model.seconds ? ['duration'] : [])]
  const frame = model.framesAre === 'none' ? [] : [model.framesAre]
  const source = {
    text_to_video: [],
    image_to_video: ['promptImage'],
    video_to_video: ['promptVideo', 'videoUri'],
  }[place]
  const known = [...own, ...frame, ...source, ...model.fields]
  const unknown = Object.keys(body).find((field) => !known.includes(field))
  if (unknown !== undefined) return [[unknown], `Unrecognized key: "${unknown}"`, 'unrecognized_keys']
  if (place === 'text_to_video' && !isGiven(body.promptText) && !isGiven(body.references))
    return [['promptText'], 'Required', 'invalid_type']
  if (source.length > 0 && !source.some((field) => isGiven(body[field])))
    return [[source[0] as string], 'Required', 'invalid_type']
  const { duration } = body
  if (isGiven(duration) && duration !== 'auto' && !model.seconds?.includes(Number(duration)))
    return [['duration'], 'Invalid duration', 'invalid_value']
  if (typeof duration === 'string' && duration !== 'auto')
    return [['duration'], 'Expected number', 'invalid_type']
  if (model.framesAre !== 'none' && !frameOf(model, body))
    return [[model.framesAre], 'Invalid option', 'invalid_value']
  return undefined
}

function follow(request: VendorRequest, id: string): Reply {
  const state = stateOf(PREFIX, id, Date.now())
  if (!state || state.phase === 'forgotten') return refusal(404, 'Task not found.')
  if (state.pollStatus !== undefined) return refusal(state.pollStatus, 'Internal server error')
  if (request.method === 'DELETE') {
    cancel(id, state)
    return { status: 204, headers: {}, body: { kind: 'text', text: '', contentType: 'application/json' } }
  }
  return request.method === 'GET' ? poll(request, id, state) : refusal(405, 'Method not allowed')
}

function poll(request: VendorRequest, id: string, { job, phase, progress }: JobState): Reply {
  const task = { id, createdAt: new Date(job.startedAt).toISOString() }
  const estimatedCost = { credits: job.echo.credits }
  if (phase === 'queued') return jsonReply(200, { ...task, status: 'PENDING', estimatedCost })
  if (phase === 'running')
    return jsonReply(200, { ...task, status: 'RUNNING', progress: progress / 100, estimatedCost })
  if (phase === 'canceled') return jsonReply(200, { ...task, status: 'CANCELLED', cost: { credits: 0 } })
  if (phase === 'succeeded') {
    const output = [`${request.filesUrl}/${id.slice(0, 11)}.mp4`]
    return jsonReply(200, { ...task, status: 'SUCCEEDED', output, cost: { credits: job.echo.credits } })
  }
  const isBlocked = phase === 'blocked'
  return jsonReply(200, {
    ...task,
    status: 'FAILED',
    cost: { credits: 0 },
    failure: isBlocked ? 'Content moderation.' : job.message,
    failureCode: isBlocked ? 'SAFETY.INPUT.TEXT' : job.code,
  })
}

function rated(ratios: readonly string[], output: number, input: number) {
  return Object.fromEntries(ratios.map((ratio) => [ratio, [output, input] as const]))
}

function refusal(status: number, error: string): Reply {
  return jsonReply(status, { error })
}

function invalid(path: readonly string[], message: string, code: string): Reply {
  const issues = [{ code, message, path }]
  return jsonReply(400, {
    error: 'Validation of body failed',
    issues,
    docUrl: 'https://docs.dev.runwayml.com/api',
  })
}
