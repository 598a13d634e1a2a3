// Where a caller's key stands in a request.
// It must never be read from an address, which logs and proxies keep.

import type { Config } from '../config'

/** The Authorization header; a key in `x-api-key` reads as one where the operator allows it. */
export function authorizationOf(headers: Headers, { server }: Config): string | null {
  const authorization = headers.get('authorization')
  if (authorization !== null || server?.acceptXApiKey !== true) return authorization
  const key = headers.get('x-api-key')
  return key === null ? null : `Bearer ${key}`
}
