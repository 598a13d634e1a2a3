// Videos of Runway: gen4.5, the editor aleph2, and Seedance, Hailuo, Veo and others that it serves. The body is that of the
// vendor's three endpoints, by the types of @runwayml/sdk 4.20; the input of the video determines the endpoint. Length and frame
// are always sent, so that what is billed is what is made.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import type {
  FieldRule,
  Model,
  PlainRequest,
  PollContext,
  Quantities,
  TaskFamily,
  TaskOutcome,
} from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { invalidRequest } from '../../lib/errors'
import { parseSize } from '../../lib/file-formats/pixel-size'
import { asObject } from '../../lib/objects'
import { optionalField } from '../shared-schemas'
import { otherModels, serviceTier } from '../surcharges'
import { addresses } from '../vendor-state'
import {
  checkDuration,
  checkReferences,
  heldBack,
  nearestResolution,
  numberReported,
  OWN_FIELDS,
  ownFields,
  plainPicture,
  quoteInput,
  quoteSeconds,
  requestedSeed,
  resolutionOfSize,
  resolutionsOf,
  secondsOf,
  textOf,
  tierNames,
  VENDOR_CHOOSES,
  withoutVideo,
  withVideo,
} from './caller-side'

const open = { additionalProperties: true }
const Files = optionalField(Type.Array(Type.Object({ uri: Type.String() }, open), { maxItems: 32 }))

const Body = Type.Object(
  {
    ...ownFields,
    promptText: optionalField(Type.String({ minLength: 1 })),
    promptImage: optionalField(
      Type.Union([
        Type.String(),
        Type.Array(Type.Object({ uri: Type.String(), position: optionalField(Type.String()) }, open), {
          minItems: 1,
          maxItems: 32,
        }),
      ]),
    ),
    promptVideo: optionalField(
      Type.String({ description: 'A video to continue from, of models that take references.' }),
    ),
    videoUri: optionalField(Type.String({ description: 'The video that is edited.' })),
    duration: optionalField(
      Type.Union([Type.Integer(), Type.Literal('auto')], {
        description: 'Seconds; "auto" leaves it to the model.',
      }),
    ),
    ratio: optionalField(
      Type.String({ description: 'Width and height such as 1280:720, or 16:9 of some models.' }),
    ),
    resolution: optionalField(
      Type.String({ description: 'Such as 768p, of models whose ratio has no pixels.' }),
    ),
    audio: optionalField(Type.Boolean()),
    references: Files,
    referenceVideos: Files,
    referenceAudio: Files,
    keyframes: Files,
    seed: optionalField(Type.Integer()),
  },
  open,
)
type Body = Static<typeof Body>

const fieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  // `extend` and `edit` of Seedance 2.5 accept no frame, by its type: their cost would not be known in advance.
  {
    field: 'mode',
    plain: ['reference'],
    why: 'the model then chooses the frame, which is billed',
    instead: "Leave it out, or say 'reference'.",
    always: true,
  },
  {
    field: 'outputFormat',
    plain: ['mp4'],
    why: 'other formats cost more per second',
    instead: "Leave it out, or say 'mp4'.",
    always: true,
  },
  ...addresses(
    'promptImage',
    'promptImage[].uri',
    'promptVideo',
    'videoUri',
    'references[].uri',
    'referenceVideos[].uri',
    'referenceAudio[].uri',
    'keyframes[].uri',
  ),
]

/** Models that accept a resolution in addition to a shape. */
const TAKES_RESOLUTION = /^(?:hailuo|h3_|grok_imagine)/
/** Models that only edit, and make videos as long as their input. */
const EDITS = /^aleph/
/** The frames of resolutions, by the types of Seedance. */
const FRAMES: Record<string, string> = {
  '480p': '864:496',
  '720p': '1280:720',
  '1080p': '1920:1080',
  '4k': '3840:2160',
}
const DEFAULT_FRAME = '1280:720'
/** Minimum width of a frame in pixels: 16:9 is a shape and not a frame. */
const MIN_PIXELS = 100

export const runwayVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'runway-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,
  fieldRules,
  fields: [
    'contentModeration.publicFigureThreshold',
    'negativePrompt',
    'promptExpansionMode',
    'targetAspectRatio',
  ],

  check(body, model) {
    const { duration, promptVideo, videoUri } = body
    if (
      isEdit(body, model) &&
      duration !== undefined &&
      duration !== null &&
      EDITS.test(model.upstreamModel)
    ) {
      throw invalidRequest(
        'duration',
        `Unsupported 'duration': ${model.id} makes a video as long as the one that it edits. Leave it out.`,
        'unsupported_parameter',
      )
    }
    if (!isEdit(body, model)) checkDuration(durationOf(body, model), model)
    if (EDITS.test(model.upstreamModel) && !videoUri) {
      throw invalidRequest(
        'videoUri',
        `Missing required parameter: 'videoUri'. ${model.id} edits a video.`,
        'missing_required_parameter',
      )
    }
    if (duration === 'auto' && (promptVideo || body.referenceVideos?.length)) {
      throw invalidRequest(
        'duration',
        "Invalid 'duration': a video from a video needs its length in seconds, because the vendor bills both as one amount.",
      )
    }
    checkFrame(body, model)
    checkReferences(filesIn(body).pictures, body.references ? 'references' : 'promptImage', model)
    if (!body.promptText && !body.promptImage && !promptVideo && !videoUri) {
      throw invalidRequest(
        'promptText',
        "Missing required parameter: 'promptText'. Only a video from an image or a video needs none.",
        'missing_required_parameter',
      )
    }
  },

  tier(body, model) {
    const tier = { isSilent: body.audio === false, isFromVideo: filesIn(body).videos > 0 }
    const field = TAKES_RESOLUTION.test(model.upstreamModel) ? 'resolution' : 'ratio'
    return { field, names: tierNames(resolutionOf(body, model) ?? 'video', tier) }
  },

  quote: ({ body }, model) => ({
    ...quoteSeconds(durationOf(body, model), model),
    ...quoteInput(inputOf(body, model), model, INPUT_SECONDS),
  }),

  call({ body }, model) {
    return nativeCall(
      body.videoUri || body.promptVideo
        ? '/video_to_video'
        : body.promptImage
          ? '/image_to_video'
          : '/text_to_video',
      { edit: { set: settingsOf(body, model), drop: OWN_FIELDS } },
    )
  },

  read: (reply) => ({ end: textOf((reply as Reply).id) === undefined ? 'failed' : undefined }),

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Reply).id),
    pollContext: (body, model) => ({
      ...requestedSeed(body.seed),
      ...(needsFigures(body, model) && {
        model: model.upstreamModel.slice(0, 40),
        resolution: resolutionOf(body, model),
        ...(durationOf(body, model) !== VENDOR_CHOOSES && {
          seconds: secondsOf(durationOf(body, model), model),
        }),
        pictures: filesIn(body).pictures,
      }),
    }),
    poll: (upstreamId) => taskCall('GET', upstreamId),
    cancel: (upstreamId) => taskCall('DELETE', upstreamId),
    outcome,
  },

  plain: { fields: ['duration', 'resolution', 'size', 'images'], body: plainBody },
}

/** Answers of `Tasks` of @runwayml/sdk 4.20. */
interface Reply {
  id?: unknown
  status?: unknown
  progress?: unknown
  output?: unknown
  failure?: unknown
  failureCode?: unknown
  cost?: unknown
  estimatedCost?: unknown
}

function taskCall(method: 'GET' | 'DELETE', upstreamId: string) {
  const path = `/tasks/${encodeURIComponent(upstreamId)}`
  return nativeCall(path, null, { method })
}

function outcome(reply: object, pollContext: PollContext): TaskOutcome | undefined {
  // The cost to the operator is confidential.
  const { cost, estimatedCost: _, ...task } = reply as Reply
  const status = textOf(task.status)
  if (status === undefined) return undefined
  if (status === 'FAILED' || status === 'CANCELLED') return failureOf(task)
  if (status !== 'SUCCEEDED') {
    const { progress } = task
    const share = typeof progress === 'number' && progress >= 0 && progress <= 1 ? progress : undefined
    return {
      status: 'submitted',
      document: task,
      ...(share !== undefined && { progress: Math.round(share * 100) }),
    }
  }
  const videoUrl = textOf(Array.isArray(task.output) ? task.output[0] : undefined)
  if (videoUrl === undefined) return withoutVideo(task)
  const credits = numberReported(asObject(cost).credits)
  const quantities = quantitiesOf(credits, pollContext)
  // A credit is a cent: docs.dev.runwayml.com/guides/pricing, 2026-11. Callers do not see it.
  const usage = credits >= 0 && { usage: { cost: credits / 100 } }
  return withVideo({ ...task, ...usage }, videoUrl, quantities)
}

function failureOf(task: Reply): TaskOutcome {
  const code = textOf(task.failureCode)
  // docs.dev.runwayml.com/errors/task-failures, 2026-11: such codes are for diagnosis, not for users.
  if (code?.startsWith('SAFETY')) return heldBack({ status: task.status })
  const message = textOf(task.failure) ?? `The upstream ended the task as ${task.status}.`
  return {
    status: 'failed',
    document: task,
    error: { code: code ?? String(task.status).toLowerCase(), message },
  }
}

/** Credits per second of output, per second of input, and per reference picture. For a single resolution, the name is empty. */
interface Credits {
  output: Readonly<Record<string, number>>
  input?: Readonly<Record<string, number>>
  picture?: number
}

/** docs.dev.runwayml.com/guides/pricing, by litellm 1.110.2 (2026-11). */
const CREDITS: ReadonlyMap<unknown, Credits> = new Map<unknown, Credits>([
  ['aleph2', { output: { '': 28 } }],
  ['gemini_omni_flash', { output: { '': 10 } }],
  ['seedance2', { output: { '480p': 36, '720p': 36, '1080p': 40, '4k': 150 } }],
  ['seedance2_fast', { output: { '480p': 29, '720p': 29 } }],
  ['seedance2_mini', { output: { '480p': 16, '720p': 16 } }],
  [
    'seedance2_5',
    { output: { '480p': 20, '720p': 30, '1080p': 68 }, input: { '480p': 10, '720p': 15, '1080p': 34 } },
  ],
  ['hailuo3', { output: { '768p': 10, '2k': 15 }, picture: 2 }],
])

/**
 * The billed seconds, derived from the vendor's credits: those of a video whose length it chose, or of the input videos. Input
 * without a separate rate costs the same as output.
 */
function quantitiesOf(
  credits: number,
  { model, resolution, seconds, pictures }: PollContext,
): Quantities | undefined {
  if (model === undefined) return undefined
  const rates = CREDITS.get(model)
  const name = textOf(resolution) ?? ''
  const output = rates?.output[name] ?? Number.NaN
  const videos = credits - (rates?.picture ?? 0) * numberReported(pictures)
  if (seconds === undefined) return { second: videos / output }
  const input = rates?.input?.[name] ?? output
  return { input_second: Math.max(0, (videos - numberReported(seconds) * output) / input) }
}

/** Whether only the vendor knows what is billed. */
function needsFigures(body: Body, model: Model): boolean {
  return durationOf(body, model) === VENDOR_CHOOSES || inputOf(body, model).videos > 0
}

/**
 * Seconds of input that are held for a model without its own figure: all reference videos together have 15 at most, by the types of
 * Seedance and Hailuo.
 */
const INPUT_SECONDS = 15

function isEdit({ videoUri }: Body, { upstreamModel }: Model): boolean {
  return Boolean(videoUri) || EDITS.test(upstreamModel)
}

/** The requested length. An edit without a length is as long as its video, which only the vendor knows. */
function durationOf(body: Body, model: Model): number | undefined {
  const { duration } = body
  if (duration === 'auto') return VENDOR_CHOOSES
  return duration ?? (isEdit(body, model) ? VENDOR_CHOOSES : undefined)
}

/** The fields that decide the price, as they are sent. */
function settingsOf(body: Body, model: Model): Record<string, string> {
  const settings: Record<string, string> = { model: JSON.stringify(model.upstreamModel) }
  const duration = durationOf(body, model)
  if (duration === VENDOR_CHOOSES) {
    if (body.duration === 'auto') settings.duration = '"auto"'
  } else settings.duration = String(secondsOf(duration, model))
  if (isEdit(body, model)) return settings
  const resolution = resolutionOf(body, model)
  if (!TAKES_RESOLUTION.test(model.upstreamModel))
    settings.ratio = JSON.stringify(body.ratio ?? frameOf(resolution))
  else if (resolution !== undefined) settings.resolution = JSON.stringify(resolution)
  return settings
}

function frameOf(resolution: string | undefined): string {
  return FRAMES[resolution ?? ''] ?? DEFAULT_FRAME
}

/** The billed resolution of a video; undefined for a model with a single resolution. */
function resolutionOf(body: Body, model: Model): string | undefined {
  const [first] = resolutionsOf(model)
  if (first === undefined) return undefined
  if (TAKES_RESOLUTION.test(model.upstreamModel)) return body.resolution?.toLowerCase() ?? first
  const { ratio } = body
  if (!ratio) return first
  const size = parseSize(ratio, ':')
  return (size && size.width >= MIN_PIXELS && resolutionOfSize(size)) || /^auto_(\d+p)$/.exec(ratio)?.[1]
}

/** Refuses a frame without a known price. */
function checkFrame(body: Body, model: Model): void {
  const takesResolution = TAKES_RESOLUTION.test(model.upstreamModel)
  if (body.resolution && !takesResolution) {
    throw invalidRequest(
      'resolution',
      `Unsupported 'resolution': ${model.id} takes the frame as 'ratio', such as ${DEFAULT_FRAME}.`,
      'unsupported_parameter',
    )
  }
  if (takesResolution || !body.ratio || resolutionsOf(model).length === 0) return
  if (resolutionOf(body, model) !== undefined) return
  throw invalidRequest('ratio', `Invalid 'ratio': expected width and height such as ${DEFAULT_FRAME}.`)
}

/** The number of videos and pictures in the input of a video. */
function filesIn(body: Body): { videos: number; pictures: number } {
  const { promptImage, promptVideo, videoUri, references, referenceVideos, keyframes } = body
  const frames = Array.isArray(promptImage) ? promptImage.length : promptImage ? 1 : 0
  return {
    videos: (promptVideo ? 1 : 0) + (videoUri ? 1 : 0) + (referenceVideos?.length ?? 0),
    pictures: frames + (references?.length ?? 0) + (keyframes?.length ?? 0),
  }
}

/** The files that are billed as input. An edited video is one of them only if the price list has a price for it. */
function inputOf(body: Body, model: Model): { videos: number; pictures: number } {
  const { videos, pictures } = filesIn(body)
  const isFree = isEdit(body, model) && !hasOwnPrice(model)
  return { videos: isFree ? 0 : videos, pictures }
}

function hasOwnPrice({ priceList }: Model): boolean {
  return !priceList.isFree && hasPrice(priceList, 'input_second')
}

function plainBody(request: PlainRequest, model: Model): Record<string, unknown> {
  const { text, duration, images = [] } = request
  const { size, resolution: asked } = plainPicture(request)
  const priced = asked && nearestResolution(asked, model)
  const takesResolution = TAKES_RESOLUTION.test(model.upstreamModel)
  const frame = frameOf(priced ?? asked).split(':')
  // A portrait frame is the landscape frame, rotated.
  const ratio = (size && size.height > size.width ? frame.reverse() : frame).join(':')
  return {
    promptText: text,
    ...(duration !== undefined && { duration }),
    ...(asked !== undefined && !takesResolution && !EDITS.test(model.upstreamModel) && { ratio }),
    ...(priced !== undefined && takesResolution && { resolution: priced }),
    ...(images.length === 1 && { promptImage: images[0] }),
    ...(images.length > 1 && { references: images.map((uri) => ({ uri })) }),
  }
}
