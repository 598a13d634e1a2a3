// What a request gets that no route takes: 404, or 405 with the methods that its path takes.
// The methods are read from the routes themselves, so that no list can forget one.

import { GatewayError } from '../../lib/errors'
import { pathOf } from '../target'

export interface Route {
  method: string
  path: string
}

/** The methods that a path takes, as in an Allow header; none where there is no such path. */
function methodsOf(routes: readonly Route[], pathname: string): string[] {
  const exact = routes.filter(({ path }) => path === pathname)
  const matching = exact.length > 0 ? exact : routes.filter(({ path }) => patternOf(path).test(pathname))
  const methods = new Set(matching.map(({ method }) => method))
  // A GET route answers HEAD by itself.
  if (methods.has('GET')) methods.add('HEAD')
  methods.delete('OPTIONS')
  return [...methods].sort()
}

/** The answer to OPTIONS that is no preflight. Throws 404 for a path that nothing is at. */
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
  if (methods.length > 0) {
    return new GatewayError(405, {
      code: 'method_not_allowed',
      message: `${pathname.slice(0, 200)} takes ${methods.join(' or ')}, not ${method}.${hint}`,
      headers: { allow: methods.join(', ') },
    })
  }
  return new GatewayError(404, {
    code: 'unknown_route',
    type: 'invalid_request_error',
    message: `There is no ${method} ${pathname.slice(0, 200)} here. The API is below /v1.`,
  })
}

/** Its target is a host, which no route is. */
function noProxy(): GatewayError {
  return new GatewayError(405, {
    code: 'method_not_allowed',
    message: 'This server is no proxy: it does not take CONNECT. The API is below /v1.',
    headers: { allow: 'GET, HEAD, POST' },
  })
}

/** `/v1/models/*` and `/v1/videos/:id` as what they match. */
function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:\w+/g, '[^/]+')
    .replace(/\*/g, '.+')
  return new RegExp(`^${source}/?$`)
}
