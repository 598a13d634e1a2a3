// Unpacks a compressed body piece by piece. It must never run faster than the result is read: a small body can expand to a very
// large one.

import { pipeline, Readable, type Transform } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import { GatewayError } from '../lib/errors'

export type Unpacker = Transform

const PIECE_BYTES = 64 * 1024
const CODINGS = 'gzip, deflate, identity'

/** The unpacker for a coding; undefined for an uncompressed body. Throws 415 for an unknown coding. */
export function createUnpacker(contentEncoding: string | null): Unpacker | undefined {
  if (contentEncoding === null) return undefined
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity')
  const [coding, another] = codings
  if (coding === undefined) return undefined
  if (another === undefined && (coding === 'gzip' || coding === 'x-gzip'))
    return createGunzip({ chunkSize: PIECE_BYTES })
  if (another === undefined && coding === 'deflate') return createInflate({ chunkSize: PIECE_BYTES })
  throw new GatewayError(415, {
    code: 'unsupported_encoding',
    message: `A body with Content-Encoding '${contentEncoding.slice(0, 100)}' is not supported here. Send it unencoded, or compressed once with gzip.`,
    headers: { 'accept-encoding': CODINGS },
  })
}

/** Unpacks the pieces. Fails with the first failure, of the pieces or of the unpacking. */
export async function* unpacked(
  pieces: AsyncIterable<Uint8Array>,
  unpacker: Unpacker,
): AsyncGenerator<Uint8Array> {
  pipeline(Readable.from(pieces, { objectMode: false }), unpacker, () => {})
  yield* unpacker as AsyncIterable<Uint8Array>
}
