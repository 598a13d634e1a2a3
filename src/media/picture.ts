// Finds the format (PNG, JPEG, WebP) and size of a picture from its own bytes. It must never trust a name or a type
// that was sent along, nor read more than headers, however large the file.

import type { IImage } from 'image-size/types/interface'
import { JPG } from 'image-size/types/jpg'
import { PNG } from 'image-size/types/png'
import { WEBP } from 'image-size/types/webp'
import type { Upload } from '../contract/family'

type Picture = NonNullable<Upload['picture']>

/** Each format with the parser for it: no file ever reaches those of other formats. */
const formats: Record<Picture['format'], { parser: IImage; head(file: Blob): Promise<Uint8Array> }> = {
  png: { parser: PNG, head: firstBytes },
  jpeg: { parser: JPG, head: jpegHead },
  webp: { parser: WEBP, head: firstBytes },
}

/** Bytes that hold the size in a PNG and in every kind of WebP. */
const HEAD_BYTES = 64
/** Most segments before the size: even a picture with many megabytes of colour profiles and depth maps has fewer. */
const MAX_SEGMENTS = 1000

/** Format and size of a picture. Undefined for other formats, and for a file too broken to have a size. */
export async function pictureOf(file: Blob): Promise<Picture | undefined> {
  const format = formatOf(await firstBytes(file))
  if (!format) return undefined
  try {
    const { parser, head } = formats[format]
    const { width, height } = parser.calculate(await head(file))
    return width > 0 && height > 0 ? { format, width, height } : undefined
  } catch {
    return undefined
  }
}

function formatOf(head: Uint8Array): Picture['format'] | undefined {
  const text = Buffer.from(head).toString('latin1')
  if (text.startsWith('\x89PNG\r\n\x1a\n') && text.startsWith('IHDR', 12)) return 'png'
  if (text.startsWith('\xff\xd8\xff')) return 'jpeg'
  if (text.startsWith('RIFF') && text.startsWith('WEBPVP8', 8)) return 'webp'
  return undefined
}

function firstBytes(file: Blob): Promise<Uint8Array> {
  return file.slice(0, HEAD_BYTES).bytes()
}

/**
 * The start of a JPEG without the data that cameras put before the size, which may be megabytes: an empty segment, then
 * the frame header. Empty if there is no frame header.
 */
async function jpegHead(file: Blob): Promise<Uint8Array> {
  let at = 2
  for (let segments = 0; segments < MAX_SEGMENTS; segments++) {
    const segment = Buffer.from(await file.slice(at, at + HEAD_BYTES).bytes())
    const marker = segment[1]
    if (segment.length < 4 || segment[0] !== 0xff || marker === undefined) break
    // Baseline, extended and progressive; pictures have no other.
    if (marker >= 0xc0 && marker <= 0xc2) return Buffer.concat([JPEG_START, segment])
    // Bytes of 0xff may pad the space before a marker.
    at += marker === 0xff ? 1 : 2 + segment.readUInt16BE(2)
  }
  return new Uint8Array()
}

const JPEG_START = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x00, 0x02])
