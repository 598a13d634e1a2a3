// Videos of fal's queue: one adapter for Kling, Luma, Hailuo, Seedance, Wan and others. The body is the input of the endpoint that
// `upstreamModel` names, such as `fal-ai/kling-video/o3/pro/image-to-video`, by the types of @fal-ai/client 1.10. Duration and
// resolution are always sent if the price depends on them, so that what is billed is what is made.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import type {
  Call,
  FieldRule,
  Model,
  PlainRequest,
  PollContext,
  ResultAnswer,
  TaskFamily,
  TaskOutcome,
} from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { asObject } from '../../lib/objects'
import { optionalField } from '../shared-schemas'
import { otherModels, serviceTier } from '../surcharges'
import { addresses, clonedVoices } from '../vendor-state'
import {
  billedResolution,
  checkDuration,
  checkReferences,
  checkResolution,
  nearestResolution,
  numberReported,
  OWN_FIELDS,
  ownFields,
  plainPicture,
  quoteInput,
  quoteSeconds,
  requestedSeed,
  secondsOf,
  textOf,
  tierNames,
  VENDOR_CHOOSES,
  withoutVideo,
  withVideo,
} from './caller-side'

const open = { additionalProperties: true }
const Addresses = optionalField(Type.Array(Type.String(), { maxItems: 32 }))

const Body = Type.Object(
  {
    ...ownFields,
    prompt: optionalField(Type.String({ minLength: 1 })),
    duration: optionalField(
      Type.Union([Type.Integer(), Type.String({ pattern: '^(\\d{1,3}s?|auto)$' })], {
        description: 'Seconds: 5, "5" or "5s"; "auto" or -1 leaves it to the model.',
      }),
    ),
    resolution: optionalField(Type.String({ description: 'Such as 720p.' })),
    aspect_ratio: optionalField(Type.String()),
    image_url: optionalField(Type.String({ description: 'First frame: an address or a data URL.' })),
    start_image_url: optionalField(Type.String({ description: 'First frame, of models that name it so.' })),
    end_image_url: optionalField(Type.String({ description: 'Last frame.' })),
    image_urls: Addresses,
    reference_image_urls: Addresses,
    video_url: optionalField(Type.String({ description: 'The video that is edited or continued.' })),
    video_urls: Addresses,
    reference_video_urls: Addresses,
    generate_audio: optionalField(Type.Boolean()),
    multi_prompt: optionalField(
      Type.Array(Type.Object({ prompt: optionalField(Type.String()) }, open), { minItems: 1, maxItems: 32 }),
    ),
    seed: optionalField(Type.Integer()),
  },
  open,
)
type Body = Static<typeof Body>

/** The fields that hold pictures, and those that hold videos. The type of `elements` is `KlingV3ComboElementInput`. */
const PICTURES = ['image_url', 'start_image_url', 'end_image_url', 'reference_image_url', 'frontal_image_url']
const PICTURE_LISTS = ['image_urls', 'reference_image_urls', 'middle_image_urls']
const VIDEOS = ['video_url', 'mask_video_url']
const VIDEO_LISTS = ['video_urls', 'reference_video_urls']
const PRICED_ELEMENTS = [
  ...PICTURES.map((field) => `elements[].${field}`),
  ...PICTURE_LISTS.map((field) => `elements[].${field}[]`),
  'elements[].video_url',
]

const fieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  ...addresses(
    ...PICTURES,
    ...PICTURE_LISTS.map((field) => `${field}[]`),
    ...VIDEOS,
    ...VIDEO_LISTS.map((field) => `${field}[]`),
    ...PRICED_ELEMENTS,
    'audio_url',
  ),
  // `SeedanceReferenceToVideoInput`: it overrides the duration.
  ...['num_frames', 'frames_per_second'].map(
    (field): FieldRule => ({
      field,
      why: 'it changes the length, which is billed',
      instead: "Use 'duration' in seconds.",
      always: true,
    }),
  ),
  clonedVoices('voice_ids'),
  clonedVoices('elements[].voice_id'),
]

/** Endpoints that make a video as long as its input, and accept no other length. */
const EDITS = /\/(?:video-to-video\/edit|edit-video|edit|modify|reframe|recast)$/

export const falVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'fal-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,
  fieldRules,
  fields: [
    ...['audio_setting', 'camera_fixed', 'cfg_scale', 'enable_prompt_expansion', 'enable_safety_checker'],
    ...['keep_audio', 'loop', 'mode', 'multi_shots', 'multi_prompt[].duration', 'negative_prompt'],
    ...['prompt_optimizer', 'shot_type'],
  ],

  check(body, model) {
    const asked = requestedSeconds(body)
    if (EDITS.test(model.upstreamModel)) {
      if (asked !== undefined && asked !== VENDOR_CHOOSES) {
        throw invalidRequest(
          'duration',
          `Unsupported 'duration': ${model.id} makes a video as long as the one that it edits. Leave it out.`,
          'unsupported_parameter',
        )
      }
    } else checkDuration(asked, model)
    checkResolution(body.resolution, model)
    checkShots(body, model)
    const { videos, pictures } = filesIn(body)
    checkReferences(pictures, placeOfPicture(body), model)
    if (!body.prompt && !body.multi_prompt && videos + pictures === 0) {
      throw invalidRequest(
        'prompt',
        "Missing required parameter: 'prompt'. Only a video from an image or a video needs none.",
        'missing_required_parameter',
      )
    }
  },

  tier(body, model) {
    const isSilent = body.generate_audio === false
    const tier = { isSilent, isFromVideo: filesIn(body).videos > 0 }
    return {
      field: 'resolution',
      names: tierNames(billedResolution(body.resolution, model) ?? 'video', tier),
    }
  },

  quote: ({ body }, model) => ({
    ...quoteSeconds(durationOf(body, model), model),
    ...quoteInput(filesIn(body), model, INPUT_SECONDS),
  }),

  call({ body }, model) {
    const seconds = durationOf(body, model)
    const resolution = billedResolution(body.resolution, model)
    const isEdit = EDITS.test(model.upstreamModel)
    return nativeCall(pathOf(model.upstreamModel.split('/')), {
      edit: {
        set: {
          ...(!isEdit && { duration: durationFor(model, seconds) }),
          ...(resolution !== undefined && { resolution: JSON.stringify(resolution) }),
        },
        drop: ['model', ...OWN_FIELDS, ...(isEdit ? ['duration'] : [])],
      },
    })
  },

  read: (reply) => ({ end: textOf((reply as Reply).request_id) === undefined ? 'failed' : undefined }),

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Reply).request_id),
    pollContext: (body, model) => ({
      app: appOf(model.upstreamModel),
      ...requestedSeed(body.seed),
      ...(durationOf(body, model) === VENDOR_CHOOSES && { vendorChooses: true }),
      ...(filesIn(body).videos > 0 && { isFromVideo: true }),
      ...(EDITS.test(model.upstreamModel) && { isEdit: true }),
    }),
    poll: (upstreamId, task) => requestCall('GET', upstreamId, task.pollContext, '/status'),
    cancel: (upstreamId, task) => requestCall('PUT', upstreamId, task.pollContext, '/cancel'),
    // A running request is only asked to stop: fal.ai/docs/inference-api/queue/cancel, 2026-11.
    hasStopped: (reply) => (reply as Reply).status !== 'CANCELLATION_REQUESTED',
    outcome: stateOf,
    result: {
      call: (state, upstreamId, pollContext) =>
        (state as Reply).status === DONE ? requestCall('GET', upstreamId, pollContext, '') : undefined,
      outcome: resultOf,
    },
  },

  plain: { fields: ['duration', 'resolution', 'size', 'images'], body: plainBody },
}

const DONE = 'COMPLETED'

/** Answers of the queue: `QueueStatus` of @fal-ai/client 1.10, and `Completed` of fal_client 1.0 with its errors. */
interface Reply {
  request_id?: unknown
  status?: unknown
  queue_position?: unknown
  error?: unknown
  error_type?: unknown
}

function stateOf(reply: object): TaskOutcome | undefined {
  const { status, queue_position: position } = reply as Reply
  // A body without a status is an error about the poll, not about the task.
  if (textOf(status) === undefined) return undefined
  // The addresses of the request and the logs of the vendor's machine are useless to a caller.
  return {
    status: 'submitted',
    document: { status, ...(position !== undefined && { queue_position: position }) },
  }
}

function resultOf(answer: ResultAnswer, state: object, pollContext: PollContext): TaskOutcome | undefined {
  const { error, error_type: errorType } = state as Reply
  if ('error' in answer) {
    const reason = textOf(error)
    // The vendor's server may fail even though the result exists.
    if (answer.status >= 500 && reason === undefined) return undefined
    const found =
      answer.status < 500 ? answer.error : { code: textOf(errorType) ?? 'failed', message: reason as string }
    return { status: 'failed', document: { status: 'FAILED' }, error: found }
  }
  const { video, videos, ...more } = answer.reply as { video?: unknown; videos?: unknown }
  const file = asObject(video ?? (Array.isArray(videos) ? videos[0] : undefined))
  const videoUrl = textOf(file.url)
  const document = { ...more, status: DONE, video: file }
  if (videoUrl === undefined) return withoutVideo(document)
  const isBilledByLength = pollContext.vendorChooses === true || pollContext.isFromVideo === true
  return withVideo(document, videoUrl, isBilledByLength && quantitiesIn(file.duration, pollContext))
}

/**
 * The billed seconds. `VideoFile` has a duration, `File` has none, and the vendor does not report the length of input videos: if it
 * is unknown, the held amount is charged. An edited video is as long as its original.
 */
function quantitiesIn(duration: unknown, { vendorChooses, isFromVideo, isEdit }: PollContext) {
  const seconds = numberReported(duration)
  return {
    ...(vendorChooses === true && { second: seconds }),
    ...(isFromVideo === true && isEdit === true && { input_second: seconds }),
  }
}

/** Path of an endpoint, whose parts are names. */
function pathOf(parts: readonly string[]): string {
  return `/${parts.map(encodeURIComponent).join('/')}`
}

/** Owner and name of the application: requests to all its endpoints are polled there. */
function appOf(upstreamModel: string): string {
  const parts = upstreamModel.split('/')
  // `ENDPOINT_NAMESPACES` of @fal-ai/client 1.10.
  return parts.slice(0, ['workflows', 'comfy'].includes(parts[0] as string) ? 3 : 2).join('/')
}

function requestCall(method: 'GET' | 'PUT', upstreamId: string, { app }: PollContext, more: string): Call {
  return nativeCall(
    `${pathOf(String(app).split('/'))}/requests/${encodeURIComponent(upstreamId)}${more}`,
    null,
    { method },
  )
}

/**
 * Seconds of input that are held for a model without its own figure: 15 is the longest video that these vendors' endpoints accept,
 * all references together (fal.ai/models/fal-ai/kling-video/o3/4k/video-to-video/edit/llms.txt, 2026-11).
 */
const INPUT_SECONDS = 15

function requestedSeconds({ duration }: Body): number | undefined {
  if (duration === undefined || duration === null) return undefined
  return duration === 'auto' ? VENDOR_CHOOSES : Number.parseInt(String(duration), 10)
}

/** The requested length. An edited video keeps its own length, which only the vendor knows. */
function durationOf(body: Body, { upstreamModel }: Model): number | undefined {
  return EDITS.test(upstreamModel) ? VENDOR_CHOOSES : requestedSeconds(body)
}

/**
 * The length in the form of the endpoint: one of several texts, `5s` for Luma (`LumaDreamMachineRay2Input`), a number for MiniMax
 * H3 (fal.ai/models/minimax/h3-max/text-to-video/llms.txt, 2026-11).
 */
function durationFor(model: Model, asked: number | undefined): string {
  if (asked === VENDOR_CHOOSES) return '"auto"'
  const seconds = secondsOf(asked, model)
  if (/(?:^|\/)luma/.test(model.upstreamModel)) return `"${seconds}s"`
  return /^minimax\/h3/.test(model.upstreamModel) ? String(seconds) : `"${seconds}"`
}

/** Refuses shots whose total length is not that of the video: `KlingV3MultiPromptElement` has five seconds by default. */
function checkShots(body: Body, model: Model): void {
  const { multi_prompt: shots } = body
  if (!shots) return
  const sum = shots.reduce((seconds, shot) => {
    const { duration = '5' } = shot as { duration?: unknown }
    return seconds + Number(duration)
  }, 0)
  const seconds = secondsOf(durationOf(body, model), model)
  if (sum === seconds) return
  throw invalidRequest(
    'multi_prompt',
    `Invalid 'multi_prompt': its shots have ${sum} seconds together, and the video has ${seconds}. Set 'duration' to the sum.`,
  )
}

/** The number of videos and pictures in the input of a video. */
function filesIn(body: Body): { videos: number; pictures: number } {
  const fields = body as Record<string, unknown>
  const elements = Array.isArray(fields.elements) ? fields.elements.map(asObject) : []
  const all = [fields, ...elements]
  const count = (names: readonly string[]) =>
    all.flatMap((each) => names.flatMap((name) => each[name] ?? [])).length
  return {
    videos: count([...VIDEOS, ...VIDEO_LISTS]),
    pictures: count([...PICTURES, ...PICTURE_LISTS]),
  }
}

/** The first field with a picture, for an error. */
function placeOfPicture(body: Body): string {
  const fields = body as Record<string, unknown>
  return [...PICTURES, ...PICTURE_LISTS].find((name) => fields[name] !== undefined) ?? 'image_url'
}

/** Endpoints whose first frame is `start_image_url`, by their types and by fal.ai/models/kling/v4/image-to-video/llms.txt. */
const STARTS = /kling(?:-video)?\/(?:v2\.6|v[34]|o3\/.*reference)/
/** Endpoints whose references are `reference_image_urls`, by their types. */
const REFERENCES = /(?:^|\/)wan|seedance\/v1/

function plainBody(request: PlainRequest, model: Model): Record<string, unknown> {
  const { text, duration, images = [] } = request
  const { upstreamModel } = model
  const { resolution: asked, ratio } = plainPicture(request)
  const resolution = asked && nearestResolution(asked, model)
  const areReferences = images.length > 1 || /\/reference-to-video/.test(upstreamModel)
  const list = REFERENCES.test(upstreamModel) ? 'reference_image_urls' : 'image_urls'
  const first = STARTS.test(upstreamModel) ? 'start_image_url' : 'image_url'
  return {
    prompt: text,
    ...(duration !== undefined && { duration }),
    ...(resolution !== undefined && { resolution }),
    ...(ratio !== undefined && images.length === 0 && { aspect_ratio: ratio }),
    ...(images.length > 0 && (areReferences ? { [list]: images } : { [first]: images[0] })),
  }
}
