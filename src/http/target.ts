// The target of a request: host, path and query. All of it is the caller's own text, so reading it must never fail, and an error
// shows little of it. A path must never mean something else here than to a proxy that has passed it on.

import { GatewayError } from '../lib/errors'

const PORT = '\\d{1,4}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]'
const HOST = new RegExp(`^(?:[\\w.~-]+|\\[[\\da-f:.]+\\])(?::(?:${PORT})?)?$`, 'i')
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** The URL; Bun gives only the path if the Host is missing or broken. */
function addressOf({ url }: Request): URL | null {
  return URL.parse(url) ?? URL.parse(url.replace(ORIGIN, ''), 'http://gateway')
}

/** The path as routes read it; `/` if the target is not a URL at all. */
export function pathOf(request: Request): string {
  return addressOf(request)?.pathname ?? '/'
}

export function queryOf(request: Request): URLSearchParams {
  return addressOf(request)?.searchParams ?? new URLSearchParams()
}

/** An id from a path. Clients encode ids such as `owner/name:tag`; an id that does not decode is unknown. */
export function decodedId(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

/**
 * Throws 400 for a Host that is not a name or address, and for several Hosts (RFC 9112, 3.2): a proxy in front of this
 * server may have read another one. HTTP/1.0 may omit it; Bun refuses HTTP/1.1 without it.
 */
export function checkHost({ headers }: Request): void {
  const host = headers.get('host')
  if (host === null || host === '' || HOST.test(host)) return
  throw new GatewayError(400, {
    code: 'invalid_host',
    message: 'The Host header must be a single name or address, with or without a port. Send it once.',
  })
}

/** Segments that lead elsewhere, and backslashes, which URLs treat as slashes. */
const MISLEADING = /^\.\.?$|\\/

/** Throws 400 for decoded segments of a path that a proxy may have read differently. */
export function checkSegments(segments: readonly string[]): void {
  if (segments.some((segment) => MISLEADING.test(segment))) throw misleading()
}

/**
 * Throws 400 for a path that, as sent, matched no route of up to `most` segments, although it looks as if it should: without an
 * empty segment it would have matched. The admin API has no routes with a rest parameter.
 */
export function checkUnmatched(request: Request, most: number): void {
  const path = pathOf(request)
  const isHonest = path === '/' || path.includes('//') || path.split('/').length - 1 > most
  if (!isHonest || /^\/admin\//.test(path)) throw misleading()
}

function misleading(): GatewayError {
  return new GatewayError(400, {
    code: 'invalid_path',
    message:
      "A path takes no backslash, no empty segment below /admin, and no segment '.' or '..', encoded or not. Send the intended path.",
  })
}
