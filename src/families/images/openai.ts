// Images of GPT image models, and of servers that speak their API (POST /v1/images/generations). The caller's text passes through
// with single fields edited; the vendor's bytes must never be changed.

import { type Static, Type } from '@sinclair/typebox'
import type { Call, JsonFamily, Model } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { parseSize } from '../../lib/file-formats/pixel-size'
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

const Body = Type.Object(gptImageFields, { additionalProperties: true })
type Body = Static<typeof Body>

/** Free-form sizes have sides that are multiples of this, in pixels. */
const SIDE_STEP = 16
const MAX_SIDE = 3840
const MAX_RATIO = 3

export const openaiImages: JsonFamily<Body> = {
  kind: 'json',
  name: 'openai-images',
  operation: 'image',
  units: gptImageUnits,
  dialect: 'openai',
  body: Body,
  fieldRules: gptImageFieldRules,
  fields: ['moderation', 'style'],

  check(body, model) {
    if (body.size) checkSize(body.size, model)
    checkBackground(body)
  },

  // No tokenizer produces more tokens than the text has bytes, and the JSON is never shorter than the text in it.
  quote: ({ body, byteLength }) => ({ input_token: byteLength, ...quoteOutput(body) }),

  call({ body }, model): Call {
    const set: Record<string, string> = { model: JSON.stringify(model.upstreamModel) }
    const quality = qualityOf(body)
    if (quality !== undefined && quality !== body.quality) set.quality = JSON.stringify(quality)
    return {
      path: '/images/generations',
      protocol: 'openai',
      // These models always answer with base64 and refuse the field.
      body: { edit: { set, drop: ['response_format'] } },
      stream: body.stream === true,
    }
  },

  read: (reply, { body }, model) => readPictures(reply, body, model),
  stream: gptImageStream,

  usage: shownPictureUsage,
  texts: ({ prompt }) => [prompt],

  plain: {
    fields: ['n', 'size', 'quality'],
    body: ({ text, ...options }) => ({ prompt: text, ...options }),
  },
}

/** Refuses a size that the model does not support: those in the catalogue are supported, or any within the rules. */
function checkSize(text: string, model: Model): void {
  if (model.sizes) {
    if (model.sizes.includes(text)) return
    throw invalidRequest(
      'size',
      `Unsupported 'size': ${model.id} makes ${model.sizes.join(', ')}, but got ${shown(text)}.`,
    )
  }
  if (text === 'auto') return
  const size = parseSize(text, 'x')
  const sides = size ? [size.width, size.height] : []
  const [short = 0, long = 0] = sides.toSorted((a, b) => a - b)
  const fits = sides.every((side) => side % SIDE_STEP === 0) && long <= MAX_SIDE && long <= MAX_RATIO * short
  if (size && fits) return
  throw invalidRequest(
    'size',
    `Unsupported 'size': ${model.id} makes \`auto\`, or a width and height such as 1536x1024, both multiples of ${SIDE_STEP} and at most ${MAX_SIDE}, the longer at most ${MAX_RATIO} times the shorter. Got ${shown(text)}.`,
  )
}

function shown(text: string): string {
  return text.length > 32 ? `${text.slice(0, 32)}…` : text
}
