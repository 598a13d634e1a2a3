// Shared by generation and editing with GPT image models: the output fields, their cost, and the replies. Everything
// else must stay in each family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { FieldRule, Quantities } from '../../contract/family'
import { PARTIAL, type Reading, SHOWN, usageReading } from '../../contract/reading'
import { isUntypedError } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { isObject } from '../../lib/objects'
import { parseSize, type Size } from '../../lib/pixel-size'
import { ABSURD_FIGURE, optionalField, reportedCount } from '../body'
import { otherModels, serviceTier } from '../surcharges'
import { addresses, earlierAnswers, fileIds } from '../vendor-state'
import { isPicture, picturesIn } from './picture-list'

const words = <Word extends string>(...list: Word[]) => Type.Union(list.map((word) => Type.Literal(word)))

/** Fields that both families have. */
export const gptImageFields = {
  model: Type.String({ description: 'Id from GET /v1/models.' }),
  prompt: Type.String({ minLength: 1 }),
  n: optionalField(Type.Integer({ minimum: 1, maximum: 10 })),
  size: optionalField(Type.String({ description: '`auto`, or width and height such as `1536x1024`.' })),
  quality: optionalField(words('auto', 'low', 'medium', 'high', 'standard', 'hd')),
  response_format: optionalField(words('b64_json', 'url')),
  output_format: optionalField(words('png', 'jpeg', 'webp')),
  output_compression: optionalField(Type.Integer({ minimum: 0, maximum: 100 })),
  background: optionalField(words('transparent', 'opaque', 'auto')),
  stream: optionalField(Type.Boolean()),
  partial_images: optionalField(Type.Integer({ minimum: 0, maximum: 3 })),
  user: optionalField(Type.String()),
}

const Output = Type.Object(gptImageFields)
type Output = Static<typeof Output>

type Quality = 'low' | 'medium' | 'high'

/** Units that a model must have a price for: text and pictures are tokens of different price, in both directions. */
export const gptImageUnits = [
  ['input_token', 'input_image_token', 'output_token', 'output_image_token'],
] as const

export function checkBackground({ background, output_format }: Output): void {
  if (background !== 'transparent' || output_format !== 'jpeg') return
  throw invalidRequest(
    'background',
    "Invalid 'background': a JPEG cannot be transparent. Set 'output_format' to png or webp.",
  )
}

/** The quality in the names of newer models, which refuse those of the older ones. */
export function qualityOf({ quality }: Output): Quality | 'auto' | undefined {
  if (quality === 'standard') return 'medium'
  return quality === 'hd' ? 'high' : (quality ?? undefined)
}

/** Tokens held for the plan that models may write besides the picture. */
const MOST_TEXT_TOKENS = 1_000
/** Tokens of each unfinished picture that is sent before the whole one. */
const PARTIAL_IMAGE_TOKENS = 100

/** The most that the output can cost. */
export function quoteOutput(body: Output): Quantities {
  const count = body.n ?? 1
  const quality = qualityOf(body) ?? 'auto'
  const most = mostTokens(quality === 'auto' ? 'high' : quality, parseSize(body.size ?? 'auto', 'x'))
  return {
    output_token: count * MOST_TEXT_TOKENS,
    output_image_token: count * (most + (body.partial_images ?? 0) * PARTIAL_IMAGE_TOKENS),
  }
}

/** Tokens along the longer side for newer models; a square has as many along the other. */
const LONG_SIDE_TOKENS = { low: 16, medium: 48, high: 96 }
/** Pixels along a token's side for older models, for the largest picture that they make. */
const TOKEN_PIXELS = { low: 64, medium: 32, high: 16 }
const OLDER_MOST_PIXELS = 1536 * 1024
/**
 * Sizes to assume if the model chooses: the tallest of the documented sizes, and a square above the largest that was
 * seen, 1254x1254.
 */
const AUTO_SIZES = [
  { width: 1024, height: 1536 },
  { width: 1536, height: 1536 },
]

/**
 * Tokens of one picture, of the model that takes more. Checked against the documented figures: 272, 1056 and 4160 for a
 * square of 1024 of the older models and 196, 1756 and 7024 of the newer, and 13342 for 3840x2160 in high quality.
 */
function mostTokens(quality: Quality, size: Size | undefined): number {
  if (!size) return Math.max(...AUTO_SIZES.map((size) => mostTokens(quality, size)))
  const { width, height } = size
  const long = LONG_SIDE_TOKENS[quality]
  const short = Math.round((long * Math.min(width, height)) / Math.max(width, height))
  const newer = Math.ceil((long * short * (2_000_000 + width * height)) / 4_000_000)
  if (width * height > OLDER_MOST_PIXELS) return newer
  const pixels = TOKEN_PIXELS[quality]
  // Each row ends with one more token.
  const older = Math.ceil(height / pixels) * (Math.ceil(width / pixels) + 1)
  return Math.max(newer, older)
}

export function readPictures(reply: unknown): Reading {
  const { error, usage } = reply as Reply
  // An answer without a picture counts as an error.
  if (isObject(error) || picturesIn(reply).length === 0) return { end: 'failed' }
  return { output: SHOWN, usage: usageReading(usageOf(usage)), end: 'finished' }
}

export const gptImageStream = {
  end: null,
  showsUsage: () => true,
  read: readEvent,
}

function readEvent(event: unknown): Reading {
  const { type, error, usage } = event as Event
  if (isObject(error)) return { end: 'failed' }
  if (type === 'error' || isUntypedError(event)) return { end: 'failed-disguised' }
  if (typeof type !== 'string') return {}
  if (type.endsWith('.partial_image')) return { output: PARTIAL }
  if (!type.endsWith('.completed')) return {}
  const output = isPicture(event) ? SHOWN : undefined
  return { output, usage: usageReading(usageOf(usage)), end: 'finished' }
}

interface Reply {
  error?: unknown
  usage?: unknown
}

interface Event extends Reply {
  type?: unknown
}

/** The vendor's usage. Tokens of no stated kind are text in the input and pictures in the output. */
function usageOf(usage: unknown): Quantities | 'invalid' | undefined {
  // Some servers write zeros if they do not count: no picture has zero tokens.
  if (!isObject(usage) || usage.output_tokens === 0) return undefined
  const input = reportedCount(usage.input_tokens)
  const output = reportedCount(usage.output_tokens ?? Number.NaN)
  const inputImage = reportedCount(detailOf(usage.input_tokens_details).image_tokens)
  const outputText = reportedCount(detailOf(usage.output_tokens_details).text_tokens)
  const sane = [input, output, inputImage, outputText].every((tokens) => tokens <= ABSURD_FIGURE)
  if (!sane || inputImage > input || outputText > output) return 'invalid'
  return {
    input_token: input - inputImage,
    ...(inputImage > 0 ? { input_image_token: inputImage } : {}),
    ...(outputText > 0 ? { output_token: outputText } : {}),
    output_image_token: output - outputText,
  }
}

function detailOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

/** The rules for fields. Fidelity, quality and unfinished pictures are tokens that the usage counts. */
export const gptImageFieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  ...fileIds('image.file_id', 'image[].file_id', 'images.file_id', 'images[].file_id', 'mask.file_id'),
  ...addresses('images[].image_url', 'mask.image_url'),
  ...earlierAnswers('previous_response_id'),
]
