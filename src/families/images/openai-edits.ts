// Editing of uploaded images by GPT image models, and by servers that speak their API (POST /v1/images/edits). The form
// is sent in an order that old servers can read; the vendor's bytes must never be changed.

import { type Static, Type } from '@sinclair/typebox'
import type { Call, JsonFamily, Upload } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { uploadsIn } from '../forms'
import {
  checkBackground,
  gptImageFieldRules,
  gptImageFields,
  gptImageStream,
  gptImageUnits,
  qualityOf,
  quoteOutput,
  readPictures,
  shownPictureUsage,
} from './gpt-output'
import { checkUploads, formOf } from './uploads'

const Body = Type.Object(
  {
    ...gptImageFields,
    image: Type.Unknown({ description: 'PNG, JPEG or WebP; several where the model takes several.' }),
    mask: Type.Optional(
      Type.Unknown({ description: 'PNG of the size of the first image; its transparent area is edited.' }),
    ),
  },
  { additionalProperties: true },
)
type Body = Static<typeof Body>

const SIZES = ['auto', '1024x1024', '1024x1536', '1536x1024']
/**
 * Tokens held for one uploaded image at the highest fidelity, which depends partly on its shape; a mask counts as one.
 */
const INPUT_IMAGE_TOKENS = 8_192

export const openaiImageEdits: JsonFamily<Body> = {
  kind: 'json',
  name: 'openai-image-edits',
  operation: 'image-edit',
  units: gptImageUnits,
  dialect: 'openai',
  body: Body,
  fieldRules: gptImageFieldRules,
  fields: ['input_fidelity', 'moderation'],

  check(body, model) {
    checkUploads(body, model)
    if (body.size && !SIZES.includes(body.size)) {
      throw invalidRequest(
        'size',
        `Unsupported 'size': ${model.id} makes ${SIZES.join(', ')} on this endpoint.`,
      )
    }
    checkBackground(body)
  },

  quote({ body, byteLength }) {
    return {
      input_token: byteLength,
      input_image_token: picturesOf(body).length * INPUT_IMAGE_TOKENS,
      ...quoteOutput(body),
    }
  },

  call({ body }, model): Call {
    // These models always answer with base64 and refuse the field.
    const { response_format: _, ...rest } = body
    const fields = { ...rest, quality: qualityOf(body) }
    return {
      path: '/images/edits',
      protocol: 'openai',
      body: { form: formOf(fields, model.upstreamModel) },
      stream: body.stream === true,
    }
  },

  read: (reply, { body }, model) => readPictures(reply, body, model, picturesOf(body)),
  stream: gptImageStream,

  usage: shownPictureUsage,
  texts: ({ prompt }) => [prompt],

  plain: {
    fields: ['uploads', 'n', 'size', 'quality'],
    shapes: () => SIZES,
    body: ({ text, uploads, ...options }) => ({ prompt: text, image: uploads, ...options }),
  },
}

/** The pictures that a request sends, and the mask. */
function picturesOf(body: Body): Upload[] {
  return [...uploadsIn(body, 'image'), ...uploadsIn(body, 'mask')]
}
