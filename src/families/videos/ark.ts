// Videos of Seedance on Ark: first and last frame, reference images, videos and audio, drafts, seeds. The body and the
// task have the vendor's own form and pass unchanged. A billed setting must never reach the vendor unread.

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
import { optionalField } from '../shared-schemas'
import { otherModels, serviceTier } from '../surcharges'
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
  secondsOf,
  textOf,
  tierNames,
  VENDOR_CHOOSES,
  withoutVideo,
} from './caller-side'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    content: Type.Array(Type.Object({ type: Type.String(), text: optionalField(Type.String()) }, open), {
      minItems: 1,
      maxItems: 128,
    }),
    duration: optionalField(Type.Integer({ description: 'Seconds; -1 leaves it to the model.' })),
    resolution: optionalField(Type.String({ description: 'Such as 720p.' })),
    ratio: optionalField(Type.String()),
    seed: optionalField(Type.Integer({ minimum: -1, maximum: 4_294_967_295 })),
    draft: optionalField(Type.Boolean()),
    generate_audio: optionalField(Type.Boolean()),
    execution_expires_after: optionalField(Type.Integer({ minimum: 3_600, maximum: 259_200 })),
  },
  open,
)
type Body = Static<typeof Body>

const DEFAULT_RESOLUTION = '720p'
const DRAFT_RESOLUTION = '480p'
/** The vendor's default for how long a task may wait and run, in seconds. */
const VENDOR_EXPIRY_SECONDS = 172_800
const MIN_EXPIRY_SECONDS = 3_600
/** Settings that older models read from the prompt, which the gateway could not bill. */
const COMMANDS = /(?:^|\s)--(?:rs|resolution|dur|duration|frames)(?=[\s=:]|$)/i
/** Refused fields, each with the alternative. */
const NOT_TAKEN: Record<string, string> = {
  frames: "'duration' in seconds",
  callback_url: "'webhook_url'",
}

const fieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  { field: 'tools[]', why: 'tools that the vendor runs are billed per use' },
  ...addresses(
    ...['image_url', 'video_url', 'audio_url'].flatMap((kind) => [
      `content[].${kind}`,
      `content[].${kind}.url`,
    ]),
  ),
]

export const arkVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'ark-video',
  operation: 'video',
  units: [['second']],
  dialect: 'openai',
  body: Body,
  fieldRules,
  fields: [
    'content[].draft_task.id',
    'camera_fixed',
    'omni_reference_task_type',
    'output_format',
    'priority',
    'return_last_frame',
    'safety_identifier',
    'watermark',
  ],

  check(body, model) {
    checkDuration(body.duration, model)
    checkReferences(countOf('image_url', body), 'content', model)
    for (const [field, instead] of Object.entries(NOT_TAKEN)) {
      if ((body as Record<string, unknown>)[field] === undefined) continue
      throw invalidRequest(field, `'${field}' is not taken here: use ${instead}.`, 'unsupported_parameter')
    }
    checkTexts(body)
    checkExpiry(body, model)
  },

  tier(body) {
    const resolution = resolutionOf(body)
    const tier = { isSilent: body.generate_audio === false, isFromVideo: countOf('video_url', body) > 0 }
    const drafts = body.draft && resolution === DRAFT_RESOLUTION ? tierNames('draft', tier) : []
    return { field: 'resolution', names: [...drafts, ...tierNames(resolution, tier)] }
  },

  quote: ({ body }, model) => ({
    ...quoteSeconds(durationOf(body), model),
    ...quoteInput(
      { videos: countOf('video_url', body), pictures: countOf('image_url', body) },
      model,
      INPUT_SECONDS,
    ),
  }),

  call({ body, earlierTasks }, model) {
    const expiry = Math.min(expirySeconds(model), VENDOR_EXPIRY_SECONDS)
    const isDraftsEnd = madeFromDraft(body)
    return nativeCall('/contents/generations/tasks', {
      edit: {
        set: {
          model: JSON.stringify(model.upstreamModel),
          ...(earlierTasks && { content: JSON.stringify(withVendorIds(body, earlierTasks)) }),
          resolution: JSON.stringify(resolutionOf(body)),
          ...(!isDraftsEnd && { duration: String(body.duration ?? secondsOf(undefined, model)) }),
          ...(expiry < VENDOR_EXPIRY_SECONDS &&
            !body.execution_expires_after && { execution_expires_after: String(expiry) }),
        },
        drop: isDraftsEnd ? [...OWN_FIELDS, 'duration'] : OWN_FIELDS,
      },
    })
  },

  read: (reply) => ({
    end: 'error' in (reply as object) && !textOf((reply as Reply).id) ? 'failed' : undefined,
  }),

  task: {
    submittedStatus: 202,
    id: (reply) => textOf((reply as Reply).id),
    pollContext: (body, model) => ({
      ...requestedSeed(body.seed),
      vendorChooses: durationOf(body) === VENDOR_CHOOSES,
      ...(countOf('video_url', body) > 0 && {
        isFromVideo: true,
        resolution: resolutionOf(body),
        seconds: secondsOf(durationOf(body), model),
      }),
    }),
    earlier: ({ content }) =>
      content.flatMap((item, index) => {
        const draft = draftIn(item)
        return draft ? [{ field: `content[${index}].draft_task.id`, id: draft.id }] : []
      }),
    poll: (upstreamId) => ({ ...taskCall(upstreamId), method: 'GET' }),
    cancel: (upstreamId) => ({ ...taskCall(upstreamId), method: 'DELETE' }),
    outcome,
  },

  // The poller knows the address of the video.
  links(reply) {
    const lastFrame = textOf((reply as Reply).content?.last_frame_url)
    return lastFrame === undefined ? [] : [lastFrame]
  },

  plain: { fields: ['duration', 'resolution', 'size', 'images'], body: plainBody },
}

interface Reply {
  id?: unknown
  status?: unknown
  error?: { code?: unknown; message?: unknown } | null
  content?: { video_url?: unknown; last_frame_url?: unknown } | null
  duration?: unknown
  resolution?: unknown
  usage?: { completion_tokens?: unknown } | null
  service_tier?: unknown
}

function taskCall(upstreamId: string) {
  return nativeCall(`/contents/generations/tasks/${encodeURIComponent(upstreamId)}`, null)
}

function outcome(reply: object, pollContext: PollContext): TaskOutcome | undefined {
  // The vendor writes null if there is no error.
  const { error, ...task } = reply as Reply
  const status = textOf(task.status)
  // A body without a status is an error about the poll, not about the task.
  if (status === undefined) return undefined
  if (status === 'failed' || status === 'cancelled' || status === 'expired') {
    const message = textOf(error?.message) ?? `The upstream ended the task as ${status}.`
    return { status: 'failed', document: reply, error: { code: textOf(error?.code) ?? status, message } }
  }
  if (status !== 'succeeded') return { status: 'submitted', document: task }
  const videoUrl = textOf(task.content?.video_url)
  const tier = textOf(task.service_tier)
  if (videoUrl === undefined) return withoutVideo(reply)
  return {
    status: 'succeeded',
    videoUrl,
    document: { ...task, video_url: videoUrl },
    ...(tier !== undefined && { serviceTier: tier }),
    ...((pollContext.vendorChooses === true || pollContext.isFromVideo === true) && {
      quantities: secondsBilled(task, pollContext),
    }),
  }
}

/**
 * Seconds of input that are held for a model without its own figure: Seedance 2.0 accepts reference videos of 15 seconds in total
 * (developer.civitai.com/orchestration/recipes/seedance, which calls BytePlus, 2026-11-24).
 */
const INPUT_SECONDS = 15
/**
 * Tokens per second of video, input and output alike: width x height x 24 / 1024, as docs.byteplus.com has it (ModelArk/1544106),
 * for the frames of litellm 1.110.2 (`volcengine_video_frames`).
 */
const TOKENS_A_SECOND: ReadonlyMap<string, number> = new Map([
  ['480p', 10_044],
  ['720p', 21_600],
  ['1080p', 48_600],
  ['4k', 194_400],
])

/** The seconds that the vendor bills: it counts tokens of input and output together. */
function secondsBilled(task: Reply, { vendorChooses, isFromVideo, ...asked }: PollContext): Quantities {
  if (isFromVideo !== true) return { second: numberReported(task.duration) }
  const tokens = numberReported(task.usage?.completion_tokens)
  const each = TOKENS_A_SECOND.get(String(asked.resolution)) ?? Number.NaN
  const output = numberReported(vendorChooses === true ? task.duration : asked.seconds)
  return {
    // Frames of other shapes have slightly more or fewer pixels.
    input_second: Math.max(0, Math.round(tokens / each) - output),
    ...(vendorChooses === true && { second: output }),
  }
}

function countOf(type: string, { content }: Body): number {
  return content.filter((item) => item.type === type).length
}

function resolutionOf({ resolution, draft }: Body): string {
  return resolution?.toLowerCase() ?? (draft ? DRAFT_RESOLUTION : DEFAULT_RESOLUTION)
}

/** The requested duration. A video made from a draft has the duration of the draft, which only the vendor knows. */
function durationOf(body: Body): number | null | undefined {
  return madeFromDraft(body) ? VENDOR_CHOOSES : body.duration
}

function madeFromDraft({ content }: Body): boolean {
  return content.some((item) => item.type === 'draft_task' || draftIn(item))
}

/** The draft that an item names. An item that is not an object with an id never reaches the vendor: its id would be unknown. */
function draftIn(item: Body['content'][number]): { id?: unknown } | undefined {
  const { draft_task: draft } = item as { draft_task?: unknown }
  return draft === undefined || draft === null ? undefined : Object(draft)
}

function withVendorIds({ content }: Body, ids: ReadonlyMap<string, string>): unknown[] {
  return content.map((item) => {
    const draft = draftIn(item)
    return draft ? { ...item, draft_task: { ...draft, id: ids.get(draft.id as string) } } : item
  })
}

function checkTexts({ content }: Body): void {
  for (const [index, { text }] of content.entries()) {
    const command = text && COMMANDS.exec(text)?.[0].trim()
    if (!command) continue
    throw invalidRequest(
      `content[${index}].text`,
      `The text contains the setting '${command}': send it as 'duration' or 'resolution' instead.`,
    )
  }
}

/**
 * The deadline of a task, in seconds: the vendor must give up no later than the gateway, or it would make a result that nobody
 * receives.
 */
function expirySeconds({ upstream }: Model): number {
  return Math.max(MIN_EXPIRY_SECONDS, Math.floor(upstream.taskDeadlineMs / 1000))
}

function checkExpiry({ execution_expires_after: asked }: Body, model: Model): void {
  if (!asked || asked <= expirySeconds(model)) return
  throw invalidRequest(
    'execution_expires_after',
    `Invalid 'execution_expires_after': tasks are waited for at most ${expirySeconds(model)} seconds here, but got ${asked}.`,
  )
}

function plainBody(request: PlainRequest): Record<string, unknown> {
  const { text, duration, images = [] } = request
  const { resolution, ratio } = plainPicture(request)
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
