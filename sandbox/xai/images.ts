// Simulates xAI's images: JSON only, sizes refused, references used on one path only, moderation in both of its ways. It must never
// be more lenient than the real service: whatever that ignores and bills is ignored and billed here.

import { asArray, asNumber, asObjects, asString, isGiven, type JsonObject } from '../json'
import { type Picture, picture } from '../pictures'
import { hexId, jsonReply } from '../replies'
import type { Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { codedError, codes, headers, notDeserialized, textError } from './errors'

/** The price of an image by its resolution, and of an input image, in US dollars. */
interface ImageModel {
  price: { [resolution: string]: number }
  inputPrice: number
  qualities: readonly string[]
  /** Discount for low quality, in US dollars. */
  lowDiscount?: number
}

const models: Readonly<Record<string, ImageModel>> = {
  'grok-imagine-image': { price: { '1k': 0.02, '2k': 0.02 }, inputPrice: 0.002, qualities: [] },
  'grok-imagine-image-quality': { price: { '1k': 0.05, '2k': 0.07 }, inputPrice: 0.01, qualities: [] },
  'grok-imagine-image-2026-03-02': { price: { '1k': 0.02, '2k': 0.02 }, inputPrice: 0.002, qualities: [] },
  // github.com/pollinations/pollinations/pull/13373 and github.com/Wei-Shaw/sub2api/pull/5558, 2026-08.
  'grok-imagine-image-2.0': {
    price: { '1k': 0.06, '2k': 0.08 },
    inputPrice: 0.01,
    qualities: ['low', 'medium', 'high', 'auto'],
    lowDiscount: 0.02,
  },
}
export const imageModels = Object.keys(models)

const TICKS_PER_DOLLAR = 10_000_000_000
const IMAGES_MAX = 10
const REFERENCES_MAX = 3
const NEVER_SUPPORTED = ['size', 'style']
const RATIOS = '1:1 3:4 4:3 9:16 16:9 2:3 3:2 9:19.5 19.5:9 9:20 20:9 1:2 2:1 auto'.split(' ')
const FOLDER = '/xai-imgen/'

export function imageReply(request: VendorRequest, body: JsonObject, task: 'generate' | 'edit'): Reply {
  const name = asString(body.model)
  if (name === undefined) return notDeserialized('missing field `model`')
  if (asString(body.prompt) === undefined) return notDeserialized('missing field `prompt`')
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (!model) {
    const message = `The model ${name} does not exist or your team does not have access to it.`
    return codedError(404, codes.missing, message)
  }
  const refused = refusal(body, model) ?? (task === 'edit' ? referenceRefusal(body) : undefined)
  if (refused) return refused
  return made(request, body, name, model, task === 'edit' ? referencesOf(body).length : 0)
}

/** The address of a picture that was made before. */
export function imageResult(path: string): Picture | undefined {
  return path.startsWith(FOLDER) && path.endsWith('.jpeg') ? picture('jpeg') : undefined
}

function refusal(body: JsonObject, model: ImageModel): Reply | undefined {
  const unsupported = NEVER_SUPPORTED.find((field) => isGiven(body[field]))
  if (unsupported !== undefined)
    return codedError(400, codes.invalid, `Argument not supported: ${unsupported}`)
  if (isGiven(body.quality) && model.qualities.length === 0) {
    return codedError(400, codes.invalid, 'Argument not supported: quality')
  }
  const words: [field: string, known: readonly string[]][] = [
    ['quality', model.qualities],
    ['resolution', Object.keys(model.price)],
    ['aspect_ratio', RATIOS],
    ['response_format', ['url', 'b64_json']],
  ]
  for (const [field, known] of words) {
    if (isGiven(body[field]) && !known.includes(String(body[field]))) {
      const expected = known.map((word) => `\`${word}\``).join(', ')
      return notDeserialized(`${field}: unknown variant \`${body[field]}\`, expected one of ${expected}`)
    }
  }
  if (!isGiven(body.n)) return undefined
  const n = asNumber(body.n)
  if (n === undefined || !Number.isInteger(n)) return notDeserialized('n: invalid type, expected u32')
  if (n >= 1 && n <= IMAGES_MAX) return undefined
  return codedError(400, codes.invalid, `n must be between 1 and ${IMAGES_MAX}, but was ${n}.`)
}

function referencesOf(body: JsonObject): unknown[] {
  return isGiven(body.image) ? [body.image] : (asArray(body.images) ?? [])
}

function referenceRefusal(body: JsonObject): Reply | undefined {
  const references = referencesOf(body)
  const text = asString(references.find((reference) => typeof reference === 'string'))
  if (text !== undefined) {
    return notDeserialized(`image: invalid type: string "${text}", expected struct ImageUrl`)
  }
  if (references.length === 0) return codedError(400, codes.invalid, 'An edit needs an image.')
  if (references.length > REFERENCES_MAX) {
    return codedError(400, codes.invalid, `At most ${REFERENCES_MAX} images can be edited at once.`)
  }
  if (asObjects(references).some(({ url }) => !/^(https?:\/\/|data:image\/)./.test(asString(url) ?? ''))) {
    return textError(400, 'Failed to fetch the image: the URL is not valid.')
  }
  return undefined
}

function made(
  request: VendorRequest,
  body: JsonObject,
  name: string,
  model: ImageModel,
  references: number,
): Reply {
  const { directives } = request
  const count = directives.empty ? 0 : (asNumber(body.n) ?? 1)
  const { blocked = 0 } = directives
  const data = Array.from({ length: count }, (_none, index) =>
    image(request, body.response_format === 'b64_json', index < blocked),
  )
  const usual = model.price[asString(body.resolution) ?? '1k'] ?? 0
  const price = usual - (body.quality === 'low' ? (model.lowDiscount ?? 0) : 0)
  const dollars = price * count + model.inputPrice * references
  const usage = reportUsage({ cost_in_usd_ticks: Math.round(dollars * TICKS_PER_DOLLAR) }, directives.usage)
  return jsonReply(200, { data, model: name, ...(usage ? { usage } : {}) }, headers())
}

function image(request: VendorRequest, asBase64: boolean, isBlocked: boolean): JsonObject {
  const rest = { mime_type: 'image/jpeg', revised_prompt: '', respect_moderation: !isBlocked }
  if (isBlocked) return { [asBase64 ? 'b64_json' : 'url']: '', ...rest }
  if (asBase64) return { b64_json: Buffer.from(picture('jpeg').bytes).toString('base64'), ...rest }
  return { url: `${request.filesUrl}${FOLDER}xai-tmp-imgen-${hexId(16)}.jpeg`, ...rest }
}
