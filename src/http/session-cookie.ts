// The cookie of a session of the console, and the proofs that it requires: the same origin, and for each change the token that only
// the console's page can read. A cookie must never give access to another origin.

import { timingSafeEqual } from 'node:crypto'
import { csrfTokenOf, type SessionKind, SessionToken } from '../accounts/sessions'
import type { Config } from '../config/schema'
import { GatewayError } from '../lib/errors'

const NAMES: Record<SessionKind, string> = { admin: 'gateway_admin', key: 'gateway_key' }
/** Paths to which a cookie is sent, below the path of the gateway. */
const PATHS: Record<SessionKind, readonly string[]> = {
  admin: ['/console', '/admin/v1'],
  key: ['/console', '/v1'],
}
const TOKEN = /^[\w-]{43}$/
/** Methods that change nothing. */
const SAFE_METHODS = ['GET', 'HEAD']
const CSRF_HEADER = 'x-csrf-token'

type ServerConfig = Pick<Config, 'server'>

/**
 * The session in the cookie of a request; null without a session cookie or with an Authorization header. Throws 403 if the request
 * does not come from the console's own page.
 */
export function sessionTokenOf(
  request: Request,
  kind: SessionKind,
  config: ServerConfig,
): SessionToken | null {
  const { headers, method } = request
  const token = headers.has('authorization') ? null : cookieTokenOf(request, kind)
  if (token === null) return null
  requireOwnPage(request, config)
  if (!SAFE_METHODS.includes(method)) requireCsrfToken(headers.get(CSRF_HEADER), token.text)
  return token
}

/** The session in a cookie, from whatever page it is sent, so that it can be ended. */
export function cookieTokenOf({ headers }: Request, kind: SessionKind): SessionToken | null {
  const cookies = headers.get('cookie')
  const text = cookies === null ? undefined : cookieOf(cookies, NAMES[kind])
  return text === undefined ? null : new SessionToken(text)
}

/** Throws 403 for a request that does not come from a page of this gateway, according to its browser. */
export function requireOwnPage({ headers, method }: Request, { server = {} }: ServerConfig): void {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  const isForeign = site !== null && site !== 'same-origin'
  const isOwn = origin === null ? SAFE_METHODS.includes(method) : isOwnOrigin(origin, headers, server)
  if (!isForeign && isOwn) return
  throw refused(
    'cross_origin',
    'A session of the console is for its own page only. Behind a proxy, forward the Host header or set server.publicUrl.',
  )
}

/** Whether a page of another site made a browser send a request. */
export function isFromOtherSite({ headers }: Request, { server = {} }: ServerConfig): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null && site !== 'same-origin' && site !== 'none') return true
  return origin !== null && !isOwnOrigin(origin, headers, server)
}

function isOwnOrigin(
  origin: string,
  headers: Headers,
  { publicUrl, tls }: NonNullable<Config['server']>,
): boolean {
  const url = URL.parse(origin)
  if (!url || url.origin !== origin.toLowerCase()) return false
  if (publicUrl !== undefined && URL.parse(publicUrl)?.origin === url.origin) return true
  if (tls !== undefined && url.protocol !== 'https:') return false
  return url.host === headers.get('host')?.toLowerCase()
}

function requireCsrfToken(sent: string | null, session: string): void {
  const expected = Buffer.from(csrfTokenOf(session))
  const given = Buffer.from(sent ?? '')
  if (given.length === expected.length && timingSafeEqual(given, expected)) return
  throw refused(
    'csrf_token_invalid',
    'A change in a session of the console requires the header X-CSRF-Token with its token. Reload the page.',
  )
}

/** Cookies are sent to as few paths as possible. `base` is the path of the gateway behind a proxy, such as `/gateway`. */
export function addSessionCookie(
  headers: Headers,
  { kind, base, isSecure }: { kind: SessionKind; base: string; isSecure: boolean },
  token: string,
  maxAgeSeconds: number,
): void {
  const rest = `Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  for (const path of PATHS[kind])
    headers.append('set-cookie', `${NAMES[kind]}=${token}; Path=${base}${path}; ${rest}`)
}

/** Whether the page was loaded over TLS, from this server or from a proxy in front of it. */
export function isPageSecure({ headers }: Request): boolean {
  return headers.get('origin')?.toLowerCase().startsWith('https:') === true
}

function cookieOf(cookies: string, name: string): string | undefined {
  for (const part of cookies.split(';')) {
    const [key = '', value = ''] = part.trim().split('=', 2)
    if (key === name && TOKEN.test(value)) return value
  }
  return undefined
}

function refused(code: 'cross_origin' | 'csrf_token_invalid', message: string): GatewayError {
  return new GatewayError(403, { code, message })
}
