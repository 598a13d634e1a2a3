// Videos of Wan and its neighbours on DashScope, `vidw*` in the spec: `input` and `parameters` are the vendor's own and go
// through byte for byte; the fields beside them say what is billed.
// The vendor hardly checks a submit: most of its complaints come with the failed task.

import { type Static, Type } from '@sinclair/typebox'
import type { Family, Memo, Model, PlainRequest, TaskOutcome } from '../family'
import { invalidRequest } from '../lib/errors'
import { parseSize } from '../lib/sizes'
import { checkDuration, OWN_FIELDS, ownFields, quoteSeconds, secondsOf, VENDOR_CHOOSES } from './videos'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    duration: Type.Optional(Type.Integer({ minimum: -1, description: 'Seconds, for billing.' })),
    resolution: Type.Optional(Type.String({ description: 'Such as 720p, for billing.' })),
    aspect_ratio: Type.Optional(Type.String()),
    input: Type.Object({}, open),
    parameters: Type.Optional(
      Type.Object(
        {
          duration: Type.Optional(Type.Integer()),
          resolution: Type.Optional(Type.String()),
          size: Type.Optional(Type.String()),
        },
        open,
      ),
    ),
  },
  open,
)
type Body = Static<typeof Body>

const DEFAULT_RESOLUTION = '720p'
/** What the vendor makes of a request that does not say how long. */
const VENDOR_DURATION = 5
/** The largest number of pixels of each class that sizes are priced by. */
const CLASSES: readonly [name: string, pixels: number][] = [
  ['480p', 600_000],
  ['720p', 1_400_000],
  ['1080p', Number.POSITIVE_INFINITY],
]

export const dashscopeVideo: Family<Body> = {
  name: 'dashscope-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,

  check(body, model) {
    checkDuration(body.duration, model)
    checkSameDuration(body, model)
    checkSameResolution(body)
  },

  tier: ({ resolution }) => ({
    field: 'resolution',
    names: [resolution?.toLowerCase() ?? DEFAULT_RESOLUTION],
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
    return { failed: typeof code === 'string' && code !== '' && !output?.task_id }
  },

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Reply).output?.task_id),
    memo: ({ duration, parameters }) => ({
      seed: (parameters as { seed?: unknown } | undefined)?.seed ?? null,
      vendorChooses: duration === VENDOR_CHOOSES,
    }),
    poll: (upstreamId) => ({
      method: 'GET',
      path: `/tasks/${encodeURIComponent(upstreamId)}`,
      protocol: 'native',
      body: null,
      stream: false,
    }),
    cancel: (upstreamId) => ({
      path: `/tasks/${encodeURIComponent(upstreamId)}/cancel`,
      protocol: 'native',
      body: null,
      stream: false,
    }),
    outcome,
  },

  plain: { fields: ['duration', 'resolution', 'images'], body: plainBody },
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
  }
  usage?: { duration?: unknown; output_video_duration?: unknown }
}

function outcome(reply: object, memo: Memo): TaskOutcome {
  const { output, usage } = reply as Reply
  const status = textOf(output?.task_status)
  if (status === 'FAILED' || status === 'CANCELED') {
    const code = textOf(output?.code) ?? (status === 'CANCELED' ? 'canceled' : 'failed')
    return {
      status: 'failed',
      document: reply,
      error: { code, message: textOf(output?.message) ?? 'The upstream gave no reason.' },
    }
  }
  // Unknown is what it says of tasks of other days and, for a while, of new ones: only the deadline tells.
  if (status !== 'SUCCEEDED') return { status: 'submitted', document: reply }
  const videoUrl = textOf(output?.video_url)
  if (videoUrl === undefined) {
    const message = 'The upstream calls the task done but gave no video.'
    return { status: 'failed', document: reply, error: { code: 'no_video', message } }
  }
  const seconds = Number(usage?.output_video_duration ?? usage?.duration)
  return {
    status: 'succeeded',
    videoUrl,
    document: {
      ...reply,
      content: { video_url: videoUrl },
      video_url: videoUrl,
      ...(memo.seed !== null && { seed: memo.seed }),
    },
    ...(memo.vendorChooses === true && { quantities: { second: seconds } }),
  }
}

/** A size of each class, for models that know no resolutions. */
const SIZE_OF_CLASS: Readonly<Record<string, string>> = {
  '480p': '832*480',
  '720p': '1280*720',
  '1080p': '1920*1080',
}

/** Each generation of models has its own words for the same (spec, protocol versions). */
function plainBody(request: PlainRequest, model: Model): Record<string, unknown> {
  const { text, images = [], resolution = DEFAULT_RESOLUTION } = request
  const duration = request.duration ?? secondsOf(undefined, model)
  const { upstreamModel } = model
  const isOlder = /^wan2\.[0-6]/.test(upstreamModel)
  const beginsWithImage = /-i2v/.test(upstreamModel)
  const type = beginsWithImage ? 'first_frame' : 'reference_image'
  const older = beginsWithImage ? { img_url: images[0] } : { reference_urls: images }
  const references = isOlder ? older : { media: images.map((url) => ({ type, url })) }
  const size = SIZE_OF_CLASS[resolution.toLowerCase()]
  return {
    duration,
    resolution,
    input: { prompt: text, ...(images.length > 0 && references) },
    parameters: {
      duration,
      ...(isOlder && !beginsWithImage ? { size } : { resolution: resolution.toUpperCase() }),
    },
  }
}

/** The vendor obeys `parameters`; who could state another duration beside them would pay for less than they get. */
function checkSameDuration(body: Body, model: Model): void {
  const billed = body.duration ?? secondsOf(undefined, model)
  const asked = body.parameters?.duration ?? VENDOR_DURATION
  if (asked === billed) return
  throw invalidRequest(
    'parameters.duration',
    `'parameters.duration' is ${body.parameters?.duration ?? `absent, which makes ${VENDOR_DURATION} seconds`}, but 'duration' is ${billed}: give the same in both.`,
  )
}

function checkSameResolution(body: Body): void {
  const billed = body.resolution?.toLowerCase() ?? DEFAULT_RESOLUTION
  const { resolution, size } = body.parameters ?? {}
  const parsed = size === undefined ? undefined : parseSize(size, '*')
  const field = resolution === undefined ? 'size' : 'resolution'
  const asked =
    resolution?.toLowerCase() ??
    // A size that is none is for the vendor to refuse.
    (parsed && CLASSES.find(([, pixels]) => parsed.width * parsed.height <= pixels)?.[0])
  if (asked === undefined || asked === billed) return
  throw invalidRequest(
    `parameters.${field}`,
    `'parameters.${field}' is ${resolution ?? size} (${asked}), but 'resolution' is ${billed}: give the same in both.`,
  )
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
