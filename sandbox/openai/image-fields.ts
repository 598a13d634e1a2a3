// The fields that OpenAI's image endpoints accept, as JSON or as a form. It must never repair a request: a wrong one is
// refused with the sentence of the real service.

import { isGiven } from '../json'
import { badRequest, type Fault, invalidValue, missingParameter } from './fields'

export type Task = 'generations' | 'edits'

/** A request as JSON or form. Texts of a form are read as the numbers and booleans that they represent. */
export interface ImageRequest {
  task: Task
  fields: Readonly<Record<string, unknown>>
  images: readonly File[]
  masks: readonly File[]
}

interface ImageModel {
  /** True if any size within the rules is accepted; otherwise only the listed ones. */
  freeSizes: boolean
  sizes: readonly string[]
  fields: readonly string[]
  /** Qualities in addition to the common ones. */
  qualities?: readonly string[]
  /** False for the newer model, which keeps every input at high fidelity and has no field for it. */
  inputFidelity: boolean
}

const commonFields = ['model', 'prompt', 'n', 'size', 'user', 'safety_identifier']
const gptFields = [
  ...commonFields,
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'stream',
  'partial_images',
  'input_fidelity',
]
const gptSizes = ['1024x1024', '1024x1536', '1536x1024', 'auto']

const newest: ImageModel = {
  freeSizes: true,
  sizes: gptSizes,
  fields: gptFields,
  qualities: ['xhigh', 'max'],
  inputFidelity: false,
}

/** Image models. The older two are retired, and are kept for servers that still serve them. */
const models: Readonly<Record<string, ImageModel>> = {
  'gpt-image-2': { freeSizes: true, sizes: gptSizes, fields: gptFields, inputFidelity: false },
  'gpt-image-2-2026-04-21': { freeSizes: true, sizes: gptSizes, fields: gptFields, inputFidelity: false },
  'gpt-image-2.5-flare': newest,
  'gpt-image-2.5-flare-2026-09-08': newest,
  'gpt-image-2.5-sunburst': newest,
  'gpt-image-2.5-sunburst-2026-09-08': newest,
  // The same prices and qualities as 2.5: docs.laozhang.ai/en/announcements/gpt-image-2-6-2026-11.md, 2026-11-05.
  'gpt-image-2.6-flare': newest,
  'gpt-image-2.6-sunburst': newest,
  'gpt-image-1': { freeSizes: false, sizes: gptSizes, fields: gptFields, inputFidelity: true },
  'dall-e-2': {
    freeSizes: false,
    sizes: ['256x256', '512x512', '1024x1024'],
    fields: [...commonFields, 'response_format'],
    inputFidelity: false,
  },
}

export function imageModel(name: string): ImageModel | undefined {
  return Object.hasOwn(models, name) ? models[name] : undefined
}

const choices: Readonly<Record<string, readonly string[]>> = {
  quality: ['low', 'medium', 'high', 'auto'],
  background: ['transparent', 'opaque', 'auto'],
  output_format: ['png', 'jpeg', 'webp'],
  moderation: ['low', 'auto'],
  input_fidelity: ['high', 'low'],
  response_format: ['url', 'b64_json'],
}

const ranges: Readonly<Record<string, readonly [min: number, max: number]>> = {
  n: [1, 10],
  output_compression: [0, 100],
  partial_images: [0, 3],
}

const pictureTypes = ['image/jpeg', 'image/png', 'image/webp']
const imagesMax = 16

/** The first fault that is found without reading the files. */
export function findImageFault(request: ImageRequest, model: ImageModel): Fault | undefined {
  const { task, fields } = request
  if (!isGiven(fields.prompt) || fields.prompt === '') return missingParameter('prompt')
  for (const [name, value] of Object.entries(fields)) {
    const known = model.fields.includes(name) && (name !== 'input_fidelity' || task === 'edits')
    if (!known) return badRequest(`Unknown parameter: '${name}'.`, name, 'unknown_parameter')
    const fault = isGiven(value) ? findValueFault(name, value, model) : undefined
    if (fault) return fault
  }
  return findSizeFault(fields.size, model) ?? findCombinationFault(fields, model) ?? findFileFault(request)
}

function findValueFault(name: string, value: unknown, { qualities = [] }: ImageModel): Fault | undefined {
  const values = name === 'quality' ? [...(choices.quality ?? []), ...qualities] : choices[name]
  if (values && !values.includes(String(value))) return invalidValue(name, value, values)
  const [min, max] = ranges[name] ?? []
  if (min === undefined || max === undefined) return undefined
  if (!Number.isInteger(value)) {
    return badRequest(`Invalid type for '${name}': expected an integer.`, name, 'invalid_type')
  }
  if ((value as number) < min) {
    const message = `Invalid '${name}': integer below minimum value. Expected a value >= ${min}, but got ${value} instead.`
    return badRequest(message, name, 'integer_below_min_value')
  }
  if ((value as number) <= max) return undefined
  const message = `Invalid '${name}': integer above maximum value. Expected a value <= ${max}, but got ${value} instead.`
  return badRequest(message, name, 'integer_above_max_value')
}

function findSizeFault(size: unknown, model: ImageModel): Fault | undefined {
  if (!isGiven(size) || model.sizes.includes(String(size))) return undefined
  if (!model.freeSizes) return invalidValue('size', size, model.sizes)
  const [, width, height] = (/^(\d+)x(\d+)$/.exec(String(size)) ?? []).map(Number)
  if (!width || !height) return invalidValue('size', size, model.sizes)
  const refuse = (rule: string) => badRequest(`Invalid size '${size}'. ${rule}`, 'size', 'invalid_value')
  if (width % 16 !== 0 || height % 16 !== 0) {
    return refuse('Width and height must both be divisible by 16.')
  }
  if (Math.max(width, height) > 3840) return refuse('The longest edge must be at most 3840 pixels.')
  if (Math.max(width, height) > 3 * Math.min(width, height)) {
    return refuse('The ratio of the longest edge to the shortest must be at most 3:1.')
  }
  if (width * height < 655_360)
    return refuse('Requested resolution is below the current minimum pixel budget.')
  return width * height > 8_294_400
    ? refuse('Requested resolution exceeds the current pixel budget.')
    : undefined
}

function findCombinationFault(fields: ImageRequest['fields'], model: ImageModel): Fault | undefined {
  if (fields.background === 'transparent' && fields.output_format === 'jpeg') {
    const message = 'Transparent background is not supported for JPEG output format.'
    return badRequest(message, 'background', 'invalid_background_output_format')
  }
  const compression = fields.output_compression ?? 100
  if (compression !== 100 && (fields.output_format ?? 'png') === 'png') {
    const message = 'Compression less than 100 is not supported for PNG output format.'
    return badRequest(message, 'output_compression', 'invalid_png_output_compression')
  }
  if (isGiven(fields.input_fidelity) && !model.inputFidelity) {
    const message = `The model '${fields.model}' does not support the 'input_fidelity' parameter.`
    return badRequest(message, 'input_fidelity', 'invalid_input_fidelity_model')
  }
  if (fields.stream === true && Number(fields.n ?? 1) > 1) {
    return badRequest('Streaming is only supported with n=1.', null, null)
  }
  return undefined
}

function findFileFault({ task, fields, images, masks }: ImageRequest): Fault | undefined {
  if (task === 'generations') return undefined
  if (images.length === 0) return missingParameter('image')
  if (images.length > imagesMax) {
    const message = `Invalid 'image': array too long. Expected an array with maximum length ${imagesMax}, but got an array with length ${images.length} instead.`
    return badRequest(message, 'image', 'array_above_max_length')
  }
  if (fields.model === 'dall-e-2' && images.length > 1) {
    return badRequest("Invalid type for 'image': expected a file, but got an array instead.", 'image', null)
  }
  for (const [name, files] of [['image', images] as const, ['mask', masks] as const]) {
    const odd = files.find(({ type }) => !pictureTypes.includes(type))
    if (!odd) continue
    const message = `Invalid file '${name}': unsupported mimetype ('${odd.type || 'application/octet-stream'}'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`
    return badRequest(message, null, 'unsupported_file_mimetype')
  }
  return undefined
}

const squareBytesMax = 4 * 1024 * 1024

/** The first fault in the files themselves. */
export async function findContentFault({ fields, images, masks }: ImageRequest): Promise<Fault | undefined> {
  const legacy = fields.model === 'dall-e-2'
  for (const [index, image] of images.entries()) {
    const size = await sizeOf(image)
    if (!size) {
      const message = `Invalid image file or mode for image ${index}, please check your image file.`
      return badRequest(message, 'image', 'invalid_image_file')
    }
    if (!legacy) continue
    if (!size.isPng || image.size >= squareBytesMax) {
      return badRequest('Uploaded image must be a PNG and less than 4 MB.', null, null)
    }
    if (size.width !== size.height) return badRequest('Uploaded image must be square.', null, null)
  }
  const [mask] = masks
  if (!mask) return undefined
  const [maskSize, imageSize] = [await sizeOf(mask), await sizeOf(images[0] as File)]
  const isSame = maskSize?.width === imageSize?.width && maskSize?.height === imageSize?.height
  if (maskSize?.isPng && (isSame || !imageSize?.isPng)) return undefined
  const message = 'Invalid mask image format - mask size does not match image size.'
  return badRequest(message, 'mask', 'invalid_mask')
}

/** Pixels of a PNG; other formats are only recognised as pictures. */
async function sizeOf(file: File) {
  const head = Buffer.from(await file.slice(0, 32).bytes())
  const text = head.toString('latin1')
  if (text.startsWith('\x89PNG') && head.length >= 24) {
    return { isPng: true, width: head.readUInt32BE(16), height: head.readUInt32BE(20) }
  }
  const isOther = text.startsWith('\xff\xd8\xff') || (text.startsWith('RIFF') && text.startsWith('WEBP', 8))
  return isOther ? { isPng: false, width: 0, height: 0 } : undefined
}
