// Simulates OpenAI's images: generation and editing, whole or as a stream with partial pictures, priced by tokens, and the retired
// model with its picture URLs. It must never count tokens as the gateway does: the figures are those of the vendor's documentation.

import { asNumber, asObject, asString, type JsonObject } from '../json'
import { type Dimensions, pictureFile, pictureUrl } from '../picture-files'
import { type PictureFormat, picture } from '../pictures'
import { countTokens } from '../pieces'
import { jsonFrame, jsonReply } from '../replies'
import type { EventFrame, FormField, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { errorReply, headers, moderated, unknownModel } from './errors'
import { badRequest } from './fields'
import { findContentFault, findImageFault, type ImageRequest, imageModel, type Task } from './image-fields'

const numberFields = ['n', 'output_compression', 'partial_images']
/** How long the retired model stores a picture, in milliseconds. */
const keptMs = 3_600_000
const largest = { width: 1024, height: 1024 }

export async function answerImages(request: VendorRequest): Promise<Reply> {
  const task: Task = request.path.endsWith('/edits') ? 'edits' : 'generations'
  const read = request.form ? readForm(task, request.form) : readJson(task, asObject(request.json) ?? {})
  if (read.task === 'edits' && !request.form) {
    return errorReply(badRequest("Invalid content type: expected 'multipart/form-data'.", null, null))
  }
  const name = asString(read.fields.model) ?? ''
  if (name === '') return errorReply(badRequest('you must provide a model parameter', null, null))
  const model = imageModel(name)
  if (!model) return unknownModel(name)
  const fault = findImageFault(read, model) ?? (await findContentFault(read))
  if (fault) return errorReply(fault)
  if (request.directives.blocked) return moderated()
  if (name === 'dall-e-2') return legacyReply(request, read)
  const made = make(request, read, name)
  return read.fields.stream === true ? streamReply(read, made) : wholeReply(made)
}

/** A picture of the retired model, until the hour in its URL is over. */
export function imageFile(path: string, query: URLSearchParams) {
  return pictureFile(path, Date.parse(query.get('se') ?? '') / 1000)
}

function readJson(task: Task, fields: JsonObject): ImageRequest {
  return { task, fields, images: [], masks: [] }
}

function readForm(task: Task, form: readonly FormField[]): ImageRequest {
  const fields: JsonObject = {}
  const images: File[] = []
  const masks: File[] = []
  for (const [name, value] of form) {
    if (typeof value === 'string') fields[name] = readText(name, value)
    else if (name === 'image' || name === 'image[]') images.push(value)
    else if (name === 'mask') masks.push(value)
    else fields[name] = value
  }
  return { task, fields, images, masks }
}

function readText(name: string, text: string): unknown {
  if (name === 'stream') return text === 'true'
  return numberFields.includes(name) && text !== '' ? Number(text) : text
}

interface Made {
  count: number
  base64: string
  /** Facts about the pictures, for the reply. */
  traits: { size: string; quality: string; background: string; output_format: PictureFormat }
  usage: JsonObject | undefined
}

function make(request: VendorRequest, { fields, images }: ImageRequest, model: string): Made {
  const { directives } = request
  const size = sizeOf(fields.size)
  const chosen = asString(fields.quality) ?? 'auto'
  const quality = chosen === 'auto' ? 'high' : chosen
  const format = (asString(fields.output_format) ?? 'png') as PictureFormat
  const background = fields.background === 'transparent' ? 'transparent' : 'opaque'
  const count = directives.empty ? 0 : (asNumber(fields.n) ?? 1)
  const each = directives.tokens ?? outputTokens(model, quality, size)
  const partial = fields.stream === true ? 100 * (asNumber(fields.partial_images) ?? 0) : 0
  const text = directives.promptTokens ?? countTokens(asString(fields.prompt) ?? '')
  const image = images.length * inputTokens(model, asString(fields.input_fidelity))
  const output = count * (each + partial)
  // Text that newer models write while they plan.
  const planned = directives.reasoning ?? 0
  const usage = {
    input_tokens: text + image,
    input_tokens_details: { image_tokens: image, text_tokens: text },
    output_tokens: output + planned,
    output_tokens_details: { image_tokens: output, text_tokens: planned },
    total_tokens: text + image + output + planned,
  }
  return {
    count,
    base64: Buffer.from(picture(format, size.width, size.height).bytes).toString('base64'),
    traits: { size: `${size.width}x${size.height}`, quality, background, output_format: format },
    usage: reportUsage(usage, directives.usage),
  }
}

function sizeOf(size: unknown): Dimensions {
  const [, width, height] = (/^(\d+)x(\d+)$/.exec(String(size)) ?? []).map(Number)
  return width && height ? { width, height } : largest
}

const documented: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  '1024x1024': { low: 272, medium: 1056, high: 4160 },
  '1024x1536': { low: 408, medium: 1584, high: 6240 },
  '1536x1024': { low: 400, medium: 1568, high: 6208 },
}
/**
 * Tokens of gpt-image-2.5 by size and quality: documented prices per picture (fal.ai, gpt-image-2.5/flare/text-to-image, as the
 * litellm package 1.110 lists them) at 30 dollars per million tokens.
 */
const documentedNewest: typeof documented = {
  '1024x1024': { low: 196, medium: 439, high: 1756, xhigh: 3122, max: 7024 },
  '1024x1536': { low: 158, medium: 343, high: 1372, xhigh: 2459, max: 5488 },
  '3840x2160': { low: 371, medium: 865, high: 3336, xhigh: 5930, max: 13342 },
}
const axisTokens: Readonly<Record<string, number>> = { low: 16, medium: 48, high: 96 }

function outputTokens(model: string, quality: string, { width, height }: Dimensions): number {
  if (model === 'gpt-image-1') return documented[`${width}x${height}`]?.[quality] ?? 0
  if (/^gpt-image-2\.[56]/.test(model)) return documentedNewest[`${width}x${height}`]?.[quality] ?? 0
  const long = axisTokens[quality] ?? 0
  const ratio = Math.min(width, height) / Math.max(width, height)
  return Math.ceil((long * Math.round(long * ratio) * (2_000_000 + width * height)) / 4_000_000)
}

/**
 * Tokens of an uploaded square: 65 and 129 per tile, and 4160 more at high fidelity, which the newer model always uses.
 */
function inputTokens(model: string, fidelity: string | undefined): number {
  return 65 + 129 + (model === 'gpt-image-1' && fidelity !== 'high' ? 0 : 4160)
}

function wholeReply({ count, base64, traits, usage }: Made): Reply {
  const data = Array.from({ length: count }, () => ({ b64_json: base64 }))
  return jsonReply(200, { created: now(), ...traits, data, ...(usage && { usage }) }, headers())
}

function streamReply({ task, fields }: ImageRequest, { base64, traits, usage }: Made): Reply {
  const kind = task === 'edits' ? 'image_edit' : 'image_generation'
  const event = (name: string, more: JsonObject): EventFrame => {
    const type = `${kind}.${name}`
    return jsonFrame({ type, b64_json: base64, created_at: now(), ...traits, ...more }, type)
  }
  const partials = Array.from({ length: asNumber(fields.partial_images) ?? 0 }, (_, index) =>
    event('partial_image', { partial_image_index: index }),
  )
  const message = 'The server had an error while processing your request. Sorry about that!'
  const error = {
    type: 'image_generation_server_error',
    code: 'image_generation_failed',
    message,
    param: null,
  }
  return {
    status: 200,
    headers: headers(),
    body: {
      kind: 'events',
      stream: {
        frames: partials,
        last: event('completed', usage ? { usage } : {}),
        failure: jsonFrame({ type: 'error', error }, 'error'),
      },
    },
  }
}

function legacyReply(request: VendorRequest, { fields }: ImageRequest): Reply {
  const size = sizeOf(fields.size)
  const count = request.directives.empty ? 0 : (asNumber(fields.n) ?? 1)
  const data = Array.from({ length: count }, () => {
    if (fields.response_format === 'b64_json') {
      return { b64_json: Buffer.from(picture('png', size.width, size.height).bytes).toString('base64') }
    }
    const query = { se: new Date(Date.now() + keptMs).toISOString(), sig: 'sandbox' }
    return { url: pictureUrl(request.filesUrl, 'png', size, query) }
  })
  return jsonReply(200, { created: now(), data }, headers())
}

function now(): number {
  return Math.floor(Date.now() / 1000)
}
