// The target of a request: host, path and query. All of it is the caller's own text, so reading it must never fail, and
// an error shows little of it.

import { GatewayError } from '../lib/errors'

const PORT = '\\d{1,4}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]'
const HOST = new RegExp(`^(?:[\\w.~-]+|\\[[\\da-f:.]+\\])(?::(?:${PORT})?)?$`, 'i')
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** The address; Bun gives only the path if the Host is missing or broken. */
function addressOf({ url }: Request): URL | null {
  return URL.parse(url) ?? URL.parse(url.replace(ORIGIN, ''), 'http://gateway')
}

/** The path as routes read it; `/` if the target is no address at all. */
export function pathOf(request: Request): string {
  return addressOf(request)?.pathname ?? '/'
}

export function queryOf(request: Request): URLSearchParams {
  return addressOf(request)?.searchParams ?? new URLSearchParams()
}

/**
 * Throws 400 for a Host that is no name or address, and for several Hosts (RFC 9112, 3.2): a proxy in front of this
 * server may have read another one. HTTP/1.0 may come without one; Bun refuses HTTP/1.1 without.
 */
export function checkHost({ headers }: Request): void {
  const host = headers.get('host')
  if (host === null || host === '' || HOST.test(host)) return
  throw new GatewayError(400, {
    code: 'invalid_host',
    message: 'The Host header must be one name or address, with a port or without. Send it once.',
  })
}
