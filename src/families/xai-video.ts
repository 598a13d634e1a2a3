// Videos of Grok Imagine, `gkx-imagine-video*` in the spec: from a text, or from an image as the first frame.
// Duration and resolution are always stated to the vendor, so that what is billed is what it makes.

import { type Static, Type } from '@sinclair/typebox'
import type { Family, TaskOutcome } from '../family'
import { invalidRequest } from '../lib/errors'
import type { Edit } from '../lib/json'
import { checkDuration, checkReferences, OWN_FIELDS, ownFields, quoteSeconds, secondsOf } from './videos'

const open = { additionalProperties: true }
const Reference = Type.Object({ url: Type.String({ minLength: 1 }) }, open)

const Body = Type.Object(
  {
    ...ownFields,
    prompt: Type.Optional(Type.String({ minLength: 1 })),
    duration: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'Seconds.' })),
    resolution: Type.Optional(Type.String({ description: 'Such as 480p or 720p.' })),
    aspect_ratio: Type.Optional(Type.String()),
    image: Type.Optional(Reference),
    reference_images: Type.Optional(Type.Array(Reference, { maxItems: 16 })),
  },
  open,
)
type Body = Static<typeof Body>

const DEFAULT_RESOLUTION = '480p'

export const xaiVideo: Family<Body> = {
  name: 'xai-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,

  check(body, model) {
    checkDuration(body.duration, model)
    const references = (body.image ? 1 : 0) + (body.reference_images?.length ?? 0)
    if (references === 0 && (model.referenceImages?.min ?? 0) > 0) {
      throw invalidRequest(
        'image',
        `Missing required parameter: 'image'. ${model.id} makes videos from an image: send an object with its 'url'.`,
        'missing_required_parameter',
      )
    }
    checkReferences(references, 'image', model)
    if (references === 0 && body.prompt === undefined) {
      throw invalidRequest(
        'prompt',
        "Missing required parameter: 'prompt'. Only a video from an image can do without.",
        'missing_required_parameter',
      )
    }
  },

  tier: ({ resolution }) => ({ field: 'resolution', names: [resolution ?? DEFAULT_RESOLUTION] }),

  quote: ({ body }, model) => quoteSeconds(body.duration, model),

  call({ body }, model) {
    const set: Edit['set'] = { model: JSON.stringify(model.upstreamModel) }
    if (body.duration === undefined) set.duration = String(secondsOf(undefined, model))
    if (body.resolution === undefined) set.resolution = JSON.stringify(DEFAULT_RESOLUTION)
    return {
      path: '/videos/generations',
      protocol: 'native',
      body: { edit: { set, drop: OWN_FIELDS } },
      stream: false,
    }
  },

  read: (reply) => ({ failed: 'error' in (reply as object) && !textOf((reply as Reply).request_id) }),

  task: {
    submittedStatus: 200,
    id: (reply) => textOf((reply as Reply).request_id),
    memo: () => ({}),
    poll: (upstreamId) => ({
      method: 'GET',
      path: `/videos/${encodeURIComponent(upstreamId)}`,
      protocol: 'native',
      body: null,
      stream: false,
    }),
    outcome,
  },

  plain: {
    fields: ['duration', 'resolution', 'images'],
    body: ({ text, images = [], ...options }) => {
      const references = images.map((url) => ({ url }))
      return {
        prompt: text,
        ...options,
        ...(references.length === 1 && { image: references[0] }),
        ...(references.length > 1 && { reference_images: references }),
      }
    },
  },
}

interface Reply {
  request_id?: unknown
  status?: unknown
  progress?: unknown
  error?: unknown
  video?: { url?: unknown; respect_moderation?: unknown } | null
}

function outcome(reply: object): TaskOutcome {
  const { status, video, progress } = reply as Reply
  const videoUrl = textOf(video?.url)
  if (status === 'failed' || status === 'expired') {
    return { status: 'failed', document: reply, error: errorOf(reply as Reply, String(status)) }
  }
  // Older answers have no status: the address of the video says that it is done.
  const done = status === 'done' || (status === undefined && video !== undefined && video !== null)
  if (!done) {
    const known = typeof progress === 'number' ? { progress } : {}
    return { status: 'submitted', document: reply, ...known }
  }
  if (videoUrl === undefined || video?.respect_moderation === false) {
    const message = 'The video was held back by the content moderation of the upstream.'
    return { status: 'failed', document: reply, error: { code: 'content_policy_violation', message } }
  }
  return {
    status: 'succeeded',
    videoUrl,
    document: { ...reply, content: { video_url: videoUrl }, video_url: videoUrl },
  }
}

function errorOf({ error }: Reply, status: string): { code: string; message: string } {
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<
    string,
    unknown
  >
  const words =
    textOf(message) ?? textOf(error) ?? (status === 'expired' ? 'The task expired.' : 'No reason was given.')
  return { code: textOf(code) ?? status, message: words }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
