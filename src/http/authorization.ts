// Finds a caller's key in a request. It must never be read from a URL, which proxies log, unless the operator allows it, or from a
// cookie if a header names a key.

import { type Authenticator, type Authorization, unauthorized } from '../accounts/authenticator'
import type { Config } from '../config/schema'
import type { Dialect } from '../lib/errors'
import type { System } from '../lib/system'
import { sessionTokenOf } from './session-cookie'
import { queryOf } from './target'

/** The header in which clients of Google's API send the key. */
export const CONTENTS_KEY = 'x-goog-api-key'

/** The dependencies for answering requests with a key. */
export interface KeyedWorld extends Pick<System, 'newId' | 'log'> {
  authenticator: Authenticator
  config: Pick<Config, 'server'>
}

const BEARER_TOKEN = /^bearer +\S/i

/**
 * The Authorization header. On the paths of messages a key in `x-api-key` counts as a bearer token, because built-in
 * providers of many clients send nothing else; `server.acceptXApiKey` extends that to all paths, or ends it. Clients of
 * Google's API send `x-goog-api-key` on its paths. A bearer token takes precedence if both are sent.
 */
export function keyHeaderOf(
  headers: Headers,
  { server }: Pick<Config, 'server'>,
  dialect: Dialect,
): string | null {
  const authorization = headers.get('authorization')
  if (authorization !== null && BEARER_TOKEN.test(authorization)) return authorization
  const accepted = server?.acceptXApiKey ?? dialect === 'messages'
  const ownKey = dialect === 'gemini' ? headers.get(CONTENTS_KEY) : null
  const key = ownKey ?? (accepted ? headers.get('x-api-key') : null)
  return key === null ? authorization : `Bearer ${key}`
}

/** The key in a header, or the session of the console's own page. Throws 403 for a session from another origin. */
export function authorizationOf(
  request: Request,
  config: Pick<Config, 'server'>,
  dialect: Dialect,
): Authorization {
  return (
    keyHeaderOf(request.headers, config, dialect) ??
    (dialect === 'gemini' ? keyInAddressOf(request, config) : null) ??
    sessionTokenOf(request, 'key', config)
  )
}

/** The key of `?key=`, which old clients of Google's API send. Throws 401 unless the configuration allows it. */
function keyInAddressOf(request: Request, { server }: Pick<Config, 'server'>): string | null {
  const key = queryOf(request).get('key')
  if (key === null) return null
  if (server?.acceptKeyInAddress) return `Bearer ${key}`
  throw unauthorized(
    'This gateway reads no key from an address, because proxies log addresses. Send it in the header x-goog-api-key, or as `Authorization: Bearer sk-…`. The operator can allow it by `server.acceptKeyInAddress` in the configuration.',
  )
}
