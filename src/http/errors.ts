// Errors as answers over HTTP: what was thrown goes through the one catcher, and becomes a response.

import { answerOfError } from '../contract/caught'
import type { Dialect } from '../lib/errors'
import type { Log } from '../lib/system'

/** `dialect` is for errors that were raised before it was known which contract the request is of. */
export function errorResponse(error: unknown, dialect: Dialect, requestId: string, log: Log): Response {
  const { status, body, headers } = answerOfError(error, dialect, requestId, log)
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
}
