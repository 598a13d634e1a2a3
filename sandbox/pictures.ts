// Pictures of the simulators: real files of the right format, made on demand. They must never depend on anything but
// the arguments: the same ones give the same bytes.

import { deflateSync } from 'node:zlib'

export type PictureFormat = 'png' | 'jpeg' | 'webp'

export interface Picture {
  bytes: Uint8Array
  contentType: string
}

/** A PNG of this size with a gradient; JPEG and WebP are small samples, whatever the size. */
export function picture(format: PictureFormat, width = 64, height = 48): Picture {
  if (format === 'png') return { bytes: png(width, height), contentType: 'image/png' }
  return { bytes: Buffer.from(samples[format], 'base64'), contentType: `image/${format}` }
}

const samples = {
  jpeg: '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAwAEADASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAAAAQG/8QAFhABAQEAAAAAAAAAAAAAAAAAABNh/8QAGAEBAQADAAAAAAAAAAAAAAAAAAYDBAX/xAAWEQEBAQAAAAAAAAAAAAAAAAAAExT/2gAMAwEAAhEDEQA/AMTEivjhHFpsYpoIkV8cI4bCaCJFfHCOGwmgiRXxwjhsJr4kV8cI4k9joTQRIr44Rw2E0ESK+OEcNhNBEivjhHDYTXxIr44RxKbG/NBEivjhHDYTQRIr44Rw2E0ESK+OEcNhN//Z',
  webp: 'UklGRooAAABXRUJQVlA4IH4AAABQBQCdASpAADAAPtFYok2/paMiN+gD8BoJaALgASV95yv4FUgxbTWv3tUYp6xXHsYKzfIA/u8G1Qb/Po//nIU/mFen8yJOCUcyEdyamlEUplGakiUrpeTeOw/lsrpWSX/cYrQ/HMKPNV0J3B1+P6VV98ntUze6zKBYDUEAAAA=',
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const BITS_A_CHANNEL = 8
const GREY = 0

function png(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([BITS_A_CHANNEL, GREY, 0, 0, 0], 8)
  // Each row begins with the byte that names its filter: none.
  const rows = Buffer.alloc((width + 1) * height)
  for (let row = 0; row < height; row++) {
    const shade = Math.floor((255 * row) / Math.max(1, height - 1))
    rows.fill(shade, row * (width + 1) + 1, (row + 1) * (width + 1))
  }
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND')])
}

function chunk(name: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const whole = Buffer.alloc(body.length + 8)
  whole.writeUInt32BE(data.length, 0)
  whole.set(body, 4)
  whole.writeUInt32BE(Bun.hash.crc32(body), body.length + 4)
  return whole
}
