// Web pages that may call the API from a browser (CORS). By default any page may: the API has no cookies, so a page has only the
// key that its user gave it. Credentials must never be allowed. /mcp has its own rule.

import type { Config } from '../config/schema'

/** Seconds for which a browser remembers the answer to a preflight; no browser keeps it longer than a day. */
const PREFLIGHT_SECONDS = 86_400
const METHODS = 'GET, HEAD, POST, DELETE'
/** Headers for a preflight that names no headers. A star does not include `authorization`. */
const USUAL_HEADERS = 'authorization, content-type'
const HEADER_NAMES = /^[a-z0-9!#$%&'*+.^_`|~, -]{1,2000}$/i

export interface Cors {
  /** Lets the page read the answer, if it may. Does nothing for a request that did not come from a page. */
  share(request: Request, headers: Headers): void
  /** The answer to a preflight; undefined for any other request. */
  preflight(request: Request): Response | undefined
}

export function createCors(world: { readonly config: Pick<Config, 'server'> }): Cors {
  function share(request: Request, headers: Headers): void {
    const origin = request.headers.get('origin')
    if (origin === null) return
    const allowed = world.config.server?.corsOrigins
    if (allowed === undefined) {
      headers.set('access-control-allow-origin', '*')
    } else {
      headers.append('vary', 'origin')
      if (!allowed.includes(origin)) return
      headers.set('access-control-allow-origin', origin)
    }
    headers.set('access-control-expose-headers', '*')
  }

  function preflight(request: Request): Response | undefined {
    if (request.method !== 'OPTIONS' || !request.headers.has('access-control-request-method'))
      return undefined
    const asked = request.headers.get('access-control-request-headers') ?? ''
    const headers = new Headers({
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': HEADER_NAMES.test(asked) ? asked : USUAL_HEADERS,
      'access-control-max-age': String(PREFLIGHT_SECONDS),
      vary: 'access-control-request-headers',
    })
    share(request, headers)
    return new Response(null, { status: 204, headers })
  }

  return { share, preflight }
}
