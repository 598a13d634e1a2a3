// Images of xAI's Imagine models (`gkx-imagine-image*` in gateway.config.ts). Callers write the form of the OpenAI SDKs; it is
// converted to the vendor's own. It must never send a size, which the vendor refuses, or a reference image to the path that ignores
// it and bills.

import { type Static, Type } from '@sinclair/typebox'
import { compatibleCall } from '../../contract/call'
import { bridgedFields, type Call, type MadeFamily, type Model } from '../../contract/family'
import { SHOWN, usageReading } from '../../contract/reading'
import { invalidRequest } from '../../lib/errors'
import { optionalField } from '../shared-schemas'
import { otherModels, serviceTier } from '../surcharges'
import { addresses, fileIds } from '../vendor-state'
import { openaiEditsOn, QUALITY_IS_SIZE } from './openai-form'
import { isPicture, linksIn, picturesIn } from './picture-list'
import { nearestShape, readPixels, shortened } from './shapes'

const word = <Word extends string | boolean>(name: Word) => Type.Literal(name)
const qualities = ['auto', 'low', 'medium', 'high', 'standard', 'hd'] as const

const Body = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    prompt: Type.String({ minLength: 1 }),
    n: optionalField(Type.Integer({ minimum: 1, maximum: 10 })),
    size: optionalField(Type.String({ description: 'Width and height such as `1536x1024`, or `auto`.' })),
    quality: optionalField(Type.Union(qualities.map(word))),
    image: Type.Optional(
      Type.Unknown({ description: 'Reference image: `{"url": "https://…"}` or a data URL.' }),
    ),
    images: Type.Optional(Type.Unknown({ description: 'Several reference images, each as in `image`.' })),
    aspect_ratio: optionalField(
      Type.String({ description: 'Instead of the shape of `size`, such as `16:9`.' }),
    ),
    resolution: optionalField(Type.String({ description: 'Instead of the pixels of `size`: `1k` or `2k`.' })),
    response_format: optionalField(Type.Union([word('url'), word('b64_json')])),
    output_format: optionalField(Type.String()),
    stream: optionalField(word(false)),
    user: optionalField(Type.String()),
  },
  { additionalProperties: true },
)
type Body = Static<typeof Body>

const ASPECT_RATIOS = [
  '1:1',
  '4:3',
  '3:4',
  '3:2',
  '2:3',
  '16:9',
  '9:16',
  '2:1',
  '1:2',
  '19.5:9',
  '9:19.5',
  '20:9',
  '9:20',
]
/** Half way, in powers of two, from the 1 megapixel of `1k` to the 4 of `2k`. */
const MAX_PIXELS_OF_1K = 2 * 1024 * 1024
const MAX_PIXELS = 2048 * 2048
const MAX_REFERENCES = 3
const JPEG_ONLY = 'the model makes only JPEG'

export const xaiImages: MadeFamily<Body> = {
  kind: 'made',
  name: 'xai-images',
  operation: 'image',
  units: [['image', 'input_image']],
  dialect: 'openai',
  body: Body,
  fieldRules: [
    serviceTier,
    ...otherModels,
    ...fileIds('image.file_id', 'images[].file_id', 'mask.file_id'),
    ...addresses('image', 'image.url', 'images[]', 'images[].url', 'mask.url'),
    { field: 'output_format', plain: ['jpeg'], why: JPEG_ONLY, always: true },
  ],
  fields: ['storage_options'],

  check(body, model) {
    const most = model.referenceImages?.max ?? MAX_REFERENCES
    const count = referencesOf(body).length
    if (count > most) {
      throw invalidRequest(
        'images',
        `Too many reference images: ${model.id} takes at most ${most}, but got ${count}.`,
      )
    }
    settingsOf(body, model)
  },

  tier(body, model) {
    const { resolution = '1k' } = settingsOf(body, model)
    const field = (['resolution', 'size', 'quality'] as const).find((name) => body[name]) ?? 'resolution'
    const exact = hasQualities(model) ? [`${resolution} ${qualityMade(body)}`] : []
    return { field, names: [...exact, resolution] }
  },

  edits: (body) => referencesOf(body).length > 0,

  quote: ({ body }) => ({ image: body.n ?? 1, input_image: referencesOf(body).length }),

  call({ body }, model): Call {
    const references = referencesOf(body)
    const settings = settingsOf(body, model)
    const set: Record<string, string> = { model: JSON.stringify(model.upstreamModel) }
    for (const [field, value] of Object.entries(settings)) set[field] = JSON.stringify(value)
    if (body.image) set.image = JSON.stringify(references[0])
    else if (references.length > 0) set.images = JSON.stringify(references)
    const drop = ['size', 'output_format']
    if (settings.quality === undefined) drop.push('quality')
    if (references.length === 0) drop.push('image', 'images')
    return compatibleCall(references.length === 0 ? '/images/generations' : '/images/edits', {
      edit: { set, drop },
    })
  },

  read(reply, { body }) {
    const { shown, blocked } = imagesOf(reply)
    if (shown.length === 0 && blocked > 0) {
      throw invalidRequest(
        'prompt',
        "All images were withheld by the model's content moderation. Nothing is charged; change the prompt or the reference image.",
        'content_policy_violation',
      )
    }
    if (shown.length === 0) return { end: 'failed' }
    return {
      output: SHOWN,
      usage: usageReading({ image: shown.length, input_image: referencesOf(body).length }),
      end: 'finished',
    }
  },

  /**
   * The list that the OpenAI SDKs read. Programs that loop over `data` expect an image in each item, so withheld images are only
   * counted. The vendor's own price is omitted: it is between the vendor and the operator.
   */
  reply([reply], { at }) {
    const { shown, blocked } = imagesOf(reply)
    const { data: _, usage: __, model: ___, ...rest } = reply as Record<string, unknown>
    return { created: Math.floor(at / 1000), ...rest, data: shown, ...(blocked > 0 ? { blocked } : {}) }
  },

  plain: {
    fields: ['n', 'size', 'quality', 'resolution', 'images'],
    shapes: () => ASPECT_RATIOS,
    body: ({ text, images, ...options }) => ({
      prompt: text,
      ...options,
      ...(images !== undefined && { images: images.map((url) => ({ url })) }),
    }),
  },

  links: (reply) => linksIn({ data: imagesOf(reply).shown }),
}

/** Editing of uploaded pictures. New ones need no translation: the usual form is OpenAI's. */
export const openaiImageEditsOnXai = openaiEditsOn('xai', {
  family: xaiImages,
  fields: [
    ...bridgedFields(
      'translated',
      ['aspect_ratio', 'the same'],
      ['resolution', 'the same'],
      ['user', 'the same'],
    ),
    ...QUALITY_IS_SIZE,
    ...bridgedFields('refused', ['output_format', JPEG_ONLY, ['jpeg']]),
  ],
  complete(own, asked) {
    const passed = ['aspect_ratio', 'resolution', 'response_format', 'user']
    const given = Object.entries(asked).filter(([name, value]) => passed.includes(name) && value !== null)
    return { ...own, ...Object.fromEntries(given) }
  },
  makesSeveral: true,
  references: ({ referenceImages }) => referenceImages ?? { min: 0, max: MAX_REFERENCES },
  pictures: (reply) =>
    picturesIn({ data: imagesOf(reply).shown }).map(({ url, b64_json, revised_prompt: prompt }) => ({
      ...(typeof url === 'string' && url !== '' ? { url } : { b64_json: String(b64_json) }),
      ...(typeof prompt === 'string' && prompt !== '' && { revised_prompt: prompt }),
    })),
})

interface Reference {
  url: string
}

function referencesOf({ image, images }: Body): Reference[] {
  if (image && images) throw invalidRequest('images', "Send either 'image' or 'images', not both.")
  if (image !== undefined && image !== null) return [referenceOf('image', image)]
  if (images === undefined || images === null) return []
  if (Array.isArray(images)) return images.map((item, index) => referenceOf(`images[${index}]`, item))
  throw invalidRequest(
    'images',
    `Invalid type for 'images': expected an array of objects such as ${SAMPLE}.`,
    'invalid_type',
  )
}

const SAMPLE = '{"url": "https://example.com/cat.jpg"}'

/** A reference with its type, which the vendor requires next to the URL. */
function referenceOf(field: string, value: unknown): Reference {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const got = typeof value === 'string' ? 'a bare string' : `\`${JSON.stringify(value).slice(0, 32)}\``
    throw invalidRequest(
      field,
      `Invalid type for '${field}': expected an object, but got ${got} instead. Send ${SAMPLE}; a data URL is also accepted.`,
      'invalid_type',
    )
  }
  const { url } = value as Partial<Reference>
  if (typeof url === 'string' && url !== '') return { type: 'image_url', ...value, url } as Reference
  throw invalidRequest(
    `${field}.url`,
    `Missing '${field}.url': send ${SAMPLE}, or a data URL.`,
    'missing_required_parameter',
  )
}

/** Settings for the look of the image, in the vendor's terms; absent for the vendor's default. */
interface Settings {
  aspect_ratio?: string
  resolution?: string
  quality?: string
}

/** The settings of a request. The vendor's own fields take precedence over those of OpenAI's form. */
function settingsOf(body: Body, model: Model): Settings {
  const size = body.size && body.size !== 'auto' ? readSize(body.size, model) : undefined
  // A single reference image determines the shape of the result.
  const shape = referencesOf(body).length === 1 ? undefined : size?.ratio
  const takesQuality = hasQualities(model)
  // For a model with one quality, more pixels are the nearest to high quality; any other value means its default.
  const detail = !takesQuality && (body.quality === 'high' || body.quality === 'hd') ? '2k' : undefined
  // The vendor's default is undocumented, so the charged value is always sent.
  const quality = takesQuality ? qualityMade(body) : undefined
  const aspectRatio = body.aspect_ratio ?? shape
  const resolution = body.resolution ?? size?.resolution ?? detail
  return {
    ...(aspectRatio ? { aspect_ratio: aspectRatio } : {}),
    ...(resolution ? { resolution } : {}),
    ...(quality ? { quality } : {}),
  }
}

/** Whether a model has several qualities. The first generation refuses the field. */
function hasQualities({ upstreamModel }: Model): boolean {
  return /^grok-imagine-image-[2-9]\./.test(upstreamModel)
}

/** The vendor's quality for two values of OpenAI's first image models; `standard` is the default. */
function vendorQuality({ quality }: Body): string | undefined {
  if (quality === 'hd') return 'high'
  return quality === 'standard' ? undefined : (quality ?? undefined)
}

/** The quality that the vendor will use, which may have its own price. By default, edits have more. */
function qualityMade(body: Body): string {
  const asked = vendorQuality(body)
  if (asked && asked !== 'auto') return asked
  return referencesOf(body).length > 0 ? 'medium' : 'low'
}

function readSize(text: string, model: Model): { ratio: string; resolution: string } {
  if (model.sizes && !model.sizes.includes(text)) {
    throw invalidRequest(
      'size',
      `Invalid value for 'size': ${model.id} has ${model.sizes.join(', ')}, but got '${shortened(text)}'.`,
    )
  }
  const size = readPixels(text)
  const pixels = size.width * size.height
  if (pixels > MAX_PIXELS) {
    throw invalidRequest(
      'size',
      `Invalid value for 'size': ${shortened(text)} is more than the ${MAX_PIXELS} pixels of 2048x2048, the maximum of ${model.id}.`,
    )
  }
  const resolution = pixels > MAX_PIXELS_OF_1K ? '2k' : '1k'
  return { ratio: nearestShape(size, ASPECT_RATIOS), resolution }
}

/** The images that can be shown, and how many moderation withheld: those are empty, or marked, or both. */
function imagesOf(reply: unknown): { shown: object[]; blocked: number } {
  const { data } = reply as { data?: unknown }
  const images = Array.isArray(data) ? data : []
  const shown = images.filter((image) => isPicture(image) && !isHeldBack(image))
  return { shown, blocked: images.length - shown.length }
}

function isHeldBack(image: object): boolean {
  return (image as { respect_moderation?: unknown }).respect_moderation === false
}
