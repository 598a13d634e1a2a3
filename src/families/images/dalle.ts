// The legacy image model, `dle-2` in gateway.config.ts: images from a text, and editing of one uploaded image. It must never send a
// field that this model refuses: callers use the fields of newer models.

import { type Static, Type } from '@sinclair/typebox'
import { compatibleCall } from '../../contract/call'
import type { Call, JsonFamily, Model, Quantities } from '../../contract/family'
import type { Reading } from '../../contract/reading'
import { invalidRequest } from '../../lib/errors'
import { isObject } from '../../lib/objects'
import { optionalField } from '../shared-schemas'
import { linksIn, picturesIn } from './picture-list'
import { checkUploads, formOf } from './uploads'

const words = <Word extends string>(...list: Word[]) => Type.Union(list.map((word) => Type.Literal(word)))
const open = { additionalProperties: true }

const fields = {
  model: Type.String({ description: 'Id from GET /v1/models.' }),
  prompt: Type.String({ minLength: 1 }),
  n: optionalField(Type.Integer({ minimum: 1, maximum: 10 })),
  size: optionalField(Type.String({ description: '256x256, 512x512 or 1024x1024.' })),
  quality: optionalField(words('auto', 'low', 'medium', 'high', 'standard', 'hd')),
  response_format: optionalField(words('b64_json', 'url')),
  output_format: optionalField(words('png', 'jpeg', 'webp')),
  background: optionalField(words('transparent', 'opaque', 'auto')),
  stream: optionalField(Type.Boolean()),
  partial_images: optionalField(Type.Integer()),
  user: optionalField(Type.String()),
}

const Body = Type.Object(fields, open)
type Body = Static<typeof Body>

const EditBody = Type.Object(
  {
    ...fields,
    image: Type.Unknown({ description: 'A square PNG.' }),
    mask: Type.Optional(
      Type.Unknown({ description: 'PNG of the size of the image; its transparent area is edited.' }),
    ),
  },
  open,
)

const SIZES = ['256x256', '512x512', '1024x1024']
const LARGEST = '1024x1024'

/**
 * Fields of newer models, with the values that equal what this model always does. It has one quality, so every value means that.
 */
const newerFields: Record<string, readonly unknown[]> = {
  output_format: ['png'],
  background: ['auto'],
  stream: [false],
  partial_images: [0],
}
const UNKNOWN_TO_VENDOR = ['quality', ...Object.keys(newerFields)]

const shared = {
  kind: 'json',
  units: [['image']],
  dialect: 'openai',
  tier: (body: Body) => ({ field: 'size', names: [sizeOf(body)] }),
  quote: ({ body }: { body: Body }): Quantities => ({ image: body.n ?? 1 }),
  read: readReply,
  links: linksIn,
} as const

export const dalleImages: JsonFamily<Body> = {
  ...shared,
  name: 'dalle-images',
  operation: 'image',
  body: Body,
  check: checkFields,

  call({ body }, model): Call {
    const set: Record<string, string> = {}
    for (const [name, text] of Object.entries({ model: model.upstreamModel, ...choicesOf(body) })) {
      set[name] = JSON.stringify(text)
    }
    const edit = { set, drop: UNKNOWN_TO_VENDOR }
    return compatibleCall('/images/generations', { edit })
  },

  plain: {
    fields: ['n', 'size'],
    shapes: () => SIZES,
    body: ({ text, ...options }) => ({ prompt: text, ...options }),
  },
}

export const dalleImageEdits: JsonFamily<Body> = {
  ...shared,
  name: 'dalle-image-edits',
  operation: 'image-edit',
  body: EditBody,

  check(body, model) {
    checkUploads(body, model)
    checkFields(body, model)
  },

  call({ body }, model): Call {
    const known = Object.entries(body).filter(([name]) => !UNKNOWN_TO_VENDOR.includes(name))
    const form = formOf({ ...Object.fromEntries(known), ...choicesOf(body) }, model.upstreamModel)
    return compatibleCall('/images/edits', { form })
  },

  plain: {
    fields: ['uploads', 'n', 'size'],
    shapes: () => SIZES,
    body: ({ text, uploads, ...options }) => ({ prompt: text, image: uploads, ...options }),
  },
}

/** Fields that are always sent, because the price depends on them or the vendor's own default differs. */
function choicesOf(body: Body): { size: string; response_format: string } {
  return { size: sizeOf(body), response_format: body.response_format ?? 'b64_json' }
}

function sizeOf({ size }: Body): string {
  return !size || size === 'auto' ? LARGEST : size
}

function checkFields(body: Body, model: Model): void {
  const size = sizeOf(body)
  if (!SIZES.includes(size)) {
    throw invalidRequest('size', `Unsupported 'size': ${model.id} makes ${SIZES.join(', ')}.`)
  }
  for (const [name, harmless] of Object.entries(newerFields)) {
    const value = (body as Record<string, unknown>)[name] ?? harmless[0]
    if (harmless.includes(value)) continue
    throw invalidRequest(
      name,
      `Unsupported parameter: ${model.id} accepts only ${harmless.join(' or ')} for '${name}'. Leave it out, or choose another model.`,
      'unsupported_parameter',
    )
  }
}

function readReply(reply: unknown): Reading {
  const count = picturesIn(reply).length
  // An answer without a picture counts as an error.
  if (isObject((reply as { error?: unknown }).error) || count === 0) return { end: 'failed' }
  return { output: { kind: 'shown', counted: { image: count } }, end: 'finished' }
}
