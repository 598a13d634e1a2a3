// Videos of MiniMax H3 over version 2 of its API: first and last frame, reference images, videos and audio. Sources: the types of its own
// client (github.com/MiniMax-AI/cli, src/types/api.ts and src/video/v2.ts, 2026-11), and the pages video-generation-v2-create, -query and
// -delete of platform.minimax.io/docs/api-reference. Length and resolution are always sent, so that what is billed is what is made.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import type {
  FieldRule,
  Model,
  PlainRequest,
  PollContext,
  TaskFamily,
  TaskOutcome,
} from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { asObject } from '../../lib/objects'
import { optionalField } from '../shared-schemas'
import { otherModels, serviceTier } from '../surcharges'
import { addresses } from '../vendor-state'
import {
  billedResolution,
  checkDuration,
  checkReferences,
  checkResolution,
  heldBack,
  nearestResolution,
  numberReported,
  OWN_FIELDS,
  ownFields,
  plainPicture,
  quoteInput,
  quoteSeconds,
  secondsOf,
  textOf,
  tierNames,
  withoutVideo,
  withVideo,
} from './caller-side'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    content: Type.Array(
      Type.Object(
        { type: Type.String(), text: optionalField(Type.String()), role: optionalField(Type.String()) },
        open,
      ),
      {
        minItems: 1,
        maxItems: 32,
        description:
          'A text, and images (`first_frame`, `last_frame`, `reference_image`), videos (`reference_video`) or audio (`reference_audio`) by their `role`.',
      },
    ),
    duration: optionalField(Type.Integer({ description: 'Seconds.' })),
    resolution: optionalField(Type.String({ description: 'Such as 768P or 2K.' })),
    ratio: optionalField(
      Type.String({ description: 'Such as 16:9; `adaptive` is that of the images. A text alone is 16:9.' }),
    ),
    aigc_watermark: optionalField(Type.Boolean()),
  },
  open,
)
type Body = Static<typeof Body>

const fieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  ...addresses(...['image_url', 'video_url', 'audio_url'].map((kind) => `content[].${kind}.url`)),
  {
    field: 'callback_url',
    why: 'the vendor would call it with its own task',
    instead: "Use 'webhook_url'.",
    always: true,
  },
]

/** Models whose input pictures are free: `minimax_free_input_images` of litellm 1.110.2. Frames count among them. */
const FREE_PICTURES: ReadonlyMap<string, number> = new Map([
  ['MiniMax-H3', 5],
  ['MiniMax-H3-Max', 2],
])
/** The maximum length of reference videos in total, in seconds: skill/references/h3-video.md of MiniMax-AI/cli. */
const INPUT_SECONDS = 15
/** Shape of a video from text alone, which has no picture to take it from: the vendor's own client sends it. */
const FRAME_OF_TEXT = '16:9'

export const minimaxVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'minimax-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,
  fieldRules,

  check(body, model) {
    checkDuration(body.duration, model)
    checkResolution(body.resolution, model)
    checkReferences(countOf('image_url', body), 'content', model)
    if (!body.content.some(({ type, text }) => type === 'text' && text?.trim())) {
      throw invalidRequest('content', "Invalid 'content': a text that describes the video is missing.")
    }
  },

  tier: (body, model) => ({
    field: 'resolution',
    names: tierNames(billedResolution(body.resolution, model) ?? 'video', { isSilent: false }),
  }),

  quote: ({ body }, model) => ({
    ...quoteSeconds(body.duration, model),
    ...quoteInput(inputOf(body, model), model, INPUT_SECONDS),
  }),

  call({ body }, model) {
    const isText = body.content.every(({ type }) => type === 'text')
    const resolution = billedResolution(body.resolution, model)
    return nativeCall('/v2/video_generation', {
      edit: {
        set: {
          model: JSON.stringify(model.upstreamModel),
          duration: String(secondsOf(body.duration, model)),
          ...(resolution !== undefined && { resolution: JSON.stringify(resolution.toUpperCase()) }),
          ...(isText && !body.ratio && { ratio: JSON.stringify(FRAME_OF_TEXT) }),
        },
        drop: OWN_FIELDS,
      },
    })
  },

  read: (reply) => ({ end: textOf((reply as Submitted).task_id) === undefined ? 'failed' : undefined }),

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Submitted).task_id),
    pollContext: (body) => (countOf('video_url', body) > 0 ? { isFromVideo: true } : {}),
    poll: (upstreamId) => taskCall('GET', `/v2/query/video_generation/${encodeURIComponent(upstreamId)}`),
    cancel: (upstreamId) => taskCall('DELETE', `/v2/video_generation/${encodeURIComponent(upstreamId)}`),
    // The vendor deletes the record of a finished task, and refuses to stop a running one.
    hasStopped: (reply) => (reply as Submitted).status === 'cancelled',
    outcome,
  },

  plain: { fields: ['duration', 'resolution', 'size', 'images'], body: plainBody },
}

interface Submitted {
  task_id?: unknown
  status?: unknown
}

/** `VideoV2Task` of the vendor's client. */
interface Task {
  status?: unknown
  content?: unknown
  error?: unknown
  usage?: unknown
}

function taskCall(method: 'GET' | 'DELETE', path: string) {
  return nativeCall(path, null, { method })
}

function outcome(reply: object, { isFromVideo }: PollContext): TaskOutcome | undefined {
  const { error, content, usage, ...task } = asObject((reply as { task?: unknown }).task) as Task
  const status = textOf(task.status)
  // A body without a status is an error about the poll, not about the task.
  if (status === undefined) return undefined
  if (status === 'failed' || status === 'cancelled' || status === 'expired') return failureOf(task, error)
  if (status !== 'succeeded') return { status: 'submitted', document: task }
  const videoUrl = textOf(asObject(content).url)
  if (videoUrl === undefined) return withoutVideo(task)
  const billed = billedIn(asObject(usage))
  const seconds = numberReported(billed.input_seconds)
  const document = usage === undefined ? task : { ...task, usage: billed }
  return withVideo(document, videoUrl, isFromVideo === true && { input_second: seconds })
}

/** The usage without tokens: the vendor reports some but bills none. */
function billedIn(usage: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(usage).filter(([name]) => !name.endsWith('_tokens')))
}

/** Codes for sensitive content, in the request and in the video: platform.minimax.io/docs/api-reference/errorcode, 2026-11. */
const SENSITIVE = /\b102[67]\b/

function failureOf(task: Task, error: unknown): TaskOutcome {
  const { code, message } = asObject(error)
  const words = textOf(message) ?? `The upstream ended the task as ${task.status}.`
  if (SENSITIVE.test(`${code} ${words}`)) return heldBack(task)
  return {
    status: 'failed',
    document: task,
    error: { code: textOf(code) ?? String(task.status), message: words },
  }
}

function countOf(type: string, { content }: Body): number {
  return content.filter((item) => item.type === type).length
}

/** The billed input files. */
function inputOf(body: Body, { upstreamModel }: Model): { videos: number; pictures: number } {
  const free = FREE_PICTURES.get(upstreamModel) ?? 0
  return { videos: countOf('video_url', body), pictures: Math.max(0, countOf('image_url', body) - free) }
}

function plainBody(request: PlainRequest, model: Model): Record<string, unknown> {
  const { text, duration, images = [] } = request
  const { resolution: asked, ratio } = plainPicture(request)
  const resolution = asked && nearestResolution(asked, model)
  // One image is the first frame; several are references.
  const role = images.length === 1 ? 'first_frame' : 'reference_image'
  return {
    content: [
      { type: 'text', text },
      ...images.map((url) => ({ type: 'image_url', image_url: { url }, role })),
    ],
    ...(duration !== undefined && { duration }),
    ...(resolution !== undefined && { resolution }),
    ...(ratio !== undefined && { ratio }),
  }
}
