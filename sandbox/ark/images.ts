// Seedream of the simulated Ark: single images and series, whole or as a stream with an event for each image. It must
// never end a stream with fewer events than images, or count an image that failed.

import { asArray, asNumber, asObject, asString, isGiven, type JsonObject } from '../json'
import { type Dimensions, keptSeconds, pictureFile, pictureUrl } from '../picture-files'
import { picture } from '../pictures'
import { jsonFrame, jsonReply } from '../replies'
import type { EventFrame, Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { invalid, missing, newRequestId, unknownModel } from './errors'

interface ImageModel {
  classes: readonly string[]
  pixelsMin: number
  referencesMax: number
  /** True if the caller may choose between PNG and JPEG. */
  choosesFormat: boolean
}

export const imageModels = new Map<string, ImageModel>([
  ['seedream-4-0-250828', makes(['1k', '2k', '4k'], 921_600, false)],
  ['seedream-4-5-251128', makes(['2k', '4k'], 3_686_400, false)],
  ['seedream-5-0-260128', makes(['2k', '3k'], 3_686_400, true)],
])
const sideByClass = new Map([
  ['1k', 1024],
  ['2k', 2048],
  ['3k', 3072],
  ['4k', 4096],
])
const pixelsMax = 4096 * 4096
const imagesMost = 15
/** Images of a series when the request gives no number. */
const seriesUsual = 4
const pixelsPerToken = 256

function makes(classes: readonly string[], pixelsMin: number, choosesFormat: boolean): ImageModel {
  return { classes, pixelsMin, referencesMax: 14, choosesFormat }
}

export function generateImages(request: VendorRequest, body: JsonObject): Reply {
  const name = asString(body.model) ?? ''
  if (name === '') return missing('model')
  const model = imageModels.get(name)
  if (!model) return unknownModel(name)
  if ((asString(body.prompt) ?? '') === '') return missing('prompt')
  const size = readSize(body.size, model)
  if (typeof size === 'string') return invalid('size', size)
  const refused = refusedReferences(body, model) ?? refusedSeries(body)
  if (refused) return refused
  if (isGiven(body.output_format) && !model.choosesFormat) {
    return invalid('output_format', 'output_format is not supported by the current model')
  }
  const images = makeImages(request, body, size)
  return body.stream === true
    ? streamReply(request, name, images)
    : jsonReply(200, whole(request, name, images), { 'x-request-id': newRequestId() })
}

export function arkImageFile(path: string, query: URLSearchParams) {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(query.get('X-Tos-Date') ?? '') ?? []
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map(Number)
  const givenSeconds = Date.UTC(year, month - 1, day, hour, minute, second) / 1000
  return pictureFile(path, givenSeconds + Number(query.get('X-Tos-Expires')))
}

type MadeImage = { size: Dimensions; content: JsonObject } | { error: { code: string; message: string } }

function makeImages(request: VendorRequest, body: JsonObject, size: Dimensions): MadeImage[] {
  const { directives } = request
  const isSeries = body.sequential_image_generation === 'auto'
  const requested = asNumber(asObject(body.sequential_image_generation_options)?.max_images)
  const room = imagesMost - referencesOf(body).length
  const most = isSeries ? Math.min(requested ?? room, room) : 1
  const count = directives.empty ? 0 : Math.min(directives.images ?? requested ?? seriesUsual, most)
  const blocked = directives.blocked ?? 0
  return Array.from({ length: count }, (_none, index) =>
    // The last images fail, so that a stream begins with images.
    index >= count - blocked ? { error: inspectionError } : { size, content: contentOf(request, body, size) },
  )
}

const inspectionError = {
  code: 'OutputImageSensitiveContentDetected',
  message: 'The request failed because the output image may contain sensitive information.',
}

function contentOf(request: VendorRequest, body: JsonObject, size: Dimensions): JsonObject {
  const format = body.output_format === 'png' ? 'png' : 'jpeg'
  if (body.response_format === 'b64_json') {
    return { b64_json: Buffer.from(picture(format, size.width, size.height).bytes).toString('base64') }
  }
  const given = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const query = {
    'X-Tos-Date': given,
    'X-Tos-Expires': String(keptSeconds),
    'X-Tos-Signature': 'sandbox',
  }
  return { url: pictureUrl(request.filesUrl, format, size, query) }
}

function usageOf(request: VendorRequest, images: readonly MadeImage[]): JsonObject | undefined {
  const made = images.filter((image) => 'size' in image)
  const tokens = made.reduce((sum, { size }) => sum + (size.width * size.height) / pixelsPerToken, 0)
  const usage = { generated_images: made.length, output_tokens: tokens, total_tokens: tokens }
  return reportUsage(usage, request.directives.usage)
}

function shown(image: MadeImage): JsonObject {
  return 'error' in image ? image : { ...image.content, size: `${image.size.width}x${image.size.height}` }
}

function whole(request: VendorRequest, model: string, images: readonly MadeImage[]): JsonObject {
  const usage = usageOf(request, images)
  return { model, created: seconds(), data: images.map(shown), ...(usage && { usage }) }
}

function streamReply(request: VendorRequest, model: string, images: readonly MadeImage[]): Reply {
  const frame = (word: string, more: JsonObject): EventFrame => {
    const type = `image_generation.${word}`
    return jsonFrame({ type, model, created: seconds(), ...more }, type)
  }
  const frames = images.map((image, index) =>
    frame('error' in image ? 'partial_failed' : 'partial_succeeded', { image_index: index, ...shown(image) }),
  )
  const usage = usageOf(request, images)
  frames.push(frame('completed', usage ? { usage } : {}))
  const error = { code: 'InternalServiceError', message: 'The service encountered an internal error.' }
  const failure = jsonFrame({ type: 'error', error }, 'error')
  return {
    status: 200,
    headers: { 'x-request-id': newRequestId() },
    body: { kind: 'events', stream: { frames, last: { data: '[DONE]' }, failure } },
  }
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}

function referencesOf(body: JsonObject): unknown[] {
  return isGiven(body.image) ? (asArray(body.image) ?? [body.image]) : []
}

function refusedReferences(body: JsonObject, model: ImageModel): Reply | undefined {
  const references = referencesOf(body)
  if (references.length > model.referencesMax) {
    const why = `expected at most ${model.referencesMax} images but got ${references.length} instead`
    return invalid('image', why)
  }
  const isFetchable = (image: unknown) => /^(https?:\/\/|data:image\/)/.test(asString(image) ?? '')
  return references.every(isFetchable) ? undefined : invalid('image', 'invalid url specified')
}

function refusedSeries(body: JsonObject): Reply | undefined {
  const word = body.sequential_image_generation
  if (isGiven(word) && word !== 'auto' && word !== 'disabled') {
    return invalid('sequential_image_generation', "must be one of 'auto' or 'disabled'")
  }
  const most = asObject(body.sequential_image_generation_options)?.max_images
  const count = isGiven(most) ? asNumber(most) : 1
  if (count !== undefined && Number.isInteger(count) && count >= 1 && count <= imagesMost) return undefined
  return invalid('sequential_image_generation_options.max_images', `must be between 1 and ${imagesMost}`)
}

/** The size, or the fault in it. */
function readSize(value: unknown, model: ImageModel): Dimensions | string {
  const text = isGiven(value) ? (asString(value) ?? '').toLowerCase() : '2048x2048'
  const side = model.classes.includes(text) ? sideByClass.get(text) : undefined
  if (side !== undefined) return { width: side, height: side }
  const [, first, second] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? []
  if (first === undefined) {
    return `size must be one of 'WIDTHxHEIGHT', ${model.classes.map((word) => `'${word}'`).join(', ')}`
  }
  const [width, height] = [Number(first), Number(second)]
  if (width * height < model.pixelsMin) return `image size must be at least ${model.pixelsMin} pixels`
  if (width * height > pixelsMax) return `image size must be at most ${pixelsMax} pixels`
  const ratio = width / height
  return ratio < 1 / 16 || ratio > 16
    ? 'the ratio of width to height must be between 1/16 and 16'
    : { width, height }
}
