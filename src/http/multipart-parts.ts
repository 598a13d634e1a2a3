// Splits a multipart body into its parts as it arrives, no faster than the parts are read. It must never hold more of a part than a
// piece, or leave a reader waiting for a part that will not end.

import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { GatewayError, invalidRequest } from '../lib/errors'

export interface MultipartPart {
  name: string | undefined
  filename: string | undefined
  contentType: string
  /** The stated encoding, such as `base64`. */
  encoding: string
  /** Fails if the body ends within the part, and with 413 if the part is too large. */
  content: Readable
}

interface PartLimits {
  parts: number
  partBytes: number
  /** The error for a part that is too large. */
  tooLarge(part: Pick<MultipartPart, 'name'>): GatewayError
}

/** Maximum size of a part's headers, in bytes: a name, a file's name and a type. */
const MAX_HEADER_BYTES = 8 * 1024

/** The boundary of the parts: at most 70 characters, by RFC 2046. */
export function boundaryOf(contentType: string | null): string {
  if (!contentType || !/^multipart\/form-data\s*(;|$)/i.test(contentType)) {
    throw new GatewayError(415, {
      code: 'unsupported_media_type',
      message:
        'This endpoint accepts a form: send fields and files as multipart/form-data, as `curl -F field=text -F file=@path` does.',
    })
  }
  const found = /;\s*boundary=(?:"([^"]*)"|([^\s;"]*))\s*(?:;|$)/i.exec(contentType)
  const boundary = found?.[1] ?? found?.[2] ?? ''
  if (/^[\w'()+,./:=? -]{1,70}$/.test(boundary)) return boundary
  throw invalidForm(
    'The Content-Type names no `boundary` of 1 to 70 plain characters. Leave this header to your HTTP client, which sets one.',
  )
}

/** Passes each part to `take` when it begins. Resolves when all have been taken; fails with the first failure. */
export async function readParts(
  boundary: string,
  pieces: AsyncIterable<Uint8Array>,
  take: (part: MultipartPart) => Promise<void>,
  limits: PartLimits,
): Promise<void> {
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})
  const contents: Readable[] = []
  const reads: Promise<void>[] = []
  const parser = createParser(boundary, limits)
  parser.on('file', (name, content, filename, encoding, contentType) => {
    const part: MultipartPart = { name, filename, encoding, contentType, content }
    content.on('limit', () => content.destroy(limits.tooLarge(part)))
    // The reader of the part gets this error too; without a listener it would end the process.
    content.on('error', () => {})
    contents.push(content)
    const read = take(part)
    read.catch(failure.reject)
    reads.push(read)
  })
  parser.on('partsLimit', () => failure.reject(invalidForm(`The form has more than ${limits.parts} parts.`)))
  parser.on('error', (cause) => failure.reject(brokenForm(cause)))
  const finished = new Promise<void>((resolve) => parser.on('finish', resolve))
  try {
    for await (const piece of pieces) {
      const written = new Promise<void>((resolve) => parser.write(piece, () => resolve()))
      await Promise.race([written, failure.promise])
    }
    parser.end()
    await Promise.race([finished, failure.promise])
    await Promise.all(reads)
  } finally {
    // Readers that still wait for the rest of a part are notified that there is none.
    for (const content of contents) content.destroy()
    await Promise.allSettled(reads)
  }
}

function createParser(boundary: string, { parts, partBytes }: PartLimits) {
  return new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
    // Texts arrive in pieces too, as bytes that must be decoded here.
    isPartAFile: () => true,
    limits: { parts, fileSize: partBytes, headerSize: MAX_HEADER_BYTES },
  })
}

export function invalidForm(message: string): GatewayError {
  return invalidRequest(null, message, 'invalid_form')
}

function brokenForm(cause: unknown): GatewayError {
  const message = 'The form is incomplete or is not valid multipart/form-data. Send it again.'
  return new GatewayError(400, { code: 'invalid_form', message, cause })
}
