// POST /v1/videos and /v1/videos/{id}/remix: translates a video request of OpenAI's API to a model's own. A field that cannot be
// expressed for the model must be refused, never dropped silently.

import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { type EarlierVideo, type Model, taskOf, type Upload } from '../../contract/family'
import type { Form } from '../../contract/form'
import { invalidRequest } from '../../lib/errors'
import { parseBody, scanBody } from '../../lib/json/body'
import { createValidator } from '../../lib/validate'
import type { Task } from '../../tasks/task'
import type { BodyReader } from '../body'
import { withFieldNames } from '../errors'
import { type FormTools, readForm } from '../form'

const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))

const Body = Type.Object({
  model: Type.String(),
  prompt: Type.String({ minLength: 1 }),
  seconds: optional(Type.Union([Type.String(), Type.Integer()])),
  size: optional(Type.String()),
  input_reference: optional(Type.Object({ image_url: optional(Type.String()) })),
  webhook_url: optional(Type.String()),
})
type Body = Static<typeof Body>

const RemixBody = Type.Object({
  prompt: Type.String({ minLength: 1 }),
  webhook_url: optional(Type.String()),
})

const validate = createValidator(Body)
const validateRemix = createValidator(RemixBody)
const IMAGE = 'input_reference'
const FIELDS = Object.keys(Body.properties)
const REMIX_FIELDS = Object.keys(RemixBody.properties)
/** The families' names of fields that have another name here. */
const NAMES: Readonly<Record<string, string>> = { duration: 'seconds', resolution: 'size' }

/** The request as JSON, from either form: the official SDKs send a form even without a file. */
export async function readVideoRequest(
  request: Request,
  tools: FormTools,
  bodies: BodyReader,
  exempt: () => void,
  check: (model: string) => void,
): Promise<Uint8Array> {
  const isForm = request.headers.get('content-type')?.toLowerCase().startsWith('multipart/form-data')
  if (!isForm) return bodies.read(request, 'video', exempt, check)
  const form = await readForm(request, tools, bodies.pieces(request, 'video', exempt))
  try {
    return Buffer.from(JSON.stringify(await bodyOf(form)))
  } finally {
    await form.dispose()
  }
}

/** The request in the terms of its model's family. */
export function reword(body: Record<string, unknown>, model: Model): Record<string, unknown> {
  refuseUnknown(body, FIELDS)
  validate(body)
  const { prompt, seconds, size, input_reference: reference, webhook_url: webhookUrl } = body as Body
  const { plain } = model.family
  if (!plain) {
    throw invalidRequest('model', `${model.id} has its own form: use POST /v1/videos/generations.`)
  }
  const images = reference ? [addressOf(reference)] : []
  checkImages(images.length, model)
  const own = plain.body(
    {
      text: prompt,
      ...(given(seconds) && { duration: readSeconds(seconds) }),
      ...(given(size) && { size }),
      ...(images.length > 0 && { images }),
    },
    model,
  )
  return { ...own, model: body.model, ...(given(webhookUrl) && { webhook_url: webhookUrl }) }
}

/** A request for another video, with the members from its path: its model, and the video from which it is made. */
export function remixRequest(bytes: Uint8Array, { id, model }: Pick<Task, 'id' | 'model'>): Uint8Array {
  const body = parseBody(scanBody(bytes))
  refuseUnknown(body, REMIX_FIELDS)
  validateRemix(body)
  return Buffer.from(JSON.stringify({ ...body, model, remixed_from_video_id: id }))
}

/** The request for another video in the fields of its model's family. */
export function rewordRemix(
  body: Record<string, unknown>,
  model: Model,
  earlier: EarlierVideo,
): Record<string, unknown> {
  const { prompt, webhook_url: webhookUrl } = body as Static<typeof RemixBody>
  const remix = taskOf(model.family)?.remix
  if (!remix) {
    throw invalidRequest(
      'id',
      `${model.id} cannot make another video of ${earlier.id}. Make a new one with POST /v1/videos.`,
      'unsupported_operation',
    )
  }
  return {
    ...remix(prompt, earlier, model),
    model: model.id,
    ...(given(webhookUrl) && { webhook_url: webhookUrl }),
  }
}

/** The error with the field names that this caller uses. */
export function withVideoFieldNames(error: unknown): unknown {
  return withFieldNames(error, NAMES)
}

async function bodyOf({ fields, files }: Form): Promise<Record<string, unknown>> {
  const texts = [...fields].filter(([name]) => name !== `${IMAGE}[image_url]`)
  const address = fields.get(`${IMAGE}[image_url]`)
  const [image, second] = files.get(IMAGE) ?? []
  if (second)
    throw invalidRequest(IMAGE, `The form has more than one '${IMAGE}': a video begins with one image.`)
  const reference = image ? await dataUrlOf(image) : address
  const entries: [name: string, value: unknown][] = [
    ...texts,
    // Files under other names are as unknown as texts are.
    ...[...files.keys()].map((name): [string, null] => [name, null]),
  ]
  if (reference !== undefined) entries.push([IMAGE, { image_url: reference }])
  // In a fixed order, because some clients reorder the fields of a retry, which must still be the same request.
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

async function dataUrlOf({ bytes, contentType, picture }: Upload): Promise<string> {
  if (!picture) throw invalidRequest(IMAGE, `'${IMAGE}' is not an image: send a PNG, JPEG or WebP file.`)
  return `data:${contentType};base64,${Buffer.from(await bytes.arrayBuffer()).toString('base64')}`
}

function refuseUnknown(body: Record<string, unknown>, fields: readonly string[]): void {
  const unknown = Object.keys(body).find((name) => !fields.includes(name))
  if (unknown === undefined) return
  const shown = unknown.slice(0, 128)
  throw invalidRequest(
    shown,
    `Unknown parameter: '${shown}'. This form of request has ${fields.join(', ')}; send other fields of the model to POST /v1/videos/generations.`,
    'unknown_parameter',
  )
}

function addressOf({ image_url: address }: NonNullable<Body['input_reference']>): string {
  if (address) return address
  throw invalidRequest(
    `${IMAGE}.image_url`,
    `'${IMAGE}' has no 'image_url': give the address of an image or a data URL, or send the image as a file. File ids are not supported here.`,
    'missing_required_parameter',
  )
}

function checkImages(count: number, { id, referenceImages: allowed }: Model): void {
  if (!allowed || (count >= allowed.min && count <= allowed.max)) return
  if (count > 0 && allowed.max === 0)
    throw invalidRequest(IMAGE, `${id} does not accept '${IMAGE}': it makes videos from text alone.`)
  const needs = allowed.min > 1 ? `${allowed.min} images: use POST /v1/videos/generations` : 'an image'
  throw invalidRequest(
    IMAGE,
    `Missing required parameter: '${IMAGE}'. ${id} makes videos from ${needs}.`,
    'missing_required_parameter',
  )
}

function readSeconds(seconds: string | number): number {
  if (/^[1-9]\d{0,3}$/.test(String(seconds))) return Number(seconds)
  throw invalidRequest('seconds', `Invalid 'seconds': expected a whole number such as '4'.`)
}

function given<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null
}
