// Sends errors over HTTP. A thrown value must always go through the one catcher before it becomes a response.

import { answerOfError } from '../contract/error-answer'
import { type Dialect, GatewayError } from '../lib/errors'
import type { Log } from '../lib/system'

/**
 * The response to an error. `dialect` applies to errors that were raised before the contract of the request was known.
 */
export function errorResponse(error: unknown, dialect: Dialect, requestId: string, log: Log): Response {
  const { status, body, headers } = answerOfError(error, dialect, requestId, log)
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
}

/** An error that names a field as the caller does, if the family's name for it differs. */
export function withFieldNames(error: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof GatewayError) || error.param === null) return error
  const { status, code, type, headers, cause, param } = error
  const name = names[param]
  if (name === undefined) return error
  const message = error.message.replaceAll(`'${param}'`, `'${name}'`)
  return new GatewayError(status, { code, type, headers, cause, message, param: name })
}
