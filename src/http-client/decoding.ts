// Unpacks a body that a server has compressed although it was asked not to. It must never unpack faster than the result is read, or
// without a limit: a small body can expand to a very large one.

import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { BodyTooLarge, HttpBody } from './response'

/** Maximum number of unpacked bytes: as many as the largest reply may have. */
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024

const decoders = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress],
])

/** The unpacked body; a body in an unknown coding is not changed. */
export function decoded(body: HttpBody, encoding: string | null): HttpBody {
  const decoder = encoding === null ? undefined : decoders.get(encoding.toLowerCase())?.()
  if (!decoder) return body
  const result = new HttpBody({
    pause: () => void decoder.pause(),
    resume: () => void decoder.resume(),
    cancel() {
      body.cancel()
      decoder.destroy()
    },
  })
  let unpackedBytes = 0
  decoder.on('data', (bytes: Buffer) => {
    unpackedBytes += bytes.length
    if (unpackedBytes <= MAX_UNPACKED_BYTES) result.push(bytes)
    else decoder.destroy(new BodyTooLarge('the answer unpacks to too much'))
  })
  decoder.on('end', () => result.end())
  decoder.on('error', (error) => {
    body.cancel()
    result.fail(error)
  })
  body.start({
    data(bytes) {
      body.pause()
      decoder.write(bytes, () => body.resume())
    },
    end: () => void decoder.end(),
    fail(error) {
      decoder.destroy()
      result.fail(error)
    },
  })
  return result
}
