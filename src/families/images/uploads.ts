// Shared by families with uploaded images: which pictures they accept, and in which order these are sent to the vendor. It must
// never read a file's bytes: its type was detected when it arrived.

import type { FormPart, Model, Upload } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { fileParts, textParts, uploadsIn } from '../forms'

/** The number of images for a model without its own figure. */
const ONE_IMAGE = { min: 1, max: 1 }
/** Maximum length of a file name that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 80

/** Throws 400 for images or a mask that the model does not accept. */
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
      `Unsupported parameter: ${model.id} edits whole images and does not accept a 'mask'. Leave it out, or choose another model.`,
      'unsupported_parameter',
    )
  }
  const picture = masks[0]?.picture
  const image = images[0]?.picture
  if (masks.length > 1) throw invalidMask(`send one file, but got ${masks.length}.`)
  if (picture?.format !== 'png') {
    throw invalidMask('it must be a PNG whose transparent area marks what to edit.')
  }
  if (picture.width === image?.width && picture.height === image?.height) return
  const sizes = `${picture.width}x${picture.height}, and the ${images.length > 1 ? 'first ' : ''}image ${image?.width}x${image?.height}`
  throw invalidMask(`it must have the size of the image: it is ${sizes} pixels.`)
}

/**
 * The form for the vendor. Texts come before files and the mask is last, because some servers read the form once, in order. Fields
 * without a value are left out.
 */
export function formOf(body: object, upstreamModel: string): FormPart[] {
  const { model: _, prompt, image, mask, ...rest } = body as Record<string, unknown>
  const texts = { model: upstreamModel, prompt: String(prompt), ...rest }
  return [...textParts(texts), ...fileParts({ image, ...rest, mask })]
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
