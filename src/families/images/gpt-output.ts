// Shared by generation and editing with GPT image models: the output fields, their cost, and the replies. Everything
// else must stay in each family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { FieldRule, Model, Quantities, Upload } from '../../contract/family'
import { type Made, PARTIAL, type Reading, usageReading } from '../../contract/reading'
import { inputTokensOf, outputTokensOf } from '../../contract/units'
import { isUntypedError } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { pictureInBase64 } from '../../lib/file-formats/picture'
import { parseSize, type Size } from '../../lib/file-formats/pixel-size'
import { isObject } from '../../lib/objects'
import { ABSURD_FIGURE, optionalField, reportedCount } from '../shared-schemas'
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
  quality: optionalField(words('auto', 'low', 'medium', 'high', 'xhigh', 'max', 'standard', 'hd')),
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

type Quality = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** Units that a model must have a price for: text and picture tokens have different prices, in both directions. */
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

/** The qualities of newer models, which refuse those of the older ones. */
export function qualityOf({ quality }: Output): Quality | 'auto' | undefined {
  if (quality === 'standard') return 'medium'
  return quality === 'hd' ? 'high' : (quality ?? undefined)
}

/** Tokens held for the plan that models may write in addition to the picture. */
const MAX_TEXT_TOKENS = 1_000
/** Tokens of each partial picture that is sent before the final one. */
const PARTIAL_IMAGE_TOKENS = 100

/** The maximum that the output can cost. */
export function quoteOutput(body: Output): Quantities {
  const count = body.n ?? 1
  const quality = qualityOf(body) ?? 'auto'
  const most = mostTokens(quality === 'auto' ? 'high' : quality, parseSize(body.size ?? 'auto', 'x'))
  return {
    output_token: count * MAX_TEXT_TOKENS,
    output_image_token: count * (most + (body.partial_images ?? 0) * PARTIAL_IMAGE_TOKENS),
  }
}

/** Generations of models, by how they count the tokens of a picture. */
type Generation = 'gpt-image-1' | 'gpt-image-2' | 'gpt-image-2.5'
/**
 * Tokens along the longer side of a picture; both sides of a square have this number. Those of gpt-image-2.5 fit the documented
 * prices of its pictures at 30 dollars per million tokens (fal.ai, as the litellm package 1.110 lists them, November 2026). Only it
 * has the two highest qualities.
 */
const LONG_SIDE_TOKENS = {
  'gpt-image-2': { low: 16, medium: 48, high: 96, xhigh: 96, max: 96 },
  'gpt-image-2.5': { low: 16, medium: 24, high: 48, xhigh: 64, max: 96 },
}
/** Pixels per token along a side for older models, for the largest picture that they make. */
const TOKEN_PIXELS = { low: 64, medium: 32, high: 16, xhigh: 16, max: 16 }
const OLDER_MOST_PIXELS = 1536 * 1024
/**
 * Sizes to assume if the model chooses: the tallest of the documented sizes, and a square larger than the largest one seen,
 * 1254x1254.
 */
const AUTO_SIZES = [
  { width: 1024, height: 1536 },
  { width: 1536, height: 1536 },
]

/** Tokens of one picture, by the model that uses more. */
function mostTokens(quality: Quality, size: Size | undefined): number {
  if (!size) return Math.max(...AUTO_SIZES.map((size) => mostTokens(quality, size)))
  return Math.max(newerTokens(quality, size, 'gpt-image-2'), olderTokens(quality, size))
}

/**
 * Tokens of one picture if the vendor does not count, by size: newer models by name, all others like the older ones.
 */
function madeTokens(quality: Quality, size: Size, generation: Generation): number {
  if (generation !== 'gpt-image-1') return newerTokens(quality, size, generation)
  return olderTokens(quality, size) || newerTokens(quality, size, 'gpt-image-2')
}

/** Checked against documented figures: 196, 1756 and 7024 for a square of 1024, and 13342 for 3840x2160 in high quality. */
function newerTokens(
  quality: Quality,
  { width, height }: Size,
  generation: keyof typeof LONG_SIDE_TOKENS,
): number {
  const long = LONG_SIDE_TOKENS[generation][quality]
  const short = Math.round((long * Math.min(width, height)) / Math.max(width, height))
  return Math.ceil((long * short * (2_000_000 + width * height)) / 4_000_000)
}

/** Checked against documented figures: 272, 1056 and 4160 for a square of 1024. None for sizes that only newer models support. */
function olderTokens(quality: Quality, { width, height }: Size): number {
  if (width * height > OLDER_MOST_PIXELS) return 0
  const pixels = TOKEN_PIXELS[quality]
  // Each row ends with an additional token.
  return Math.ceil(height / pixels) * (Math.ceil(width / pixels) + 1)
}

/** Reads a reply. If the vendor does not count, the pictures in it and in the request are counted. */
export function readPictures(
  reply: unknown,
  body: Output,
  { upstreamModel }: Model,
  uploads: readonly Upload[] = [],
): Reading {
  const { error, usage, size, quality } = reply as Reply
  const pictures = picturesIn(reply)
  // An answer without a picture counts as an error.
  if (isObject(error) || pictures.length === 0) return { end: 'failed' }
  const stated = { size: size ?? body.size, quality: quality ?? qualityOf(body) }
  const generation = generationOf(upstreamModel)
  const isFaithful =
    generation !== 'gpt-image-1' || (body as { input_fidelity?: unknown }).input_fidelity === 'high'
  const counted = {
    ...(uploads.length > 0 && {
      input_image_token: sumOf(uploads, ({ picture }) => inputTokens(picture, isFaithful)),
    }),
    output_image_token: sumOf(pictures, (picture) => tokensOf(picture, stated, generation)),
  }
  return {
    output: { kind: 'shown', counted },
    usage: usageReading(usageOf(usage)),
    end: 'finished',
  }
}

function sumOf<Each>(list: readonly Each[], figure: (each: Each) => number): number {
  return list.reduce((sum, each) => sum + figure(each), 0)
}

/** Side of a tile in pixels; the shorter side of a larger picture is scaled down to it. */
const TILE_PIXELS = 512

/**
 * Tokens of an input picture, by OpenAI's guide to vision for GPT image models: 65 and 129 for each tile, and at
 * high fidelity 4160 more for a square and 6240 for other shapes. The package openai-image-token-counter (PyPI) has the same
 * 65 and 129.
 */
function inputTokens(size: Size | undefined, isFaithful: boolean): number {
  const { width, height } = size ?? { width: TILE_PIXELS, height: TILE_PIXELS }
  const factor = Math.min(1, TILE_PIXELS / Math.min(width, height))
  const [across, down] = [width, height].map((side) => Math.ceil((side * factor) / TILE_PIXELS))
  const more = isFaithful ? (width === height ? 4160 : 6240) : 0
  return 65 + 129 * (across ?? 1) * (down ?? 1) + more
}

function generationOf(upstreamModel: string): Generation {
  if (/^gpt-image-(2\.[5-9]|[3-9])/.test(upstreamModel)) return 'gpt-image-2.5'
  return upstreamModel.startsWith('gpt-image-2') ? 'gpt-image-2' : 'gpt-image-1'
}

/** Tokens of a generated picture: by the size in its bytes, otherwise by the reported one. */
function tokensOf(
  { b64_json: data }: { b64_json?: unknown },
  { size, quality }: { size?: unknown; quality?: unknown },
  generation: Generation,
): number {
  const known = isQuality(quality) ? quality : 'high'
  const made = typeof data === 'string' ? pictureInBase64(data) : undefined
  const stated = made ?? (typeof size === 'string' ? parseSize(size, 'x') : undefined)
  return stated ? madeTokens(known, stated, generation) : mostTokens(known, undefined)
}

function isQuality(quality: unknown): quality is Quality {
  return typeof quality === 'string' && Object.hasOwn(TOKEN_PIXELS, quality)
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
  // The vendor of the newer models always counts; answers without a count come from other servers.
  const counted = {
    output_image_token: isPicture(event) ? tokensOf(event, event as Event, 'gpt-image-1') : 0,
  }
  const output: Made | undefined = isPicture(event) ? { kind: 'shown', counted } : undefined
  return { output, usage: usageReading(usageOf(usage)), end: 'finished' }
}

interface Reply {
  error?: unknown
  usage?: unknown
  size?: unknown
  quality?: unknown
}

interface Event extends Reply {
  type?: unknown
}

/** The vendor's usage. Tokens of an unspecified kind are text in the input and pictures in the output. */
function usageOf(usage: unknown): Quantities | 'invalid' | undefined {
  // Some servers report zeros if they do not count: no picture has zero tokens.
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

/** The usage for callers, in the vendor's terms. */
export function shownPictureUsage(
  figures: Quantities,
  reported?: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { input_image_token: image = 0, output_token: text = 0 } = figures
  const [input, output] = [inputTokensOf(figures), outputTokensOf(figures)]
  return (
    reported ?? {
      input_tokens: input,
      input_tokens_details: { image_tokens: image, text_tokens: input - image },
      output_tokens: output,
      output_tokens_details: { image_tokens: output - text, text_tokens: text },
      total_tokens: input + output,
    }
  )
}

function detailOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

/** The rules for fields. Fidelity, quality and partial pictures cost tokens, which the usage includes. */
export const gptImageFieldRules: readonly FieldRule[] = [
  serviceTier,
  ...otherModels,
  ...fileIds('image.file_id', 'image[].file_id', 'images.file_id', 'images[].file_id', 'mask.file_id'),
  ...addresses('images[].image_url', 'mask.image_url'),
  ...earlierAnswers('previous_response_id'),
]
