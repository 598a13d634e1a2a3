// Where a caller's key stands in a request.

/** The Authorization header; a key in `x-api-key` reads as one where the operator allows it. */
export function authorizationOf(headers: Headers, acceptXApiKey: boolean): string | null {
  const authorization = headers.get('authorization')
  if (authorization !== null || !acceptXApiKey) return authorization
  const key = headers.get('x-api-key')
  return key === null ? null : `Bearer ${key}`
}
