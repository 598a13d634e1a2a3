// The one catcher: every error becomes a body in the right dialect, with the request's id.
// What is not a GatewayError is a fault of ours: the caller learns its id, the log the rest.

import { type Dialect, errorBody, GatewayError } from '../lib/errors'
import type { Log } from '../lib/system'

/** `dialect` is for errors that were raised before it was known which contract the request is of. */
export function errorResponse(error: unknown, dialect: Dialect, requestId: string, log: Log): Response {
  const known = error instanceof GatewayError ? error : internal(error, requestId, log)
  if (known.cause && known.status >= 500) {
    log('request_failed', { request: requestId, code: known.code, cause: String(known.cause) })
  }
  const shown = known.dialect ?? dialect
  return new Response(JSON.stringify(errorBody(known, shown, requestId)), {
    status: known.status,
    headers: {
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...(shown === 'messages' && { 'request-id': requestId }),
      ...known.headers,
    },
  })
}

function internal(error: unknown, requestId: string, log: Log): GatewayError {
  log('internal_error', {
    request: requestId,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  })
  return new GatewayError(500, {
    code: 'internal_error',
    message: `The gateway failed. Its operator finds the reason in the log under ${requestId}.`,
  })
}
