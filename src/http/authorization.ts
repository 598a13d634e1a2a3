// Finds a caller's key in a request. It must never be read from an address, which logs and proxies keep.

import type { Config } from '../config/schema'
import type { Dialect } from '../lib/errors'

const BEARER_TOKEN = /^bearer +\S/i

/**
 * The Authorization header. On the paths of messages a key in `x-api-key` counts as a bearer token, because built-in
 * providers of many clients send nothing else; `server.acceptXApiKey` extends that to all paths, or ends it. A bearer
 * token wins if both are sent.
 */
export function authorizationOf(
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
