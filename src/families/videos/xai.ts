// Videos of Grok Imagine, `gkx-imagine-video*` in gateway.config.ts: from a text, or from an image as the first frame.
// Duration and resolution must always be sent to the vendor, so that what is billed is what it makes.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import type { Call, EarlierVideo, Model, OwnTaskForm, TaskFamily, TaskOutcome } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { invalidRequest } from '../../lib/errors'
import { asObject } from '../../lib/objects'
import { optionalField } from '../shared-schemas'
import { otherModels, serviceTier } from '../surcharges'
import { addresses, clonedVoices, fileIds } from '../vendor-state'
import {
  checkDuration,
  checkReferences,
  heldBack,
  OWN_FIELDS,
  ownFields,
  plainPicture,
  quoteInput,
  quoteSeconds,
  secondsOf,
  textOf,
  withVideo,
} from './caller-side'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    prompt: optionalField(Type.String({ minLength: 1 })),
    duration: optionalField(Type.Number({ description: 'Seconds.' })),
    resolution: optionalField(Type.String({ description: 'Such as 480p or 720p.' })),
    aspect_ratio: optionalField(Type.String()),
    image: Type.Optional(
      Type.Unknown({ description: 'First frame: `{"url": "https://…"}`, or with a data URL in it.' }),
    ),
    reference_images: Type.Optional(Type.Unknown({ description: 'Images as in `image`.' })),
  },
  open,
)
type Body = Static<typeof Body>

/** Members that hold a picture, audio or a video, by `GenerateVideoRequest` of xai-sdk 1.21 (November 2026). */
const sources = [
  'image',
  'last_frame',
  'keyframes[].image',
  'reference_images[]',
  'reference_audios[]',
  'video',
]

const DEFAULT_RESOLUTION = '480p'

/** The form that the vendor's own clients read: they identify a task by `request_id`, and use other states. */
const ownForm: OwnTaskForm = {
  submitted: (upstreamId) => ({ request_id: upstreamId }),
  shown(upstreamId, { status, ...task }) {
    const { code } = asObject(task.error)
    const state =
      status === 'succeeded'
        ? 'done'
        : status === 'submitted'
          ? 'pending'
          : code === 'expired'
            ? code
            : 'failed'
    return {
      status: state === 'pending' ? 202 : 200,
      body: { ...task, request_id: upstreamId, status: state },
    }
  },
}

export const xaiVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'xai-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,
  fieldRules: [
    serviceTier,
    ...otherModels,
    ...fileIds(...sources.map((source) => `${source}.file_id`)),
    ...addresses(...sources.map((source) => `${source}.url`)),
    clonedVoices('reference_audios[].voice_id', /^(ara|eve|leo|rex|sal)$/i),
  ],
  fields: ['generate_audio', 'reference_audios', 'storage_options', 'user'],

  check(body, model) {
    checkDuration(body.duration, model)
    checkImages(body)
    const { image, prompt } = body
    if (!image && (model.referenceImages?.min ?? 0) > 0) {
      throw invalidRequest(
        'image',
        `Missing required parameter: 'image'. ${model.id} makes videos from an image: send an object with its 'url'.`,
        'missing_required_parameter',
      )
    }
    const references = referencesOf(body).length
    checkReferences(references, image ? 'image' : 'reference_images', model)
    if (references === 0 && !prompt) {
      throw invalidRequest(
        'prompt',
        "Missing required parameter: 'prompt'. Only a video from an image can do without.",
        'missing_required_parameter',
      )
    }
  },

  tier: (body) => ({ field: 'resolution', names: [resolutionOf(body)] }),

  quote: ({ body, remixOf }, model) => ({
    ...quoteSeconds(body.duration, model),
    ...quoteInput({ videos: videosOf(body), pictures: picturesOf(body) }, model, INPUT_SECONDS),
    // A price list without a price for edited videos includes it in the price per second.
    ...(remixOf && hasPrice(model.priceList, 'input_second') && { input_second: remixOf.seconds }),
  }),

  call({ body, remixOf }, model) {
    if (remixOf) return editCall(body, remixOf, model)
    return nativeCall('/videos/generations', {
      edit: {
        set: {
          model: JSON.stringify(model.upstreamModel),
          // Started seconds are billed in full, so whole seconds are requested.
          duration: String(secondsOf(body.duration, model)),
          resolution: JSON.stringify(resolutionOf(body)),
        },
        drop: OWN_FIELDS,
      },
    })
  },

  read: (reply) => ({
    end: 'error' in (reply as object) && !textOf((reply as Reply).request_id) ? 'failed' : undefined,
  }),

  task: {
    submittedStatus: 200,
    id: (reply) => textOf((reply as Reply).request_id),
    pollContext: (body) => ({ resolution: resolutionOf(body) }),
    remix,
    poll: (upstreamId) => nativeCall(`/videos/${encodeURIComponent(upstreamId)}`, null, { method: 'GET' }),
    ownForm,
    outcome,
  },

  plain: {
    fields: ['duration', 'resolution', 'size', 'images'],
    body(request) {
      const { text, duration, images = [] } = request
      const { resolution, ratio } = plainPicture(request)
      const references = images.map((url) => ({ url }))
      return {
        prompt: text,
        ...(duration !== undefined && { duration }),
        ...(resolution !== undefined && { resolution }),
        ...(ratio !== undefined && { aspect_ratio: ratio }),
        ...(references.length === 1 && { image: references[0] }),
        ...(references.length > 1 && { reference_images: references }),
      }
    },
  },
}

/**
 * Maximum length of a video that the vendor edits, in seconds. Lengths are integers, and the edited video is as long as the earlier
 * one.
 */
const EDITED_SECONDS = 8
/** The maximum resolution of an edited video, if that of the earlier one is unknown. */
const EDITED_RESOLUTION = '720p'

function remix(
  prompt: string,
  { id, seconds, pollContext }: EarlierVideo,
  { id: model, referenceImages }: Model,
): Record<string, unknown> {
  if ((referenceImages?.min ?? 0) > 0) {
    throw invalidRequest('id', `${model} makes videos from images: it cannot make another one of ${id}.`)
  }
  if (seconds > EDITED_SECONDS) {
    throw invalidRequest(
      'id',
      `${id} has ${seconds} seconds: ${model} makes another one of a video of up to ${EDITED_SECONDS} seconds.`,
    )
  }
  return { prompt, duration: seconds, resolution: textOf(pollContext.resolution) ?? EDITED_RESOLUTION }
}

/** The vendor takes length, shape and resolution from the earlier video. */
function editCall({ prompt }: Body, { url }: EarlierVideo, model: Model): Call {
  return nativeCall('/videos/edits', { json: { model: model.upstreamModel, prompt, video: { url } } })
}

interface Reply {
  request_id?: unknown
  status?: unknown
  progress?: unknown
  error?: unknown
  video?: { url?: unknown; respect_moderation?: unknown } | null
}

function outcome(reply: object): TaskOutcome | undefined {
  const { status, video, progress, error } = reply as Reply
  const videoUrl = textOf(video?.url)
  if (status === 'failed' || status === 'expired') {
    return { status: 'failed', document: reply, error: errorOf(reply as Reply, status) }
  }
  // A body without a status is an error about the poll, not about the task.
  if (status === undefined && error) return undefined
  // Older answers have no status: if they have a video, the task is done.
  const done = status === 'done' || (status === undefined && video)
  if (!done) {
    const known = typeof progress === 'number' ? { progress } : {}
    return { status: 'submitted', document: reply, ...known }
  }
  if (videoUrl === undefined || video?.respect_moderation === false) return heldBack(reply)
  return withVideo(reply, videoUrl)
}

function errorOf({ error }: Reply, status: string): { code: string; message: string } {
  const { code, message } = (typeof error === 'object' && error !== null ? error : {}) as Record<
    string,
    unknown
  >
  const words =
    textOf(message) ??
    textOf(error) ??
    (status === 'expired' ? 'The upstream let the task expire.' : 'The upstream gave no reason.')
  return { code: textOf(code) ?? status, message: words }
}

function resolutionOf({ resolution }: Body): string {
  return resolution?.toLowerCase() ?? DEFAULT_RESOLUTION
}

function referencesOf({ image, reference_images: references }: Body): unknown[] {
  return [...(image ? [image] : []), ...(Array.isArray(references) ? references : [])]
}

/** Maximum length of a video that can be sent, in seconds, rounded up: the vendor edits 8.7 (docs.x.ai, video editing). */
const INPUT_SECONDS = 9

function videosOf(body: Body): number {
  return textOf(asObject((body as { video?: unknown }).video).url) === undefined ? 0 : 1
}

/** The number of billed pictures: first and last frame, frames between them, and references. */
function picturesOf(body: Body): number {
  const { last_frame: last, keyframes } = body as { last_frame?: unknown; keyframes?: unknown }
  return referencesOf(body).length + (last ? 1 : 0) + (Array.isArray(keyframes) ? keyframes.length : 0)
}

/** Refuses images that do not fit, because the vendor's own refusal is unclear. */
function checkImages({ image, reference_images: references }: Body): void {
  if (image !== undefined && image !== null) checkImage(image, 'image')
  if (references === undefined || references === null) return
  if (!Array.isArray(references)) {
    throw invalidRequest(
      'reference_images',
      "Invalid type for 'reference_images': expected an array of objects with a 'url'.",
      'invalid_type',
    )
  }
  for (const [index, reference] of references.entries()) checkImage(reference, `reference_images[${index}]`)
}

function checkImage(image: unknown, field: string): void {
  if (textOf((image as { url?: unknown } | null)?.url) !== undefined) return
  throw invalidRequest(
    field,
    `Invalid '${field}': expected an object such as {"url": "https://example.com/cat.jpg"}${typeof image === 'string' ? ', but got a string' : ''}.`,
    'invalid_type',
  )
}
