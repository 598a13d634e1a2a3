// Finds a caller's key in a request. It must never be read from an address, which logs and proxies keep, nor from a cookie
// where a header names a key.

import type { Authorization } from '../accounts/keys'
import type { Config } from '../config/schema'
import type { Dialect } from '../lib/errors'
import { sessionTokenOf } from './session-cookie'

const BEARER_TOKEN = /^bearer +\S/i

/**
 * The Authorization header. On the paths of messages a key in `x-api-key` counts as a bearer token, because built-in
 * providers of many clients send nothing else; `server.acceptXApiKey` extends that to all paths, or ends it. A bearer
 * token wins if both are sent.
 */
export function keyHeaderOf(
  headers: Headers,
  { server }: Pick<Config, 'server'>,
  dialect: Dialect,
): string | null {
  const authorization = headers.get('authorization')
  const accepted = server?.acceptXApiKey ?? dialect === 'messages'
  if (!accepted || (authorization !== null && BEARER_TOKEN.test(authorization))) return authorization
  const key = headers.get('x-api-key')
  return key === null ? authorization : `Bearer ${key}`
}

/** The key as a header names it, or the session of the console's own page. Throws 403 for a session from elsewhere. */
export function authorizationOf(
  request: Request,
  config: Pick<Config, 'server'>,
  dialect: Dialect,
): Authorization {
  return keyHeaderOf(request.headers, config, dialect) ?? sessionTokenOf(request, 'key', config)
}
