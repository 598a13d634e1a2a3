// Videos of Gemini Omni through Google's Interactions API: from a text, first and last frame, pictures, a video to edit, or an earlier
// video. The body is that of `POST /interactions`, by the types of @google/genai 3.3; the interaction runs in the background and is
// polled. Tokens are billed. Length and resolution are always sent, so that no more is made than is held.

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
import { asObject } from '../../lib/objects'
import { optionalField } from '../shared-schemas'
import { otherModels, serviceTier } from '../surcharges'
import { addresses, namedCaches } from '../vendor-state'
import {
  checkDuration,
  checkReferences,
  heldBack,
  numberReported,
  OWN_FIELDS,
  ownFields,
  plainPicture,
  secondsOf,
  textOf,
  tierNames,
  withoutVideo,
  withVideo,
} from './caller-side'

const open = { additionalProperties: true }

const Format = Type.Object(
  {
    type: Type.Literal('video'),
    aspect_ratio: optionalField(Type.String()),
    duration: optionalField(Type.String({ pattern: '^\\d{1,3}s$', description: 'Such as 5s.' })),
    resolution: optionalField(Type.String({ pattern: '^(360p|720p|1080p|4k)$' })),
  },
  open,
)

const Body = Type.Object(
  {
    ...ownFields,
    input: Type.Union(
      [
        Type.String({ minLength: 1 }),
        Type.Array(Type.Object({ type: Type.String(), text: optionalField(Type.String()) }, open), {
          minItems: 1,
          maxItems: 32,
        }),
      ],
      { description: 'A text, or parts: texts, images and videos.' },
    ),
    response_format: optionalField(Format),
    generation_config: optionalField(
      Type.Object(
        { video_config: optionalField(Type.Object({ task: optionalField(Type.String()) }, open)) },
        open,
      ),
    ),
    previous_interaction_id: optionalField(
      Type.String({ description: 'The id of an earlier video of the same model, which is edited.' }),
    ),
  },
  open,
)
type Body = Static<typeof Body>

/** Members that would change how the answer is delivered, or which model answers. */
const OTHERWISE = ['background', 'store', 'stream', 'agent', 'tools', 'webhook_config', 'response_modalities']

const fieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  ...addresses('input[].uri'),
  ...namedCaches('cached_content'),
  ...OTHERWISE.map(
    (field): FieldRule => ({
      field,
      why: 'the gateway always runs the video in the background and polls it',
      instead: 'Leave it out.',
      always: true,
    }),
  ),
  {
    field: 'response_format.delivery',
    why: 'the gateway fetches the file from its URL',
    instead: 'Leave it out.',
    always: true,
  },
]

/**
 * Maximum number of tokens per second of video, input and output alike, by resolution. A recorded video of ten seconds at 720p has 57,920;
 * at 360p it costs a third (Google's announcement of 1.1), and at 1080p and 4k 1.5 times and three times as much: 260,640 tokens,
 * the most that the model writes, are fifteen seconds at 4k (litellm 1.110.2, vertex_ai/gemini-omni-1.2-flash).
 */
const TOKENS_A_SECOND: ReadonlyMap<string, number> = new Map([
  ['360p', 2_000],
  ['720p', 5_800],
  ['1080p', 8_700],
  ['4k', 17_400],
])
const DEFAULT_RESOLUTION = '720p'
/**
 * Maximum length of a video that is edited or continued, in seconds, for a model without its own figure: vercel.com/changelog,
 * Gemini Omni 1.2.
 */
const INPUT_SECONDS = 15
/** Tokens held for a picture: docs.cloud.google.com has 1,120 at the usual resolution. */
const PICTURE_TOKENS = 2_240
/** Tokens held for thoughts and text next to the video; recorded answers have up to 900. */
const WORDS_TOKENS = 4_096

export const geminiVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'gemini-video',
  operation: 'video',
  units: [['input_token', 'output_token', 'output_video_token'], ['second']],
  dialect: 'openai',
  body: Body,
  fieldRules,
  fields: ['input[].data', 'input[].mime_type', 'input[].name', 'labels', 'safety_settings'],

  check(body, model) {
    checkDuration(requestedSeconds(body), model, 'response_format.duration')
    checkReferences(countOf('image', body), 'input', model)
    if (isEdit(body) && requestedSeconds(body) !== undefined) {
      throw invalidRequest(
        'response_format.duration',
        `Unsupported 'response_format.duration': an edited video is as long as its source. Leave it out.`,
        'unsupported_parameter',
      )
    }
  },

  tier: (body) => ({
    field: 'response_format.resolution',
    names: tierNames(resolutionOf(body), { isSilent: false }),
  }),

  quote({ body, byteLength }, model): Quantities {
    if (isBySecond(model)) return { second: mostSeconds(body, model) }
    const each = tokensASecond(body)
    const most = model.maxInputSeconds ?? INPUT_SECONDS
    const media = countOf('image', body) * PICTURE_TOKENS + videosIn(body) * most * each
    // No tokenizer produces more tokens than the text has bytes. Pictures in it are counted both ways, up to the model's limit.
    const input = Math.min(byteLength + media, model.contextTokens ?? Number.POSITIVE_INFINITY)
    return {
      input_token: input,
      output_token: WORDS_TOKENS,
      output_video_token: mostSeconds(body, model) * each,
    }
  },

  call({ body, earlierTasks }, model) {
    const { previous_interaction_id: earlier } = body
    const format = {
      ...body.response_format,
      type: 'video',
      delivery: 'uri',
      resolution: resolutionOf(body),
      ...(!isEdit(body) && { duration: `${secondsOf(requestedSeconds(body), model)}s` }),
    }
    return nativeCall('/interactions', {
      edit: {
        set: {
          model: JSON.stringify(model.upstreamModel),
          background: 'true',
          store: 'true',
          response_format: JSON.stringify(format),
          ...(earlier && { previous_interaction_id: JSON.stringify(earlierTasks?.get(earlier)) }),
        },
        drop: OWN_FIELDS,
      },
    })
  },

  read: (reply) => ({ end: textOf((reply as Interaction).id) === undefined ? 'failed' : undefined }),

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Interaction).id),
    pollContext: (body, model) => ({
      ...(!isEdit(body) && { seconds: secondsOf(requestedSeconds(body), model) }),
      ...(isBySecond(model) && { isBySecond: true }),
    }),
    earlier: ({ previous_interaction_id: id }) => (id ? [{ field: 'previous_interaction_id', id }] : []),
    remix: (prompt, { id }) => ({ input: prompt, previous_interaction_id: id }),
    poll: (upstreamId) => interactionCall('GET', upstreamId, ''),
    cancel: (upstreamId) => interactionCall('POST', upstreamId, '/cancel'),
    hasStopped: (reply) => (reply as Interaction).status === 'cancelled',
    outcome,
  },

  plain: { fields: ['duration', 'resolution', 'size', 'images'], body: plainBody },
}

/** `Interaction` of @google/genai 3.3. */
interface Interaction {
  id?: unknown
  status?: unknown
  steps?: unknown
  usage?: unknown
  error?: unknown
  errors?: unknown
}

function interactionCall(method: 'GET' | 'POST', upstreamId: string, more: string) {
  const path = `/interactions/${encodeURIComponent(upstreamId)}${more}`
  return nativeCall(path, null, { method })
}

/** States in which an interaction ends without an answer. */
const FAILURES: readonly unknown[] = [
  'failed',
  'cancelled',
  'incomplete',
  'budget_exceeded',
  'requires_action',
]

function outcome(reply: object, { isBySecond: isCounted }: PollContext): TaskOutcome | undefined {
  const { status: state, steps, usage, error, errors } = reply as Interaction
  const status = textOf(state)
  // A body without a status is an error about the poll, not about the task.
  if (status === undefined) return undefined
  const document = { status, ...(usage !== undefined && { usage }) }
  if (FAILURES.includes(status)) return failureOf(status, error ?? (Array.isArray(errors) ? errors[0] : null))
  if (status !== 'completed') return { status: 'submitted', document }
  const figures = quantitiesOf(asObject(usage))
  const videoUrl = videoIn(steps)
  if (videoUrl !== undefined) return withVideo(document, videoUrl, isCounted !== true && figures)
  // If the vendor declines to show something, it answers with text only.
  return (figures.output_video_token ?? 0) > 0 ? withoutVideo({ status }) : heldBack({ status })
}

function failureOf(status: string, error: unknown): TaskOutcome {
  const { code, message } = asObject(error)
  const words = textOf(message) ?? `The upstream ended the task as ${status}.`
  return { status: 'failed', document: { status }, error: { code: textOf(code) ?? status, message: words } }
}

function videoIn(steps: unknown): string | undefined {
  const parts = listOf(steps).flatMap(({ content }) => listOf(content))
  return textOf(parts.find(({ type, uri }) => type === 'video' && textOf(uri) !== undefined)?.uri)
}

/** Tokens by kind. Thoughts are not part of the output, and texts only part of its total. */
function quantitiesOf(usage: Record<string, unknown>): Quantities {
  const kinds = listOf(usage.output_tokens_by_modality)
  const video = kinds.find(({ modality }) => String(modality).toLowerCase() === 'video')
  const made = video === undefined ? 0 : numberReported(video.tokens)
  const thoughts = usage.total_thought_tokens === undefined ? 0 : numberReported(usage.total_thought_tokens)
  return {
    input_token: numberReported(usage.total_input_tokens),
    output_token: numberReported(usage.total_output_tokens) - made + thoughts,
    output_video_token: made,
  }
}

function listOf(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map(asObject) : []
}

function countOf(type: string, { input }: Body): number {
  return typeof input === 'string' ? 0 : input.filter((part) => part.type === type).length
}

function videosIn(body: Body): number {
  return countOf('video', body) + (body.previous_interaction_id ? 1 : 0)
}

/** Whether a video is made from another one, whose length only the vendor knows. References have their own kind of task. */
function isEdit(body: Body): boolean {
  return videosIn(body) > 0 && body.generation_config?.video_config?.task !== 'reference_to_video'
}

function requestedSeconds({ response_format: format }: Body): number | undefined {
  return format?.duration ? Number.parseInt(format.duration, 10) : undefined
}

/** Whether an operator sells by the second, regardless of the vendor's billing. */
function isBySecond({ priceList }: Model): boolean {
  return !priceList.isFree && hasPrice(priceList, 'second')
}

/** The maximum of seconds that are made. */
function mostSeconds(body: Body, model: Model): number {
  return isEdit(body) ? (model.durations?.max ?? INPUT_SECONDS) : secondsOf(requestedSeconds(body), model)
}

function resolutionOf({ response_format: format }: Body): string {
  return format?.resolution ?? DEFAULT_RESOLUTION
}

function tokensASecond(body: Body): number {
  return TOKENS_A_SECOND.get(resolutionOf(body)) as number
}

function plainBody(request: PlainRequest): Record<string, unknown> {
  const { text, duration, images = [] } = request
  const { resolution: asked, ratio } = plainPicture(request)
  const resolution = asked === undefined || TOKENS_A_SECOND.has(asked) ? asked : DEFAULT_RESOLUTION
  const shape = ratio === '9:16' || ratio === '3:4' ? '9:16' : '16:9'
  const format = {
    type: 'video',
    ...(ratio !== undefined && { aspect_ratio: shape }),
    ...(duration !== undefined && { duration: `${duration}s` }),
    ...(resolution !== undefined && { resolution }),
  }
  const pictures = images.map((image) => {
    const [, type, data] = /^data:([\w/+.-]+);base64,(.*)$/s.exec(image) ?? []
    return { type: 'image', ...(data === undefined ? { uri: image } : { data, mime_type: type }) }
  })
  return {
    input: pictures.length === 0 ? text : [...pictures, { type: 'text', text }],
    response_format: format,
  }
}
