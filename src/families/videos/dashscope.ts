// Videos of Wan and related models on DashScope, `vidw*` in gateway.config.ts. `input` and `parameters` are the
// vendor's own and pass byte for byte; the fields next to them say what is billed. The two must never disagree, and billed settings
// missing in `parameters` are added. The vendor hardly checks a submit: most errors are reported with the failed task.

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
import { invalidRequest } from '../../lib/errors'
import { parseSize } from '../../lib/file-formats/pixel-size'
import { optionalField } from '../shared-schemas'
import { addresses } from '../vendor-state'
import {
  checkDuration,
  checkReferences,
  numberReported,
  OWN_FIELDS,
  ownFields,
  plainPicture,
  quoteInput,
  quoteSeconds,
  requestedSeed,
  resolutionOfSize,
  secondsOf,
  textOf,
  tierNames,
  VENDOR_CHOOSES,
  withoutVideo,
  withVideo,
} from './caller-side'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    duration: optionalField(Type.Integer({ description: 'Seconds, for billing.' })),
    resolution: optionalField(Type.String({ description: 'Such as 720p, for billing.' })),
    aspect_ratio: optionalField(Type.String()),
    input: Type.Object({}, { ...open, description: 'What to make, such as `{"prompt": "A red fox"}`.' }),
    parameters: optionalField(
      Type.Object(
        {
          duration: optionalField(Type.Integer()),
          resolution: optionalField(Type.String()),
          size: optionalField(Type.String()),
        },
        open,
      ),
    ),
  },
  open,
)
type Body = Static<typeof Body>

const DEFAULT_RESOLUTION = '720p'
const DEFAULT_RATIO = '16:9'
const TASKS = '/tasks'

/**
 * Models that accept a size; all others, and image to video, accept a resolution. A model ignores the setting that it does not
 * accept.
 */
const TAKES_SIZE = /^wanx?2\.[0-6]-/
const FROM_IMAGE = /-i2v/
const FROM_TEXT = /-t2v/
const FROM_REFERENCES = /-r2v/
/** The sizes of each resolution by shape. */
const SIZES: Record<string, Record<string, string>> = {
  '480p': { '16:9': '832*480', '9:16': '480*832', '1:1': '624*624' },
  '720p': {
    '16:9': '1280*720',
    '9:16': '720*1280',
    '1:1': '960*960',
    '4:3': '1088*832',
    '3:4': '832*1088',
  },
  '1080p': {
    '16:9': '1920*1080',
    '9:16': '1080*1920',
    '1:1': '1440*1440',
    '4:3': '1632*1248',
    '3:4': '1248*1632',
  },
}

/** The rules for fields. Rewriting of the prompt, shots and watermarks are free; audio is a price tier. */
const fieldRules: readonly FieldRule[] = [
  { field: 'parameters.n', plain: [1], why: 'each video is billed, and only one may be requested' },
  ...addresses(
    ...[
      'img_url',
      'audio_url',
      'video_url',
      'image_url',
      'reference_url',
      'first_frame_url',
      'last_frame_url',
      'head_frame',
      'tail_frame',
      'mask_image_url',
      'mask_video_url',
      'first_clip_url',
      'last_clip_url',
      'ref_images_url[]',
      'images_url[]',
      'reference_urls[]',
      'reference_video_urls[]',
      'media[].url',
      'media[].reference_voice',
    ].map((field) => `input.${field}`),
  ),
]

export const dashscopeVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'dashscope-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,
  fieldRules,

  check(body, model) {
    checkDuration(body.duration, model)
    checkSameDuration(body, model)
    checkSameResolution(body)
    // Refuses a shape that the resolution does not have.
    missingParameters(body, model)
    checkReferences(referencesIn(body), 'input.media', model)
  },

  tier: (body) => ({
    field: 'resolution',
    names: tierNames(resolutionOf(body), {
      isSilent: (body.parameters as { audio?: unknown } | null)?.audio === false,
      isFromVideo: filesIn(body).videos > 0,
    }),
  }),

  quote: ({ body }, model) => ({
    ...quoteSeconds(body.duration, model),
    ...quoteInput(filesIn(body), model, INPUT_SECONDS),
  }),

  call({ body }, model) {
    return nativeCall(
      '/services/aigc/video-generation/video-synthesis',
      {
        edit: {
          set: { model: JSON.stringify(model.upstreamModel) },
          inside: { parameters: { set: missingParameters(body, model) } },
          drop: ['duration', 'resolution', 'aspect_ratio', ...OWN_FIELDS],
        },
      },
      { headers: { 'x-dashscope-async': 'enable' } },
    )
  },

  read(reply) {
    const { code, output } = reply as Reply
    return { end: textOf(code) !== undefined && !output?.task_id ? 'failed' : undefined }
  },

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Reply).output?.task_id),
    pollContext: (body) => ({
      ...requestedSeed((body.parameters as { seed?: unknown } | null | undefined)?.seed),
      vendorChooses: body.duration === VENDOR_CHOOSES,
      ...(filesIn(body).videos > 0 && { isFromVideo: true }),
    }),
    poll: (upstreamId) => nativeCall(`${TASKS}/${encodeURIComponent(upstreamId)}`, null, { method: 'GET' }),
    cancel: (upstreamId) => nativeCall(`${TASKS}/${encodeURIComponent(upstreamId)}/cancel`, null),
    outcome,
  },

  plain: { fields: ['duration', 'resolution', 'size', 'images'], body: plainBody },
}

interface Reply {
  code?: unknown
  message?: unknown
  output?: {
    task_id?: unknown
    task_status?: unknown
    video_url?: unknown
    code?: unknown
    message?: unknown
  } | null
  usage?: Usage | null
}

interface Usage {
  /** Billed seconds: those of the input and the output. */
  duration?: unknown
  input_video_duration?: unknown
  output_video_duration?: unknown
}

function outcome(reply: object, pollContext: PollContext): TaskOutcome | undefined {
  const { output, usage } = reply as Reply
  const status = textOf(output?.task_status)
  // A body without a status is an error about the poll, not about the task.
  if (status === undefined) return undefined
  if (status === 'FAILED' || status === 'CANCELED') {
    const code = textOf(output?.code) ?? status.toLowerCase()
    const message = textOf(output?.message) ?? 'The upstream gave no reason.'
    return { status: 'failed', document: reply, error: { code, message } }
  }
  // The vendor reports unknown for tasks of earlier days and, for a while, for new ones: only the deadline decides.
  if (status !== 'SUCCEEDED') return { status: 'submitted', document: reply }
  const videoUrl = textOf(output?.video_url)
  if (videoUrl === undefined) return withoutVideo(reply)
  const isBilledByUsage = pollContext.vendorChooses === true || pollContext.isFromVideo === true
  return withVideo(reply, videoUrl, isBilledByUsage && secondsBilled(usage ?? {}, pollContext))
}

/** The seconds that the vendor bills. Those of the output count only if the vendor chooses them. */
function secondsBilled(usage: Usage, { vendorChooses, isFromVideo }: PollContext): Quantities {
  const { duration: all, input_video_duration: input, output_video_duration: output } = usage
  if (isFromVideo !== true) return { second: numberReported(all ?? output) }
  return {
    input_second: numberReported(input ?? numberReported(all) - numberReported(output)),
    ...(vendorChooses === true && {
      second: numberReported(output ?? numberReported(all) - numberReported(input)),
    }),
  }
}

function resolutionOf({ resolution }: Body): string {
  return resolution?.toLowerCase() ?? DEFAULT_RESOLUTION
}

/**
 * Refuses durations that disagree: the vendor obeys `parameters`, so a different duration next to them would be billed wrongly.
 */
function checkSameDuration({ duration, parameters }: Body, model: Model): void {
  const billed = duration ?? secondsOf(undefined, model)
  const asked = parameters?.duration ?? billed
  if (asked === billed) return
  throw invalidRequest(
    'parameters.duration',
    `'parameters.duration' is ${asked}, but 'duration' is ${billed}: give the same in both.`,
  )
}

function checkSameResolution(body: Body): void {
  const billed = resolutionOf(body)
  const { resolution, size } = body.parameters ?? {}
  const parsed = parseSize(size ?? '', '*')
  // The vendor may accept more spellings of a size than are known here, and would make another size than is billed.
  if (given(size) && !parsed) {
    throw invalidRequest(
      'parameters.size',
      `Invalid 'parameters.size': expected width*height such as "1280*720", without spaces, but got "${size.slice(0, 32)}".`,
    )
  }
  const fields = [
    ['resolution', resolution, resolution?.toLowerCase()],
    ['size', size, parsed && resolutionOfSize(parsed)],
  ] as const
  for (const [name, value, means] of fields) {
    if (!given(value) || means === billed) continue
    throw invalidRequest(
      `parameters.${name}`,
      `'parameters.${name}' is ${value}${name === 'size' ? `, which is ${means}` : ''}, but 'resolution' is ${billed}: give the same in both.`,
    )
  }
}

/**
 * Billed settings that `parameters` omits, in the form that the model reads: otherwise the vendor would choose.
 */
function missingParameters(body: Body, model: Model): Record<string, string> {
  const { duration, resolution, size, ratio } = (body.parameters ?? {}) as Parameters
  const { upstreamModel } = model
  const missing: Record<string, unknown> = {}
  if (!given(duration)) missing.duration = body.duration ?? secondsOf(undefined, model)
  if (takesSize(upstreamModel)) {
    if (!given(size)) missing.size = sizeOf(body)
  } else {
    if (!given(resolution)) missing.resolution = resolutionOf(body).toUpperCase()
    const shape = body.aspect_ratio ?? (FROM_TEXT.test(upstreamModel) ? DEFAULT_RATIO : undefined)
    // Image to video keeps the shape of its image.
    if (!given(ratio) && shape && !FROM_IMAGE.test(upstreamModel)) missing.ratio = shape
  }
  const known = Object.entries(missing).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known.map(([name, value]) => [name, JSON.stringify(value)]))
}

interface Parameters {
  duration?: unknown
  resolution?: unknown
  size?: unknown
  ratio?: unknown
}

/** The size for a resolution and a shape. A resolution without sizes is refused together with its price. */
function sizeOf(body: Body): string | undefined {
  const resolution = resolutionOf(body)
  const ratio = body.aspect_ratio ?? DEFAULT_RATIO
  const sizes = SIZES[resolution]
  if (!sizes) return undefined
  const size = sizes[ratio]
  if (size !== undefined) return size
  throw invalidRequest(
    'aspect_ratio',
    `Unsupported 'aspect_ratio': at ${resolution} there is ${Object.keys(sizes).join(', ')}, but got ${ratio.slice(0, 32)}. Give another size in 'parameters.size'.`,
  )
}

function takesSize(upstreamModel: string): boolean {
  return TAKES_SIZE.test(upstreamModel) && !FROM_IMAGE.test(upstreamModel)
}

function given<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null
}

/**
 * Seconds of input that are held for a model without its own figure: Wan 3.0 accepts reference videos of 15 seconds in total, and
 * bills all of them (docs.comfy.org, wan3.0-video, and docs.laozhang.ai, 2026-11-24).
 */
const INPUT_SECONDS = 15

/** The types of `input.media` that are videos, and pictures, by the vendor's references of Wan 2.7 and 3.0. */
const MEDIA_VIDEOS: ReadonlySet<unknown> = new Set(['reference_video', 'first_clip', 'last_clip', 'video'])
const MEDIA_PICTURES: ReadonlySet<unknown> = new Set(['reference_image', 'first_frame', 'last_frame'])
/** The fields of older models: an address or a list of them. */
const VIDEO_FIELDS = [
  ...['video_url', 'mask_video_url', 'first_clip_url', 'last_clip_url'],
  'reference_video_urls',
]
const PICTURE_FIELDS = [
  ...['img_url', 'image_url', 'first_frame_url', 'last_frame_url', 'mask_image_url'],
  ...['ref_images_url', 'images_url', 'head_frame', 'tail_frame'],
]
const PICTURE_ADDRESS = /^data:image\/|\.(?:png|jpe?g|webp|bmp|gif|tiff?)(?:[?#]|$)/i

/**
 * The number of videos and pictures in the input of a video. A list of Wan 2.6 mixes both: anything that does not look like a
 * picture counts as a video, because videos cost more.
 */
function filesIn({ input }: Body): { videos: number; pictures: number } {
  const fields = input as Record<string, unknown>
  const media = Array.isArray(fields.media) ? fields.media.map((item) => item?.type) : []
  const mixed = [fields.reference_urls, fields.reference_url].flat().filter(given)
  const likePictures = mixed.filter((url) => PICTURE_ADDRESS.test(String(url))).length
  const count = (names: readonly string[]) => names.flatMap((name) => fields[name]).filter(given).length
  return {
    videos:
      media.filter((type) => MEDIA_VIDEOS.has(type)).length +
      count(VIDEO_FIELDS) +
      (mixed.length - likePictures),
    pictures: media.filter((type) => MEDIA_PICTURES.has(type)).length + count(PICTURE_FIELDS) + likePictures,
  }
}

/** The number of references, for newer models; older models list them together with videos. */
function referencesIn({ input }: Body): number {
  const { media } = input as { media?: unknown }
  return Array.isArray(media) ? media.filter((item) => item?.type === 'reference_image').length : 0
}

/** The body of a plain request. Settings that it omits are added to the call as for any other request. */
function plainBody(request: PlainRequest, { upstreamModel }: Model): Record<string, unknown> {
  const { text, duration, images = [] } = request
  const { resolution, ratio, size } = plainPicture(request)
  const exact = size && takesSize(upstreamModel) && { size: `${size.width}*${size.height}` }
  return {
    ...(duration !== undefined && { duration }),
    ...(resolution !== undefined && { resolution }),
    ...(ratio !== undefined && { aspect_ratio: ratio }),
    input: { prompt: text, ...(images.length > 0 && plainImages(images, upstreamModel)) },
    ...(exact && { parameters: exact }),
  }
}

/** One image is the first frame, unless the model wants references. */
function plainImages(images: readonly string[], upstreamModel: string): Record<string, unknown> {
  const areReferences = images.length > 1 || FROM_REFERENCES.test(upstreamModel)
  if (TAKES_SIZE.test(upstreamModel))
    return areReferences ? { reference_urls: images } : { img_url: images[0] }
  const type = areReferences ? 'reference_image' : 'first_frame'
  return { media: images.map((url) => ({ type, url })) }
}
