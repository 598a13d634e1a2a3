// Qwen-Image of the simulated DashScope. It answers with URLs of PNGs that last a day. It must never accept what the real service
// refuses: a second message, a text without its image, a size out of bounds.

import { asArray, asNumber, asObject, asObjects, asString, isGiven, type JsonObject } from '../json'
import { type Dimensions, keptSeconds, pictureFile, pictureUrl } from '../picture-files'
import { jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { errorReply, headers, invalid } from './errors'

/** How a model checks a size: by area, by each side, by a list, or not at all. */
type SizeRule = 'area' | 'sides' | 'listed' | 'ignored'

interface ImageModel {
  images: { min: number; max: number }
  imagesMostMade: number
  size: SizeRule
  usual: string
}

export const imageNames = /^qwen-image(-|$)/

export const imageModels = new Map<string, ImageModel>([
  ['qwen-image-2.0', makes({ min: 0, max: 3 }, 6, 'area', '2048*2048')],
  ['qwen-image-2.0-pro', makes({ min: 0, max: 3 }, 6, 'area', '2048*2048')],
  ['qwen-image-max', makes({ min: 0, max: 0 }, 1, 'sides', '1664*928')],
  ['qwen-image-plus', makes({ min: 0, max: 0 }, 1, 'listed', '1664*928')],
  ['qwen-image-edit', makes({ min: 1, max: 3 }, 1, 'ignored', '1024*1024')],
  ['qwen-image-edit-plus', makes({ min: 1, max: 3 }, 6, 'sides', '1024*1024')],
  ['qwen-image-edit-max', makes({ min: 1, max: 3 }, 6, 'sides', '1024*1024')],
])
const listedSizes = ['1664*928', '1472*1104', '1328*1328', '1104*1472', '928*1664']
const sideMin = 512
const sideMax = 2048
const seedMax = 2_147_483_647

function makes(
  images: ImageModel['images'],
  imagesMostMade: number,
  size: SizeRule,
  usual: string,
): ImageModel {
  return { images, imagesMostMade, size, usual }
}

export function answerImages(request: VendorRequest, body: JsonObject): Reply {
  const model = imageModels.get(asString(body.model) ?? '')
  if (!model) return invalid(request, 'Model not exist.')
  const parameters = asObject(body.parameters) ?? {}
  const fault = faultOfMessages(asObject(body.input), model) ?? faultOfParameters(parameters, model)
  if (fault !== undefined) return invalid(request, fault)
  const wanted = model.size === 'ignored' ? undefined : asString(parameters.size)
  const size = parseSize(wanted ?? model.usual) ?? { width: sideMin, height: sideMin }
  const count = request.directives.empty ? 0 : (request.directives.images ?? asNumber(parameters.n) ?? 1)
  return reply(request, size, count)
}

/** The reply with images. If a directive makes moderation block a picture, the whole request fails. */
function reply(request: VendorRequest, size: Dimensions, count: number): Reply {
  if (request.directives.blocked !== undefined) {
    const message = 'Output data may contain inappropriate content.'
    const code = 'DataInspectionFailed'
    return errorReply(request, { status: 400, code, compatibleCode: 'data_inspection_failed', message })
  }
  const requestId = crypto.randomUUID()
  const expires = Math.floor(Date.now() / 1000) + keptSeconds
  const query = { Expires: String(expires), OSSAccessKeyId: 'sandbox', Signature: 'sandbox' }
  const content = Array.from({ length: count }, () => ({
    image: pictureUrl(request.filesUrl, 'png', size, query),
  }))
  const choices = count === 0 ? [] : [{ finish_reason: 'stop', message: { role: 'assistant', content } }]
  const usage = reportUsage({ image_count: count, ...size }, request.directives.usage)
  const value = { output: { choices }, ...(usage && { usage }), request_id: requestId }
  return jsonReply(200, value, headers(requestId))
}

export function imageFile(path: string, query: URLSearchParams) {
  return pictureFile(path, Number(query.get('Expires')))
}

function faultOfMessages(input: JsonObject | undefined, model: ImageModel): string | undefined {
  const messages = asArray(input?.messages)
  if (!messages) return 'No messages found in input'
  if (messages.length !== 1) return 'messages length only support 1'
  const blocks = asObjects(asObject(messages[0])?.content)
  const texts = blocks.filter(({ text }) => isGiven(text))
  const images = blocks.filter(({ image }) => isGiven(image))
  if (texts.length === 0 || images.length < model.images.min) return 'lack of image or text'
  if (texts.length > 1 || images.length > model.images.max) {
    return `content length only support ${model.images.max + 1}`
  }
  const isFetchable = ({ image }: JsonObject) => /^(https?:\/\/|data:image\/)/.test(asString(image) ?? '')
  return images.every(isFetchable) ? undefined : 'url error, please check url!'
}

function faultOfParameters(parameters: JsonObject, model: ImageModel): string | undefined {
  const { size, n, seed } = parameters
  // The oldest editor checks neither of these.
  if (model.size === 'ignored') return undefined
  const count = isGiven(n) ? (asNumber(n) ?? 0) : 1
  if (model.imagesMostMade === 1 && count !== 1) return 'num_images_per_prompt must be 1.'
  if (!Number.isInteger(count) || count < 1 || count > model.imagesMostMade) {
    return `num_images_per_prompt must be between 1 and ${model.imagesMostMade}.`
  }
  const number = isGiven(seed) ? asNumber(seed) : 0
  if (number === undefined || !Number.isInteger(number) || number < 0 || number > seedMax) {
    return `seed must be in [0, ${seedMax}]`
  }
  return isGiven(size) ? faultOfSize(size, model.size) : undefined
}

function faultOfSize(value: unknown, rule: SizeRule): string | undefined {
  const text = asString(value) ?? ''
  const size = parseSize(text)
  if (!size) return "Invalid input format, expected format like '1328*1328'"
  if (rule === 'listed') {
    return listedSizes.includes(text) ? undefined : `size must be in ${listedSizes.join(',')}`
  }
  const { width, height } = size
  if (rule === 'area') {
    const fits = width * height >= sideMin * sideMin && width * height <= sideMax * sideMax
    return fits
      ? undefined
      : `The total pixels of size must be between ${sideMin}*${sideMin} and ${sideMax}*${sideMax}.`
  }
  const fits = [width, height].every((side) => side >= sideMin && side <= sideMax)
  return fits ? undefined : `The width and height of size must be between ${sideMin} and ${sideMax}.`
}

function parseSize(text: string): Dimensions | undefined {
  const [, width, height] = /^(\d{1,4})\*(\d{1,4})$/.exec(text) ?? []
  return width === undefined ? undefined : { width: Number(width), height: Number(height) }
}
