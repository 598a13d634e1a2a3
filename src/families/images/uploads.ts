// What families with uploaded images share: which files they take, and how these go on to the vendor.
// It must never read a file's bytes: what a file is was found when it came in.

import type { FormPart, Model, Upload } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'

/** What a model without a figure of its own takes. */
const ONE_IMAGE = { min: 1, max: 1 }
/** Of a name that a caller made up. */
const MAX_SHOWN_LENGTH = 80

/** The files of a form's field. A text in their place is refused. */
export function uploadsIn(body: object, field: string): readonly Upload[] {
  const value = (body as Record<string, unknown>)[field] ?? []
  if (isUploads(value)) return value
  throw invalidRequest(
    field,
    `Invalid type for '${field}': expected a file. Send its bytes as \`curl -F ${field}=@picture.png\` does: a URL or base64 is not read here.`,
    'invalid_type',
  )
}

/** Throws 400 for images or a mask that the model does not take. */
export function checkUploads(body: object, model: Model): void {
  const images = uploadsIn(body, 'image')
  const { min, max } = model.referenceImages ?? ONE_IMAGE
  const least = Math.max(min, 1)
  if (images.length < least || images.length > max) {
    const range = max === least ? `${max}` : `${least} to ${max}`
    throw invalidRequest(
      'image',
      `Invalid 'image': ${model.id} takes ${range} image${max === 1 ? '' : 's'}, but got ${images.length}.`,
    )
  }
  for (const image of images) {
    if (!image.picture) throw unsupported(image)
  }
  const masks = uploadsIn(body, 'mask')
  if (masks.length > 0) checkMask(masks, images, model)
}

function checkMask(masks: readonly Upload[], images: readonly Upload[], model: Model): void {
  if (!model.mask) {
    throw invalidRequest(
      'mask',
      `Unsupported parameter: ${model.id} edits whole images and takes no 'mask'. Leave it out, or choose another model.`,
      'unsupported_parameter',
    )
  }
  const picture = masks[0]?.picture
  const image = images[0]?.picture
  if (masks.length > 1) throw invalidMask(`send one file, but got ${masks.length}.`)
  if (picture?.format !== 'png') {
    throw invalidMask('it must be a PNG whose transparent area shows what is to be edited.')
  }
  if (picture.width === image?.width && picture.height === image?.height) return
  const sizes = `${picture.width}x${picture.height}, and the ${images.length > 1 ? 'first ' : ''}image ${image?.width}x${image?.height}`
  throw invalidMask(`it must have the size of the image: it is ${sizes} pixels.`)
}

/**
 * The form for the vendor, its texts before its files and the mask last, because some servers read it once from the
 * start. What has no value is left out.
 */
export function formOf(body: object, upstreamModel: string): FormPart[] {
  const { model: _, prompt, image: __, mask: ___, ...rest } = body as Record<string, unknown>
  const others = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null)
  return [
    { name: 'model', value: upstreamModel },
    { name: 'prompt', value: String(prompt) },
    ...others.flatMap(([name, value]) => (isUploads(value) ? [] : [{ name, value: textOf(value) }])),
    ...filesOf('image', uploadsIn(body, 'image')),
    ...others.flatMap(([name, value]) => (isUploads(value) ? filesOf(name, value) : [])),
    ...filesOf('mask', uploadsIn(body, 'mask')),
  ]
}

/** Several of a field have the brackets that servers know. */
function filesOf(name: string, uploads: readonly Upload[]): FormPart[] {
  const field = uploads.length > 1 ? `${name}[]` : name
  return uploads.map((upload) => ({ name: field, upload: named(upload, name) }))
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const EXTENSIONS = { png: /\.png$/i, jpeg: /\.jpe?g$/i, webp: /\.webp$/i }

/** Servers go by the type or by the name, which clients leave out or make up; what the bytes are is known. */
function named(upload: Upload, field: string): Upload {
  if (!upload.picture) return upload
  const { format } = upload.picture
  const { filename } = upload
  const isRight = EXTENSIONS[format].test(filename)
  const name = isRight ? filename : `${filename || field}.${format}`
  return { ...upload, contentType: `image/${format}`, filename: name }
}

function unsupported({ filename, contentType }: Upload) {
  const name = [filename, contentType].filter((word) => word !== '').join(', ')
  const shown = name.length > MAX_SHOWN_LENGTH ? `${name.slice(0, MAX_SHOWN_LENGTH)}…` : name
  return invalidRequest(
    'image',
    `Unsupported image format: 'image' (${shown}) is not a PNG, JPEG or WebP by its content. Convert it to one of them.`,
    'unsupported_image_format',
  )
}

function invalidMask(what: string) {
  return invalidRequest('mask', `Invalid 'mask': ${what}`, 'invalid_mask')
}

function isUploads(value: unknown): value is readonly Upload[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'object' && item && 'bytes' in item)
}
