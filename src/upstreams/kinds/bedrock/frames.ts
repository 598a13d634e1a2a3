// Reads the frames of AWS event streams: lengths, headers and payload, each protected by a checksum. Strict and bounded: a stream
// with one wrong byte is invalid. https://smithy.io/2.0/aws/amazon-eventstream.html.

import { crc32 } from 'node:zlib'

export interface Frame {
  /** Text headers; those of other types are omitted. */
  headers: ReadonlyMap<string, string>
  payload: Buffer
}

/** Thrown for bytes that are not an event stream. */
export class BadFrame extends Error {}

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const MIN_BYTES = PRELUDE_BYTES + CHECKSUM_BYTES
/** Maximum size of a frame: more than the vendor sends, and the maximum of an event. */
const MAX_BYTES = 16 * 1024 * 1024
const MAX_HEADER_BYTES = 128 * 1024
/** Number of bytes of a value by the type of its header; types 6 and 7 begin with their length. */
const FIXED_BYTES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 }
const BYTES = 6
const TEXT = 7

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export class FrameParser {
  private pieces: Buffer[] = []
  private byteLength = 0
  /** Number of bytes without which nothing more can be read. */
  private needed = PRELUDE_BYTES

  /** The frames that these bytes complete. */
  push(bytes: Uint8Array): Frame[] {
    this.pieces.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    this.byteLength += bytes.byteLength
    const frames: Frame[] = []
    if (this.byteLength < this.needed) return frames
    let rest = this.pieces.length === 1 ? (this.pieces[0] as Buffer) : Buffer.concat(this.pieces)
    this.needed = PRELUDE_BYTES
    while (rest.length >= PRELUDE_BYTES) {
      const total = totalOf(rest)
      this.needed = total
      if (rest.length < total) break
      frames.push(frameOf(rest.subarray(0, total)))
      rest = rest.subarray(total)
      this.needed = PRELUDE_BYTES
    }
    this.pieces = rest.length > 0 ? [rest] : []
    this.byteLength = rest.length
    return frames
  }

  /** Throws if a frame is cut off. */
  end(): void {
    if (this.byteLength > 0) throw new BadFrame('the stream ends within a frame')
  }
}

/** The length of the frame that begins here, from its verified prelude. */
function totalOf(bytes: Buffer): number {
  const total = bytes.readUInt32BE(0)
  const headers = bytes.readUInt32BE(4)
  if (bytes.readUInt32BE(8) !== crc32(bytes.subarray(0, 8)))
    throw new BadFrame('the checksum of a prelude is wrong')
  if (total < MIN_BYTES || total > MAX_BYTES) throw new BadFrame('a frame has an impossible length')
  if (headers > MAX_HEADER_BYTES || headers > total - MIN_BYTES) {
    throw new BadFrame('the headers of a frame have an impossible length')
  }
  return total
}

function frameOf(bytes: Buffer): Frame {
  const end = bytes.length - CHECKSUM_BYTES
  if (bytes.readUInt32BE(end) !== crc32(bytes.subarray(0, end)))
    throw new BadFrame('the checksum of a frame is wrong')
  const payloadAt = PRELUDE_BYTES + bytes.readUInt32BE(4)
  return {
    headers: headersOf(bytes.subarray(PRELUDE_BYTES, payloadAt)),
    payload: bytes.subarray(payloadAt, end),
  }
}

function headersOf(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>()
  const names = new Set<string>()
  let at = 0
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new BadFrame('a header is cut off')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const nameLength = take(1).readUInt8(0)
    const name = textOf(take(nameLength))
    const type = take(1).readUInt8(0)
    // Two readers could choose different ones.
    if (nameLength === 0 || names.has(name)) throw new BadFrame('a header has no name, or appears twice')
    names.add(name)
    const fixed = FIXED_BYTES[type]
    if (fixed === undefined && type !== BYTES && type !== TEXT)
      throw new BadFrame('a header has an unknown type')
    const value = take(fixed ?? take(2).readUInt16BE(0))
    if (type === TEXT) headers.set(name, textOf(value))
  }
  return headers
}

function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new BadFrame('a header is not UTF-8')
  }
}
