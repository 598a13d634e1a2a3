// Videos of MiniMax' Hailuo models over version 1 of its API: from a text, a first and last frame, or a picture of a person. A task
// has a state, and the file that it names has a URL: three calls. Sources: the OpenAPI document of
// platform.minimax.io/docs/api-reference/video and the types of the vendor's client (github.com/MiniMax-AI/cli, src/types/api.ts,
// 2026-11). Videos have a price per video, by resolution and length, so both are always sent.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import type {
  FieldRule,
  Model,
  PlainRequest,
  Quantities,
  ResultAnswer,
  TaskFamily,
  TaskOutcome,
} from '../../contract/family'
import { hasPrice, variantsOf } from '../../contract/prices'
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
  OWN_FIELDS,
  ownFields,
  plainPicture,
  secondsOf,
  textOf,
  withoutVideo,
  withVideo,
} from './caller-side'

const open = { additionalProperties: true }

const Body = Type.Object(
  {
    ...ownFields,
    prompt: optionalField(Type.String({ minLength: 1 })),
    first_frame_image: optionalField(Type.String({ description: 'An address or a data URL.' })),
    last_frame_image: optionalField(Type.String({ description: 'An address or a data URL.' })),
    subject_reference: optionalField(
      Type.Array(Type.Object({ type: Type.String(), image: Type.Array(Type.String()) }, open), {
        minItems: 1,
        maxItems: 8,
        description: 'A person to show, of models that take one.',
      }),
    ),
    duration: optionalField(Type.Integer({ description: 'Seconds.' })),
    resolution: optionalField(Type.String({ description: 'Such as 768P or 1080P.' })),
    prompt_optimizer: optionalField(Type.Boolean()),
    fast_pretreatment: optionalField(Type.Boolean()),
    aigc_watermark: optionalField(Type.Boolean()),
  },
  open,
)
type Body = Static<typeof Body>

const fieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  ...addresses('first_frame_image', 'last_frame_image', 'subject_reference[].image[]'),
  {
    field: 'callback_url',
    why: 'the vendor would call it with its own task',
    instead: "Use 'webhook_url'.",
    always: true,
  },
]

export const hailuoVideo: TaskFamily<Body> = {
  kind: 'task',
  name: 'hailuo-video',
  operation: 'video',
  units: [['video'], ['second']],
  dialect: 'openai',
  body: Body,
  fieldRules,

  check(body, model) {
    checkDuration(body.duration, model)
    checkResolution(body.resolution, model)
    checkLength(body, model)
    checkReferences(picturesIn(body), 'first_frame_image', model)
    if (!body.prompt && !body.first_frame_image) {
      throw invalidRequest(
        'prompt',
        "Missing required parameter: 'prompt'. Only a video from a first frame needs none.",
        'missing_required_parameter',
      )
    }
  },

  tier: (body, model) => ({ field: 'resolution', names: tiersOf(body, model) }),

  quote({ body }, model): Quantities {
    return {
      ...(hasPrice(model.priceList, 'video') && { video: 1 }),
      ...(hasPrice(model.priceList, 'second') && { second: secondsOf(body.duration, model) }),
    }
  },

  call({ body }, model) {
    const resolution = billedResolution(body.resolution, model)
    return nativeCall('/v1/video_generation', {
      edit: {
        set: {
          model: JSON.stringify(model.upstreamModel),
          duration: String(secondsOf(body.duration, model)),
          ...(resolution !== undefined && { resolution: JSON.stringify(resolution.toUpperCase()) }),
        },
        drop: OWN_FIELDS,
      },
    })
  },

  read: (reply) => ({ end: taskIdOf(reply as Reply) === undefined ? 'failed' : undefined }),

  task: {
    submittedStatus: 202,
    id: (reply) => taskIdOf(reply as Reply),
    pollContext: (body, model) => ({ seconds: secondsOf(body.duration, model) }),
    poll: (upstreamId) => getCall('/v1/query/video_generation', 'task_id', upstreamId),
    outcome: stateOf,
    result: {
      call(state) {
        const { status, file_id: fileId } = state as Reply
        const file = idOf(fileId)
        return status === DONE && file !== undefined
          ? getCall('/v1/files/retrieve', 'file_id', file)
          : undefined
      },
      outcome: resultOf,
    },
  },

  plain: { fields: ['duration', 'resolution', 'size', 'images'], body: plainBody },
}

const DONE = 'Success'
/** Codes for sensitive content, in the request and in the video: platform.minimax.io/docs/api-reference/errorcode, 2026-11. */
const SENSITIVE: readonly unknown[] = [1026, 1027]

interface Reply {
  task_id?: unknown
  status?: unknown
  file_id?: unknown
  file?: unknown
  base_resp?: unknown
}

/** An id, which the vendor writes as a string or a number. A number that has lost digits would identify another file. */
function idOf(value: unknown): string | undefined {
  return Number.isSafeInteger(value) ? String(value) : textOf(value)
}

/** The status code, which is in every answer; zero is success. */
function codeOf({ base_resp: verdict }: Reply): unknown {
  return asObject(verdict).status_code
}

function taskIdOf(reply: Reply): string | undefined {
  return codeOf(reply) === 0 ? idOf(reply.task_id) : undefined
}

function getCall(path: string, field: string, id: string) {
  const query = `${field}=${encodeURIComponent(id)}`
  return nativeCall(`${path}?${query}`, null, { method: 'GET' })
}

function stateOf(reply: object): TaskOutcome | undefined {
  const status = textOf((reply as Reply).status)
  // A body without a status is an error about the poll, not about the task.
  if (status === undefined) return undefined
  const document = { status }
  // The page says `Fail`, the vendor's client says `Failed`.
  if (/^fail/i.test(status)) return failureOf(reply as Reply, document)
  return status === DONE ? withoutVideo(document) : { status: 'submitted', document }
}

function failureOf(reply: Reply, document: object): TaskOutcome {
  const code = codeOf(reply)
  if (SENSITIVE.includes(code)) return heldBack(document)
  const message = textOf(asObject(reply.base_resp).status_msg) ?? 'The upstream could not make the video.'
  return { status: 'failed', document, error: { code: String(code), message } }
}

function resultOf(answer: ResultAnswer, state: object): TaskOutcome | undefined {
  // The vendor's server may fail even though the file exists.
  if ('error' in answer)
    return answer.status < 500
      ? { status: 'failed', document: { status: DONE }, error: answer.error }
      : undefined
  const reply = answer.reply as Reply
  const { video_width: width, video_height: height } = state as {
    video_width?: unknown
    video_height?: unknown
  }
  const { file, base_resp: _, ...more } = reply
  const document = { ...more, status: DONE, ...(isCount(width) && isCount(height) && { width, height }) }
  const videoUrl = textOf(asObject(file).download_url)
  if (videoUrl !== undefined) return withVideo(document, videoUrl)
  return codeOf(reply) === 0 ? withoutVideo(document) : undefined
}

function isCount(value: unknown): value is number {
  return typeof value === 'number'
}

/** The number of pictures in the input of a video. */
function picturesIn({
  first_frame_image: first,
  last_frame_image: last,
  subject_reference: people,
}: Body): number {
  return (first ? 1 : 0) + (last ? 1 : 0) + (people ?? []).flatMap(({ image }) => image).length
}

/** The names of the price, most specific first: `1080p 6s` for a price per video, `1080p` for a price per second. */
function tiersOf(body: Body, model: Model): readonly string[] {
  const resolution = billedResolution(body.resolution, model) ?? 'video'
  return [`${resolution} ${secondsOf(body.duration, model)}s`, resolution]
}

/** Refuses a length that the model does not support at the resolution, such as ten seconds at 1080p: it has no price. */
function checkLength(body: Body, model: Model): void {
  const [exact, resolution] = tiersOf(body, model) as [string, string]
  const made = variantsOf(model.priceList).flatMap((name) => {
    const [, of, seconds] = /^(\w+) (\d+)s$/.exec(name) ?? []
    return of === resolution && seconds !== undefined ? [seconds] : []
  })
  if (made.length === 0 || variantsOf(model.priceList).includes(exact)) return
  const lengths = `${made.join(' or ')} seconds`
  throw invalidRequest('duration', `Invalid 'duration': ${model.id} makes ${lengths} at ${resolution}.`)
}

function plainBody(request: PlainRequest, model: Model): Record<string, unknown> {
  const { text, duration, images = [] } = request
  const { resolution: asked } = plainPicture(request)
  const resolution = asked && nearestResolution(asked, model)
  const [first, last] = images
  if (images.length > 2)
    throw invalidRequest('images', `Invalid 'images': ${model.id} takes a first and a last frame.`)
  return {
    prompt: text,
    ...(duration !== undefined && { duration }),
    ...(resolution !== undefined && { resolution }),
    ...(first !== undefined && { first_frame_image: first }),
    ...(last !== undefined && { last_frame_image: last }),
  }
}
