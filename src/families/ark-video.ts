// Videos of Seedance on Ark: first and last frame, reference images, videos and sounds, drafts, seeds.
// The body is the vendor's own and goes through; the task that it answers with has the very form that the spec gives tasks.

import { type Static, Type } from '@sinclair/typebox'
import type { Family, Memo, TaskOutcome } from '../family'
import { invalidRequest } from '../lib/errors'
import type { Edit } from '../lib/json'
import {
  checkDuration,
  checkReferences,
  OWN_FIELDS,
  ownFields,
  quoteSeconds,
  secondsOf,
  VENDOR_CHOOSES,
} from './videos'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    content: Type.Array(Type.Object({ type: Type.String(), text: Type.Optional(Type.String()) }, open), {
      minItems: 1,
      maxItems: 128,
    }),
    duration: Type.Optional(
      Type.Integer({ minimum: -1, description: 'Seconds; -1 leaves it to the model.' }),
    ),
    resolution: Type.Optional(Type.String({ description: 'Such as 720p.' })),
    ratio: Type.Optional(Type.String()),
    seed: Type.Optional(Type.Integer({ minimum: -1, maximum: 4_294_967_295 })),
    draft: Type.Optional(Type.Boolean()),
    generate_audio: Type.Optional(Type.Boolean()),
  },
  open,
)
type Body = Static<typeof Body>

const DEFAULT_RESOLUTION = '720p'
const DRAFT_RESOLUTION = '480p'
/** Settings that older models read out of the prompt, where nobody could bill them. */
const COMMANDS = /(?:^|\s)--(?:rs|resolution|dur|duration|frames)(?=\s|$)/i

export const arkVideo: Family<Body> = {
  name: 'ark-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,

  check(body, model) {
    checkDuration(body.duration, model)
    checkReferences(body.content.filter(isImage).length, 'content', model)
    for (const field of ['frames', 'callback_url']) {
      if (!(field in body)) continue
      const instead = field === 'frames' ? "'duration' in seconds" : "'webhook_url'"
      throw invalidRequest(field, `'${field}' is not taken here: use ${instead}.`, 'unsupported_parameter')
    }
    body.content.forEach(({ text }, index) => {
      const command = text && COMMANDS.exec(text)?.[0].trim()
      if (!command) return
      throw invalidRequest(
        `content[${index}].text`,
        `The text has the setting '${command}': give it as 'duration' or 'resolution' instead.`,
      )
    })
  },

  tier(body) {
    const resolution = resolutionOf(body)
    return { field: 'resolution', names: body.draft ? ['draft', resolution] : [resolution] }
  },

  quote: ({ body }, model) => quoteSeconds(body.duration, model),

  call({ body }, model) {
    const set: Edit['set'] = { model: JSON.stringify(model.upstreamModel) }
    if (body.duration === undefined) set.duration = String(secondsOf(undefined, model))
    if (body.resolution === undefined) set.resolution = JSON.stringify(resolutionOf(body))
    return {
      path: '/contents/generations/tasks',
      protocol: 'native',
      body: { edit: { set, drop: OWN_FIELDS } },
      stream: false,
    }
  },

  read: (reply) => ({ failed: 'error' in (reply as object) && !textOf((reply as Reply).id) }),

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Reply).id),
    memo: ({ duration }) => ({ vendorChooses: duration === VENDOR_CHOOSES }),
    poll: (upstreamId) => ({ ...taskCall(upstreamId), method: 'GET' }),
    cancel: (upstreamId) => ({ ...taskCall(upstreamId), method: 'DELETE' }),
    outcome,
  },

  plain: {
    fields: ['duration', 'resolution', 'images'],
    body: ({ text, images = [], ...options }) => {
      // One image is where the video begins, several are what is to be in it.
      const role = images.length > 1 ? 'reference_image' : 'first_frame'
      const references = images.map((url) => ({ type: 'image_url', image_url: { url }, role }))
      return { content: [{ type: 'text', text }, ...references], ...options }
    },
  },
}

interface Reply {
  id?: unknown
  status?: unknown
  error?: { code?: unknown; message?: unknown } | null
  content?: { video_url?: unknown } | null
  duration?: unknown
}

function taskCall(upstreamId: string) {
  return {
    path: `/contents/generations/tasks/${encodeURIComponent(upstreamId)}`,
    protocol: 'native' as const,
    body: null,
    stream: false,
  }
}

function outcome(reply: object, memo: Memo): TaskOutcome {
  const { status, error, content, duration } = reply as Reply
  if (status === 'failed' || status === 'cancelled' || status === 'expired') {
    const message = textOf(error?.message) ?? `The upstream ended the task as ${status}.`
    return {
      status: 'failed',
      document: reply,
      error: { code: textOf(error?.code) ?? status, message },
    }
  }
  if (status !== 'succeeded') return { status: 'submitted', document: reply }
  const videoUrl = textOf(content?.video_url)
  if (videoUrl === undefined) {
    const message = 'The upstream calls the task done but gave no video.'
    return { status: 'failed', document: reply, error: { code: 'no_video', message } }
  }
  return {
    status: 'succeeded',
    videoUrl,
    document: { ...reply, video_url: videoUrl },
    ...(memo.vendorChooses === true && { quantities: { second: Number(duration) } }),
  }
}

function resolutionOf({ resolution, draft }: Body): string {
  return resolution?.toLowerCase() ?? (draft ? DRAFT_RESOLUTION : DEFAULT_RESOLUTION)
}

function isImage({ type }: { type: string }): boolean {
  return type === 'image_url'
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
