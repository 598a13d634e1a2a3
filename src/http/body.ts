// Reads a request's body with a limit on its size and on the time it may take.
// It must never take in more than the limit, and never wait for ever.

import { callerLeft } from '../failures'
import { GatewayError } from '../lib/errors'

/** An honest slow upload of a large body takes minutes; one that takes longer is holding a connection for nothing. */
const DEADLINE_MS = 300_000
const SMALL_BYTES = 64 * 1024

/** `exempt` lifts the server's own timeout, which cuts even steady uploads when they are slow. */
export async function readBody(request: Request, maxBytes: number, exempt: () => void): Promise<Uint8Array> {
  if (lengthOf(request) > SMALL_BYTES) {
    return Buffer.concat(await Array.fromAsync(readPieces(request, maxBytes, exempt)))
  }
  checkHead(request, maxBytes)
  // Small bodies come with the headers or soon after, under the server's own timeout: no timer for them.
  try {
    const body = await request.bytes()
    exempt()
    return body
  } catch (error) {
    throw brokenOff(request, error)
  }
}

/** The body as it comes, no faster than it is taken. Throws 408, 413, 415, and 499 where the caller leaves. */
export async function* readPieces(
  request: Request,
  maxBytes: number,
  exempt: () => void,
  deadlineMs = DEADLINE_MS,
): AsyncGenerator<Uint8Array, void, undefined> {
  checkHead(request, maxBytes)
  const reader = request.body?.getReader()
  if (!reader) return
  exempt()
  let bytes = 0
  let late = false
  const deadline = setTimeout(() => {
    late = true
    void reader.cancel()
  }, deadlineMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (late) throw tooSlow(deadlineMs)
      if (done) return
      bytes += value.byteLength
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield value
    }
  } catch (error) {
    throw error instanceof GatewayError ? error : brokenOff(request, error)
  } finally {
    clearTimeout(deadline)
    // Where it is given up half-way nobody takes the rest.
    await reader.cancel().catch(() => {})
  }
}

function lengthOf(request: Request): number {
  const header = request.headers.get('content-length')
  return header === null ? Number.POSITIVE_INFINITY : Number(header)
}

/** What the headers tell already. */
function checkHead(request: Request, maxBytes: number): void {
  if (request.headers.has('content-encoding')) {
    throw new GatewayError(415, {
      code: 'unsupported_encoding',
      message: 'Send the body as it is: compressed bodies are not read.',
    })
  }
  const length = lengthOf(request)
  if (Number.isFinite(length) && length > maxBytes) throw tooLarge(maxBytes)
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(413, {
    code: 'body_too_large',
    message: `The body is larger than ${maxBytes} bytes, the most that is read here.`,
  })
}

function brokenOff(request: Request, cause: unknown): GatewayError {
  if (request.signal.aborted) return callerLeft()
  return new GatewayError(400, {
    code: 'body_unreadable',
    message: 'The body broke off or is not framed as HTTP wants it. Send the request again.',
    cause,
  })
}

function tooSlow(deadlineMs: number): GatewayError {
  return new GatewayError(408, {
    code: 'body_too_slow',
    message: `The body did not arrive within ${deadlineMs / 1000} s.`,
  })
}
