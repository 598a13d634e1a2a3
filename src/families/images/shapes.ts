// The shape of a picture nearest to a size in pixels, for models that make only certain shapes. It must never choose one that would
// give a different picture.

import { invalidRequest } from '../../lib/errors'
import { parseSize, type Size } from '../../lib/file-formats/pixel-size'

/** Maximum factor between a size and the nearest shape; beyond it the picture would differ too much. */
const MAX_RATIO_FACTOR = 1.25
/** Maximum factor between the shapes of two sizes that count as equal. */
const SAME_RATIO_FACTOR = 1.02
/** Maximum length of the caller's text that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 32

/** A size such as `1536x1024`. Throws 400 for anything else. */
export function readPixels(text: string): Size {
  const size = parseSize(text, 'x')
  if (size) return size
  throw invalidRequest(
    'size',
    `Invalid value for 'size': expected a width and a height in pixels such as '1536x1024', or 'auto', but got '${shortened(text)}'.`,
  )
}

/** The nearest of the shapes such as `16:9`. Throws 400 if none is near. */
export function nearestShape(size: Size, shapes: readonly string[]): string {
  const [nearest = ''] = shapes.toSorted((one, other) => distance(size, one) - distance(size, other))
  if (distance(size, nearest) <= Math.log(MAX_RATIO_FACTOR)) return nearest
  throw invalidRequest(
    'size',
    `Invalid value for 'size': no shape that this model makes is near ${size.width}x${size.height}. It has ${shapes.join(', ').replaceAll('*', 'x')}.`,
  )
}

/** The size such as `1664*928` with the nearest number of pixels, among those with the nearest shape. Throws 400 if none is near. */
export function nearestSize(size: Size, sizes: readonly string[]): string {
  const least = distance(size, nearestShape(size, sizes))
  const near = sizes.filter((each) => distance(size, each) <= least + Math.log(SAME_RATIO_FACTOR))
  const [nearest = ''] = near.toSorted((one, other) => scale(size, one) - scale(size, other))
  return nearest
}

/** The caller's text, for an error. */
export function shortened(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text
}

function distance({ width, height }: Size, shape: string): number {
  const [x, y] = sidesOf(shape)
  return Math.abs(Math.log(width / height / (x / y)))
}

function scale({ width, height }: Size, shape: string): number {
  const [x, y] = sidesOf(shape)
  return Math.abs(Math.log((width * height) / (x * y)))
}

function sidesOf(shape: string): [number, number] {
  const [width, height] = shape.split(/[:*x]/)
  return [Number(width), Number(height)]
}
