// Reads a request's body with a limit on its size and on the time it may take.

import { GatewayError } from '../lib/errors'

/** An honest slow upload of a large body takes minutes; one that takes longer is holding a connection for nothing. */
const DEADLINE_MS = 300_000
const SMALL_BYTES = 64 * 1024

/** `exempt` lifts the server's own timeout, which cuts even steady uploads when they are slow. */
export async function readBody(
  request: Request,
  maxBytes: number,
  exempt: (request: Request) => void,
): Promise<Uint8Array> {
  if (request.headers.has('content-encoding')) {
    throw new GatewayError(415, {
      code: 'unsupported_encoding',
      message: 'Send the body as it is: compressed bodies are not read.',
    })
  }
  const header = request.headers.get('content-length')
  const length = header === null ? Number.POSITIVE_INFINITY : Number(header)
  if (header !== null && length > maxBytes) throw tooLarge(maxBytes)
  if (length > SMALL_BYTES) exempt(request)
  const bytes = length > maxBytes ? readPieces(request, maxBytes) : request.bytes()
  // Small bodies come with the headers or soon after, under the server's own timeout: no timer for them.
  try {
    const body = length > SMALL_BYTES ? await withDeadline(bytes) : await bytes
    exempt(request)
    return body
  } catch (error) {
    throw error instanceof GatewayError ? error : brokenOff(request, error)
  }
}

/** A body of unknown length must not be taken in whole before its size is known. */
async function readPieces({ body }: Request, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.byteLength
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

async function withDeadline<Result>(work: Promise<Result>): Promise<Result> {
  let timer: Timer | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooSlow()), DEADLINE_MS)
  })
  try {
    return await Promise.race([work, deadline])
  } finally {
    clearTimeout(timer)
  }
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(413, {
    code: 'body_too_large',
    message: `The body is larger than ${maxBytes} bytes, the most that is read here.`,
  })
}

function brokenOff(request: Request, cause: unknown): GatewayError {
  if (request.signal.aborted) {
    return new GatewayError(499, {
      code: 'caller_left',
      message: 'The caller left before the body was complete.',
    })
  }
  return new GatewayError(400, {
    code: 'body_unreadable',
    message: 'The body broke off or is not framed as HTTP wants it. Send the request again.',
    cause,
  })
}

function tooSlow(): GatewayError {
  return new GatewayError(408, {
    code: 'body_too_slow',
    message: `The body did not arrive within ${DEADLINE_MS / 1000} s.`,
  })
}
