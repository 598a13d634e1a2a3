// Answers requests without a route: 404 with the path that may be meant, or 405 with the methods of the path. Both must be derived
// from the routes themselves, so that no list can be incomplete.

import { GatewayError } from '../../lib/errors'
import { pathOf } from '../target'

export interface Route {
  method: string
  path: string
}

/** The methods of a path, as in an Allow header; empty if there is no such path. */
function methodsOf(routes: readonly Route[], pathname: string): string[] {
  const exact = routes.filter(({ path }) => path === pathname)
  const matching = exact.length > 0 ? exact : routes.filter(({ path }) => patternOf(path).test(pathname))
  const methods = new Set(matching.map(({ method }) => method))
  // A GET route also answers HEAD.
  if (methods.has('GET')) methods.add('HEAD')
  methods.delete('OPTIONS')
  return [...methods].sort()
}

/** The answer to an OPTIONS request that is not a preflight. Throws 404 for an unknown path. */
export function methodsAnswer(routes: readonly Route[], request: Request): Response {
  const methods = methodsOf(routes, pathOf(request))
  if (methods.length === 0) throw unrouted(routes, request)
  return new Response(null, { status: 204, headers: { allow: [...methods, 'OPTIONS'].join(', ') } })
}

export function unrouted(routes: readonly Route[], request: Request): GatewayError {
  const { method } = request
  if (method === 'CONNECT') return noProxy()
  const pathname = pathOf(request)
  const hint = pathname.startsWith('/v1/') ? '' : ' The API is below /v1.'
  const methods = methodsOf(routes, pathname)
  if (methods.length > 0 && request.headers.get('upgrade')?.toLowerCase() === 'websocket') return noSocket()
  if (methods.length > 0) {
    return new GatewayError(405, {
      code: 'method_not_allowed',
      message: `${pathname.slice(0, 200)} takes ${methods.join(' or ')}, not ${method}.${hint}`,
      headers: { allow: methods.join(', ') },
    })
  }
  const served = nearestOf(routes, method, pathname)
  const meant = served ? ` Did you mean ${served.method} ${served.path.replace(/:(\w+)/g, '{$1}')}?` : ''
  return new GatewayError(isRepeated(method, pathname) ? 400 : 404, {
    code: 'unknown_route',
    type: 'invalid_request_error',
    message: `There is no ${method} ${pathname.slice(0, 200)} here. The API is below /v1.${meant} GET /openapi.json lists all operations, and /docs shows them.`,
  })
}

/**
 * Whether clients that send such a request repeat it after a 404, regardless of the answer's retry headers. They show a 400 at
 * once: otherwise coding clients of the Responses API would call a wrong base URL six times.
 */
function isRepeated(method: string, pathname: string): boolean {
  return method === 'POST' && /\/responses(\/|$)/.test(pathname)
}

/** Paths for clients with a repeated prefix, and wildcard paths. */
const NOT_SHOWN = /^\/v1\/(v1\/|mcp$)|\*/
/** Number of letters at the beginning by which words are compared. */
const ALIKE_LENGTH = 5
/** Maximum length of a path that is compared, in characters. */
const COMPARED_LENGTH = 200

/** The route whose path has the most words in common with a path; undefined if none has any. */
function nearestOf(routes: readonly Route[], method: string, pathname: string): Route | undefined {
  const asked = wordsOf(pathname.slice(0, COMPARED_LENGTH))
  let nearest: Route | undefined
  let most = 0
  for (const route of routes) {
    if (route.method === 'OPTIONS' || NOT_SHOWN.test(route.path)) continue
    const words = wordsOf(route.path)
    const common = words.filter((word) => asked.some((other) => isAlike(word, other))).length
    // Among equals, the one with the same method wins, and then the one with the fewest other words.
    const score = common === 0 ? 0 : common * 100 + (route.method === method ? 50 : 0) - words.length
    if (score > most) [nearest, most] = [route, score]
  }
  return nearest
}

/** The words of a path without the version: `audio`, `speech`. */
function wordsOf(path: string): string[] {
  return path
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word.length > 2)
}

/** Whether two words begin alike, as `completion` and `completions` do, and `transcribe` and `transcriptions`. */
function isAlike(one: string, other: string): boolean {
  const length = Math.min(one.length, other.length, ALIKE_LENGTH)
  return one.slice(0, length) === other.slice(0, length)
}

/** The error for a WebSocket connection. Clients that try it first fall back to HTTP only at this status. */
function noSocket(): GatewayError {
  return new GatewayError(426, {
    code: 'upgrade_required',
    message:
      'There is no WebSocket mode here. Send a POST request over HTTP; a request with "stream": true is answered with events.',
  })
}

/** The error for a request whose target is a host, as sent to a proxy. */
function noProxy(): GatewayError {
  return new GatewayError(405, {
    code: 'method_not_allowed',
    message: 'This server is not a proxy: it does not support CONNECT. The API is below /v1.',
    headers: { allow: 'GET, HEAD, POST' },
  })
}

/** The regular expression for a path such as `/v1/models/*` or `/v1/videos/:id`. */
function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:\w+/g, '[^/]+')
    .replace(/\*/g, '.+')
  return new RegExp(`^${source}/?$`)
}
