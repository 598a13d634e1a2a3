// The one place that catches errors: turns anything that was thrown into an answer, in the form that its reader expects, and logs
// it once. An error that is not a GatewayError is a bug: the caller must learn only the request's id, and the log gets the rest.

import { DatabaseUnavailable } from '../db/db'
import { type Dialect, errorBody, GatewayError } from '../lib/errors'
import type { Log } from '../lib/system'
import { databaseDown } from './failures'

/** A dialect of the API, or a form of MCP: the message that answers a call, or the result of a tool. */
export type ErrorForm = Dialect | 'json-rpc' | 'tool'

interface ErrorAnswer {
  status: number
  /** A JSON value. */
  body: unknown
  headers: Record<string, string>
}

/** The thrown value as an error that callers may see, if it is known; unknown errors stay unchanged. */
export function knownError(thrown: unknown): unknown {
  return thrown instanceof DatabaseUnavailable ? databaseDown(thrown) : thrown
}

/** The answer to a thrown value. The dialect of the request's contract, once known, replaces `form`. */
export function answerOfError(thrown: unknown, form: ErrorForm, requestId: string, log: Log): ErrorAnswer {
  const known = knownError(thrown)
  const error = known instanceof GatewayError ? known : internal(known, requestId, log)
  if (error.cause && error.status >= 500) {
    log('request_failed', { request: requestId, code: error.code, cause: String(error.cause) })
  }
  const { status } = error
  const headers: Record<string, string> = { 'x-request-id': requestId, ...error.headers }
  if (form === 'tool') return { status, headers, body: toolResult(error, requestId) }
  if (form === 'json-rpc') return { status, headers, body: rpcMessage(error, requestId) }
  const dialect = error.dialect ?? form
  if (dialect === 'messages') headers['request-id'] = requestId
  return { status, headers, body: errorBody(error, dialect, requestId) }
}

function internal(error: unknown, requestId: string, log: Log): GatewayError {
  log('internal_error', {
    request: requestId,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  })
  return new GatewayError(500, {
    code: 'internal_error',
    message: `The gateway failed. Its operator can find the reason in the log under ${requestId}.`,
  })
}

/** The text for a model that has called a tool. */
function toolResult({ status, code, message, type, param }: GatewayError, requestId: string): unknown {
  return { status, error: { code, message, type, param }, request_id: requestId }
}

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const SERVER_ERROR = -32000

/** https://www.jsonrpc.org/specification, "Error object". */
function rpcMessage({ status, code, message }: GatewayError, requestId: string): unknown {
  const number = code === 'invalid_json' ? PARSE_ERROR : status === 400 ? INVALID_REQUEST : SERVER_ERROR
  return { jsonrpc: '2.0', id: null, error: { code: number, message, data: { code, request_id: requestId } } }
}
