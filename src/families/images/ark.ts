// Images of Seedream on Ark: one image or a series, from a text and reference images, whole or as a stream. The
// caller's text passes through with single fields edited. A failed image must never be charged.

import { type Static, Type } from '@sinclair/typebox'
import {
  bridgedFields,
  type FieldRule,
  type JsonFamily,
  type Model,
  type Quantities,
} from '../../contract/family'
import { type Made, type Reading, usageReading } from '../../contract/reading'
import { isUntypedError } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { parseSize } from '../../lib/file-formats/pixel-size'
import { isObject } from '../../lib/objects'
import { optionalField } from '../shared-schemas'
import { otherModels } from '../surcharges'
import { addresses } from '../vendor-state'
import { NO_USER, ONE_QUALITY, type OwnForm, openaiEditsOn, openaiImagesOn } from './openai-form'
import { isPicture, linksIn, picturesIn } from './picture-list'

/** Maximum number of references and results of a request together. */
const MAX_IMAGES = 15
const MAX_REFERENCES = 14

const open = { additionalProperties: true }
const words = <Word extends string>(...list: Word[]) => Type.Union(list.map((word) => Type.Literal(word)))

const Body = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    prompt: Type.String({ minLength: 1 }),
    image: optionalField(
      Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })]),
    ),
    size: optionalField(Type.String({ description: 'A class such as 2K, or <width>x<height>.' })),
    sequential_image_generation: optionalField(words('auto', 'disabled')),
    sequential_image_generation_options: optionalField(
      Type.Object({ max_images: optionalField(Type.Integer({ minimum: 1, maximum: MAX_IMAGES })) }, open),
    ),
    n: optionalField(Type.Integer()),
    response_format: optionalField(words('url', 'b64_json')),
    watermark: optionalField(Type.Boolean()),
    stream: optionalField(Type.Boolean()),
  },
  open,
)
type Body = Static<typeof Body>

const fieldRules: readonly FieldRule[] = [
  ...otherModels,
  { field: 'tools[]', why: 'tools that the vendor runs are billed per use' },
  { field: 'layer_decomposition', plain: [false], why: 'each layer is billed as an image' },
  ...addresses('image', 'image[]'),
]

export const arkImages: JsonFamily<Body> = {
  kind: 'json',
  name: 'ark-images',
  operation: 'image',
  units: [['image']],
  dialect: 'openai',
  body: Body,
  fieldRules,
  fields: ['background', 'guidance_scale', 'optimize_prompt_options', 'output_format', 'seed'],

  check(body, model) {
    if ((body.n ?? 1) !== 1) {
      throw invalidRequest(
        'n',
        `Invalid 'n': for several images from ${model.id}, set sequential_image_generation to 'auto' and sequential_image_generation_options.max_images to their number.`,
      )
    }
    checkReferences(body, model)
    checkSize(body, model)
  },

  quote: ({ body }) => ({ image: mostImages(body) }),

  call({ body }, model) {
    const set = { model: JSON.stringify(model.upstreamModel) }
    return {
      path: '/images/generations',
      protocol: 'native',
      // Seedream has its own field for the number.
      body: { edit: { set, drop: ['n'] } },
      stream: body.stream === true,
    }
  },

  read(reply) {
    const { data, error, usage } = reply as Reply
    const count = picturesIn(reply).length
    // A list may contain only the reasons why each image failed: such an answer is free.
    const explains = Array.isArray(data) && data.some((item) => isObject(item) && isObject(item.error))
    if (isObject(error) || (count === 0 && !explains)) return { end: 'failed' }
    return { output: pictures(count), usage: usageReading(usageOf(usage)), end: 'finished' }
  },

  stream: {
    end: '[DONE]',
    showsUsage: () => true,
    read: readEvent,
  },

  links: linksIn,

  plain: {
    fields: ['n', 'size', 'images'],
    body: ({ text, n = 1, size, images }, model) => ({
      prompt: text,
      ...(size !== undefined && { size: enlarged(size, model) }),
      ...(images !== undefined && { image: images }),
      ...(n > 1 && {
        sequential_image_generation: 'auto',
        sequential_image_generation_options: { max_images: n },
      }),
    }),
  },
}

/** The vendor's own fields that may be combined with OpenAI's form. */
const OWN_FIELDS = [
  'guidance_scale',
  'optimize_prompt_options',
  'seed',
  'sequential_image_generation',
  'sequential_image_generation_options',
  'watermark',
] as const
/** Fields that exist only in OpenAI's form. */
const OPENAI_FIELDS = ['n', 'quality', 'style', 'moderation', 'output_compression', 'partial_images', 'user']

const openaiForm: OwnForm<Body> = {
  family: arkImages,
  // A stream has the vendor's own events, so the request must have the vendor's form.
  takes: ({ stream, size, ...others }, model) =>
    stream !== true &&
    (OPENAI_FIELDS.some((name) => (others[name] ?? null) !== null) ||
      size === 'auto' ||
      (typeof size === 'string' && enlarged(size, model) !== size)),
  fields: [
    ...bridgedFields(
      'translated',
      ['output_format', 'the same'],
      ...OWN_FIELDS.map((name) => [name, 'the same'] as const),
    ),
    ...ONE_QUALITY,
    ...NO_USER,
  ],
  complete(own, asked) {
    const passed: readonly string[] = [...OWN_FIELDS, 'output_format', 'response_format']
    const given = Object.entries(asked).filter(([name, value]) => passed.includes(name) && value !== null)
    return { ...own, ...Object.fromEntries(given) }
  },
  references: ({ referenceImages }) => referenceImages ?? { min: 0, max: MAX_REFERENCES },
  pictures: (reply) =>
    picturesIn(reply).map(({ url, b64_json, size }) => ({
      ...(typeof url === 'string' && url !== ''
        ? { url }
        : { b64_json: String(b64_json), type: 'image/jpeg' }),
      ...(typeof size === 'string' && { size }),
    })),
}
export const openaiImagesOnArk = openaiImagesOn('ark', openaiForm)
export const openaiImageEditsOnArk = openaiEditsOn('ark', openaiForm)

interface Reply {
  data?: unknown
  error?: unknown
  usage?: unknown
}

interface Event extends Reply {
  type?: unknown
}

function referencesOf({ image }: Body): string[] {
  return image === undefined || image === null ? [] : [image].flat()
}

/**
 * The most images that a request can produce. A series ends by itself, at its limit, or when references leave no room.
 */
function mostImages(body: Body): number {
  if (body.sequential_image_generation !== 'auto') return 1
  const room = MAX_IMAGES - referencesOf(body).length
  return Math.min(body.sequential_image_generation_options?.max_images ?? room, room)
}

function checkReferences(body: Body, model: Model): void {
  const references = referencesOf(body)
  const { min, max } = model.referenceImages ?? { min: 0, max: MAX_REFERENCES }
  if (references.length < min || references.length > max) {
    throw invalidRequest(
      'image',
      `Invalid 'image': ${model.id} takes ${min} to ${max} reference images, but got ${references.length}.`,
    )
  }
  for (const [index, reference] of references.entries()) {
    if (/^(https?:\/\/|data:image\/)\S+$/.test(reference)) continue
    const param = Array.isArray(body.image) ? `image[${index}]` : 'image'
    throw invalidRequest(param, `Invalid '${param}': expected the URL of an image, or a data URL.`)
  }
  const results = body.sequential_image_generation_options?.max_images ?? 1
  if (body.sequential_image_generation === 'auto' && references.length + results > MAX_IMAGES) {
    throw invalidRequest(
      'sequential_image_generation_options.max_images',
      `Invalid 'sequential_image_generation_options.max_images': reference images and results may be ${MAX_IMAGES} together, so with ${references.length} references at most ${MAX_IMAGES - references.length}.`,
    )
  }
}

/** The minimum of pixels of a picture, for the older versions and for the newer ones, which refuse smaller sizes. */
const MIN_PIXELS = { older: 921_600, newer: 3_686_400 }
const OLDER = /seedream-(3|4-0)/
/** Sides of an enlarged picture are multiples of this, in pixels. */
const SIDE_STEP = 8

/** A size such as `1024x1024` in the same shape, enlarged to the minimum of pixels of the model; named sizes stay. */
function enlarged(size: string, { sizes, upstreamModel }: Model): string {
  const asked = parseSize(size, 'x')
  if (!asked || sizes?.includes(size)) return size
  const least = OLDER.test(upstreamModel) ? MIN_PIXELS.older : MIN_PIXELS.newer
  const factor = Math.sqrt(least / (asked.width * asked.height))
  if (factor <= 1) return size
  const [width, height] = [asked.width, asked.height].map(
    (side) => Math.ceil((side * factor) / SIDE_STEP) * SIDE_STEP,
  )
  return `${width}x${height}`
}

function checkSize({ size }: Body, model: Model): void {
  if (!size || !model.sizes || model.sizes.includes(size)) return
  throw invalidRequest('size', `Unsupported 'size': ${model.id} makes ${model.sizes.join(', ')}.`)
}

/**
 * Reads an event. Each image has its own event, so a stream that breaks off, or ends without figures, costs what it delivered. An
 * event about one failed image does not concern the others.
 */
function readEvent(event: unknown): Reading {
  const { type, error, usage } = event as Event
  switch (type) {
    case 'image_generation.partial_succeeded':
      return { output: pictures(isPicture(event) ? 1 : 0) }
    case 'image_generation.partial_failed':
      return {}
    case 'image_generation.completed':
      return { usage: usageReading(usageOf(usage)), end: 'finished' }
  }
  if (isObject(error)) return { end: 'failed' }
  return isUntypedError(event) ? { end: 'failed-disguised' } : {}
}

function pictures(count: number): Made | undefined {
  return count > 0 ? { kind: 'shown', counted: { image: count } } : undefined
}

function usageOf(usage: unknown): Quantities | 'invalid' | undefined {
  const images = isObject(usage) ? usage.generated_images : undefined
  if (images === undefined) return undefined
  const sane = Number.isSafeInteger(images) && (images as number) >= 0
  return sane ? { image: images as number } : 'invalid'
}
