// Videos of Wan and its neighbours on DashScope, `vidw*` in the spec: `input` and `parameters` are the vendor's own and go
// through byte for byte; the fields beside them say what is billed, so these must say the same.
// The vendor hardly checks a submit: most of its complaints come with the failed task.

import { type Static, Type } from '@sinclair/typebox'
import type { Family, FieldRule, Memo, Model, PlainRequest, TaskOutcome } from '../family'
import { invalidRequest } from '../lib/errors'
import { parseSize } from '../lib/sizes'
import {
  checkDuration,
  checkReferences,
  OWN_FIELDS,
  optional,
  ownFields,
  plainPicture,
  quoteSeconds,
  resolutionOfSize,
  secondsOf,
  secondsReported,
  seedAsked,
  textOf,
  tierNames,
  VENDOR_CHOOSES,
  withoutVideo,
} from './videos'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    duration: optional(Type.Integer({ description: 'Seconds, for billing.' })),
    resolution: optional(Type.String({ description: 'Such as 720p, for billing.' })),
    aspect_ratio: optional(Type.String()),
    input: Type.Object({}, { ...open, description: 'What to make, such as `{"prompt": "A red fox"}`.' }),
    parameters: optional(
      Type.Object(
        {
          duration: optional(Type.Integer()),
          resolution: optional(Type.String()),
          size: optional(Type.String()),
        },
        open,
      ),
    ),
  },
  open,
)
type Body = Static<typeof Body>

const DEFAULT_RESOLUTION = '720p'
/** What the vendor makes of a request that does not say how long, or how large. */
const VENDOR_DURATION = 5
const VENDOR_RESOLUTION = '1080p'
const TASKS = '/tasks'

/** Older models take a size, newer ones a resolution; what a model does not take it ignores. */
const TAKES_SIZE = /^wanx?2\.[0-6]-/
/** Image to video took a resolution before the others did. */
const TAKES_EITHER = /^wanx?2\.[0-6]-.*i2v/
const FROM_IMAGE = /-i2v/
const FROM_REFERENCES = /-r2v/
/** What older models take at 16:9. */
const WIDE_SIZES: Record<string, string> = { '480p': '832*480', '720p': '1280*720', '1080p': '1920*1080' }

/** Rewriting of the prompt, shots and water marks cost nothing; sound is a tier of the price. */
const surcharges: readonly FieldRule[] = [
  { field: 'parameters.n', plain: [1], why: 'each video is billed, and one is made here' },
]

export const dashscopeVideo: Family<Body> = {
  name: 'dashscope-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,
  surcharges,

  check(body, model) {
    checkDuration(body.duration, model)
    checkSameDuration(body, model)
    checkSameResolution(body, model)
    checkReferences(referencesIn(body), 'input.media', model)
  },

  tier: (body) => ({
    field: 'resolution',
    names: tierNames(resolutionOf(body), (body.parameters as { audio?: unknown } | null)?.audio === false),
  }),

  quote: ({ body }, model) => quoteSeconds(body.duration, model),

  call(_ask, model) {
    return {
      path: '/services/aigc/video-generation/video-synthesis',
      protocol: 'native',
      headers: { 'x-dashscope-async': 'enable' },
      body: {
        edit: {
          set: { model: JSON.stringify(model.upstreamModel) },
          drop: ['duration', 'resolution', 'aspect_ratio', ...OWN_FIELDS],
        },
      },
      stream: false,
    }
  },

  read(reply) {
    const { code, output } = reply as Reply
    return { failed: textOf(code) !== undefined && !output?.task_id }
  },

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Reply).output?.task_id),
    memo: ({ duration, parameters }) => ({
      ...seedAsked((parameters as { seed?: unknown } | null | undefined)?.seed),
      vendorChooses: duration === VENDOR_CHOOSES,
    }),
    poll: (upstreamId) => ({
      method: 'GET',
      path: `${TASKS}/${encodeURIComponent(upstreamId)}`,
      protocol: 'native',
      body: null,
      stream: false,
    }),
    cancel: (upstreamId) => ({
      path: `${TASKS}/${encodeURIComponent(upstreamId)}/cancel`,
      protocol: 'native',
      body: null,
      stream: false,
    }),
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
  usage?: { duration?: unknown; output_video_duration?: unknown } | null
}

function outcome(reply: object, memo: Memo): TaskOutcome | undefined {
  const { output, usage } = reply as Reply
  const status = textOf(output?.task_status)
  // A complaint of the vendor's about the question, not about the task.
  if (status === undefined) return undefined
  if (status === 'FAILED' || status === 'CANCELED') {
    const code = textOf(output?.code) ?? status.toLowerCase()
    const message = textOf(output?.message) ?? 'The upstream gave no reason.'
    return { status: 'failed', document: reply, error: { code, message } }
  }
  // Unknown is what it says of tasks of other days and, for a while, of new ones: only the deadline tells.
  if (status !== 'SUCCEEDED') return { status: 'submitted', document: reply }
  const videoUrl = textOf(output?.video_url)
  if (videoUrl === undefined) return withoutVideo(reply)
  return {
    status: 'succeeded',
    videoUrl,
    document: {
      ...reply,
      content: { video_url: videoUrl },
      video_url: videoUrl,
    },
    ...(memo.vendorChooses === true && {
      quantities: secondsReported(usage?.output_video_duration ?? usage?.duration),
    }),
  }
}

function resolutionOf({ resolution }: Body): string {
  return resolution?.toLowerCase() ?? DEFAULT_RESOLUTION
}

/** The vendor obeys `parameters`; who could state another duration beside them would pay for less than they get. */
function checkSameDuration({ duration, parameters }: Body, model: Model): void {
  const billed = duration ?? secondsOf(undefined, model)
  const asked = parameters?.duration ?? VENDOR_DURATION
  if (asked === billed) return
  const absent = `absent, which makes ${VENDOR_DURATION} seconds`
  throw invalidRequest(
    'parameters.duration',
    `'parameters.duration' is ${parameters?.duration ?? absent}, but 'duration' is ${billed}: give the same in both.`,
  )
}

function checkSameResolution(body: Body, { upstreamModel }: Model): void {
  const billed = resolutionOf(body)
  const { resolution, size } = body.parameters ?? {}
  const parsed = parseSize(size ?? '', '*')
  // The vendor may read more writings of a size than is known here, and would make another one than is billed.
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
  const taken = TAKES_SIZE.test(upstreamModel) ? 'size' : 'resolution'
  const isGiven = (taken === 'size' ? size : resolution) || (TAKES_EITHER.test(upstreamModel) && resolution)
  // Said nowhere, it is billed as the caller asked; said in the field that this vendor does not read, it is a mistake.
  const isSaid = given(resolution) || given(size)
  if (isGiven || !isSaid || billed === VENDOR_RESOLUTION) return
  const example = taken === 'size' ? (WIDE_SIZES[billed] ?? '1280*720') : billed.toUpperCase()
  throw invalidRequest(
    `parameters.${taken}`,
    `'parameters.${taken}' is absent, which makes ${VENDOR_RESOLUTION}, but 'resolution' is ${billed}: give the same in both, here such as "${example}".`,
    'missing_required_parameter',
  )
}

function given(value: string | null | undefined): value is string {
  return value !== undefined && value !== null
}

/** Only where the newer models have them; in the form of the older ones they are one list with videos. */
function referencesIn({ input }: Body): number {
  const { media } = input as { media?: unknown }
  return Array.isArray(media) ? media.filter((item) => item?.type === 'reference_image').length : 0
}

function plainBody(request: PlainRequest, { upstreamModel }: Model): Record<string, unknown> {
  const { text, duration = VENDOR_DURATION, images = [] } = request
  const { resolution = DEFAULT_RESOLUTION, ratio, size } = plainPicture(request)
  const wide = size ? `${size.width}*${size.height}` : WIDE_SIZES[resolution]
  const picture = TAKES_SIZE.test(upstreamModel)
    ? { size: wide }
    : {
        resolution: resolution.toUpperCase(),
        // Image to video has the shape of its image.
        ...(ratio !== undefined && !FROM_IMAGE.test(upstreamModel) && { ratio }),
      }
  return {
    duration,
    resolution,
    ...(ratio !== undefined && { aspect_ratio: ratio }),
    input: { prompt: text, ...(images.length > 0 && plainImages(images, upstreamModel)) },
    parameters: { ...picture, duration },
  }
}

/** One image is where the video begins, unless the model wants references. */
function plainImages(images: readonly string[], upstreamModel: string): Record<string, unknown> {
  const areReferences = images.length > 1 || FROM_REFERENCES.test(upstreamModel)
  if (TAKES_SIZE.test(upstreamModel))
    return areReferences ? { reference_urls: images } : { img_url: images[0] }
  const type = areReferences ? 'reference_image' : 'first_frame'
  return { media: images.map((url) => ({ type, url })) }
}
