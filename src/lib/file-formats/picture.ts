// Finds the format (PNG, JPEG, WebP) and size of a picture from its own bytes. It must never trust a name or a type that was sent
// along, or read more than headers, however large the file is.

import type { IImage } from 'image-size/types/interface'
import { JPG } from 'image-size/types/jpg'
import { PNG } from 'image-size/types/png'
import { WEBP } from 'image-size/types/webp'

/** The format and size of a picture. */
export interface PictureSize {
  format: 'png' | 'jpeg' | 'webp'
  width: number
  height: number
}

/** A range of bytes that a search for a picture's size needs: start inclusive, end exclusive. */
type Range = readonly [from: number, to: number]
/** A search that requests one range after the other. */
type Search<Found> = Generator<Range, Found, Uint8Array>

/** Each format with its parser: no file ever reaches those of other formats. */
const formats: Record<PictureSize['format'], { parser: IImage; head(): Search<Uint8Array> }> = {
  png: { parser: PNG, head: firstBytes },
  jpeg: { parser: JPG, head: jpegHead },
  webp: { parser: WEBP, head: firstBytes },
}

/** Number of bytes that contain the size in a PNG and in every kind of WebP. */
const HEAD_BYTES = 64
/** Maximum number of segments before the size: even pictures with many megabytes of colour profiles and depth maps have fewer. */
const MAX_SEGMENTS = 1000

/** Format and size of a picture. Undefined for other formats, and for a file too damaged to have a size. */
export async function pictureOf(file: Blob): Promise<PictureSize | undefined> {
  const search = findPicture()
  let step = search.next()
  while (!step.done) step = search.next(await file.slice(...step.value).bytes())
  return step.value
}

/** Format and size of a picture in base64, of which only the necessary parts are decoded; undefined as above. */
export function pictureInBase64(text: string): PictureSize | undefined {
  const search = findPicture()
  let step = search.next(new Uint8Array())
  while (!step.done) step = search.next(decoded(text, ...step.value))
  return step.value
}

/** Bytes in base64: three of them are four letters. */
function decoded(text: string, from: number, to: number): Uint8Array {
  const first = Math.floor(from / 3)
  const bytes = Buffer.from(text.slice(first * 4, Math.ceil(to / 3) * 4), 'base64')
  return bytes.subarray(from - first * 3, to - first * 3)
}

function* findPicture(): Search<PictureSize | undefined> {
  const format = formatOf(yield* firstBytes())
  if (!format) return undefined
  const { parser, head } = formats[format]
  const start = yield* head()
  try {
    const { width, height } = parser.calculate(start)
    return width > 0 && height > 0 ? { format, width, height } : undefined
  } catch {
    return undefined
  }
}

function formatOf(head: Uint8Array): PictureSize['format'] | undefined {
  const text = Buffer.from(head).toString('latin1')
  if (text.startsWith('\x89PNG\r\n\x1a\n') && text.startsWith('IHDR', 12)) return 'png'
  if (text.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (text.startsWith('RIFF') && text.startsWith('WEBPVP8', 8)) return 'webp'
  return undefined
}

function* firstBytes(): Search<Uint8Array> {
  return yield [0, HEAD_BYTES]
}

/**
 * The start of a JPEG without the data that cameras put before the size, which may be megabytes: an empty segment, then
 * the frame header. Empty if there is no frame header.
 */
function* jpegHead(): Search<Uint8Array> {
  let at = 2
  for (let segments = 0; segments < MAX_SEGMENTS; segments++) {
    const segment = Buffer.from(yield [at, at + HEAD_BYTES])
    const marker = segment[1]
    if (segment.length < 4 || segment[0] !== 0xff || marker === undefined) break
    // Baseline, extended and progressive; pictures use no others.
    if (marker >= 0xc0 && marker <= 0xc2) return Buffer.concat([JPEG_START, segment])
    // Bytes of 0xff may pad the space before a marker.
    at += marker === 0xff ? 1 : 2 + segment.readUInt16BE(2)
  }
  return new Uint8Array()
}

const JPEG_START = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x02])
