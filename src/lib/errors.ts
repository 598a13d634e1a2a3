// The one error that callers may see, and how it reads in each dialect of error bodies.
// It must never carry a secret, a prompt or an operator's detail: its content reaches the caller.

import type { ErrorCode, RelayedCode } from './error-codes'

/** The form of an error body: OpenAI's object, the flat form of some image APIs, that of POST /v1/messages, or Google's. */
export type Dialect = 'openai' | 'flat' | 'messages' | 'gemini'

export interface ErrorDetails {
  /** A stable machine-readable code, such as `insufficient_balance`. */
  code: ErrorCode | RelayedCode
  /** The fault, and what to do about it. */
  message: string
  /** OpenAI's coarse error class; `invalid_request_error` if nothing fits better. */
  type?: string
  /** The request field at fault, such as `messages[0].role`. */
  param?: string | null
  headers?: Record<string, string>
  /** Facts for programs that use the messages dialect, in addition to the message. */
  details?: Readonly<Record<string, unknown>> | undefined
  /** The vendor's own body, returned next to the error. */
  relayed?: Record<string, unknown> | undefined
  /** The internal cause: for the log, never for the caller. */
  cause?: unknown
}

export class GatewayError extends Error {
  readonly code: ErrorCode | RelayedCode
  readonly type: string
  readonly param: string | null
  readonly headers: Record<string, string>
  readonly relayed: Record<string, unknown> | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
  /** True when it is certain that no vendor has begun the request. */
  notTaken = false
  /** The vendor's id of the answer behind this error; null if the vendor gave none. */
  upstreamRequestId: string | null = null
  /** The number of the upstream's key that was used, counted from 1; null if it has at most one. For the log. */
  upstreamKey: number | null = null
  /** The status of the vendor's answer behind this error; null if the vendor did not answer. For the log. */
  vendorStatus: number | null = null
  /** The message of a vendor that refuses its operator, without keys: for the operator who tests an upstream, never for callers. */
  operatorRefusal: { status: number; message: string } | null = null
  /** The field for which a vendor refused the request, empty if it named none; null if no vendor refused it. For the log. */
  refusedField: string | null = null
  /** Why a vendor refused a request that another one may accept: its length, or its content. Null for any other fault. */
  refusedFor: 'too_long' | 'filtered' | null = null
  /**
   * True for errors that only the operator of the gateway can fix, whatever their status says, and for the fault of a drill. For
   * the log.
   */
  isOperators = false
  /** The form of the error body; undefined until the contract of the request is known. */
  dialect: Dialect | undefined

  constructor(
    readonly status: number,
    details: ErrorDetails,
  ) {
    super(details.message, { cause: details.cause })
    this.name = 'GatewayError'
    this.code = details.code
    this.type = details.type ?? typeOfStatus(status)
    this.param = details.param ?? null
    this.relayed = details.relayed
    this.details = details.details
    this.headers = { [SHOULD_RETRY]: String(canRepeatHelp(status, details.headers)), ...details.headers }
  }
}

/** The header that says whether a repeat can help. */
export const SHOULD_RETRY = 'x-should-retry'

/**
 * Whether the same request can succeed soon, sent as `x-should-retry`. Official SDKs retry if it is true, waiting at most a minute,
 * and raise the error at once if it is false.
 */
export function canRepeatHelp(status: number, headers: Record<string, string> = {}): boolean {
  if (Number(headers['retry-after'] ?? 0) > MAX_WAIT_SECONDS) return false
  return status === 408 || status === 409 || status === 429 || status >= 500
}
const MAX_WAIT_SECONDS = 60

/** 400: the caller's request cannot be served as it is; `param` names the field. */
export function invalidRequest(
  param: string | null,
  message: string,
  code: ErrorCode = 'invalid_value',
): GatewayError {
  return new GatewayError(400, { code, message, param })
}

/** Kinds of objects that have a code for their absence. */
type Named = ErrorCode extends infer Code ? (Code extends `${infer What}_not_found` ? What : never) : never

/** 404: the object does not exist; `what` is a word such as `key`. */
export function notFound(what: Named, id: string | undefined): GatewayError {
  return new GatewayError(404, {
    code: `${what}_not_found`,
    type: 'invalid_request_error',
    message: `There is no ${what} \`${(id ?? '').slice(0, 128)}\`.`,
  })
}

/** 409: the current state does not allow the request, and a repeat does not help. */
export function conflict(code: ErrorCode, message: string): GatewayError {
  return new GatewayError(409, {
    code,
    type: 'invalid_request_error',
    message,
    headers: { [SHOULD_RETRY]: 'false' },
  })
}

/**
 * The JSON value of an error in a dialect. A 429 always has the flat form (docs/guides/errors.md) and an `error`
 * object, because the official SDKs read only that object.
 */
export function errorBody(error: GatewayError, dialect: Dialect, requestId: string): unknown {
  const { message, type, param, code } = error
  const object = { message, type, param, code, request_id: requestId }
  if (dialect === 'messages') {
    const described = { type: messagesType(error), message, ...(error.details && { details: error.details }) }
    const body = { type: 'error', error: described, request_id: requestId }
    return error.status === 429 ? { ...body, code: flatCode(error), message } : body
  }
  if (dialect === 'gemini') {
    const body = { error: errorWithStatus(error, requestId) }
    return error.status === 429 ? { ...body, code: flatCode(error), message, request_id: requestId } : body
  }
  if (dialect === 'flat' || error.status === 429)
    return { code: flatCode(error), message, request_id: requestId, error: object }
  return { ...error.relayed, error: object }
}

/**
 * The error class in the messages dialect. A vendor's own class stays, because clients act on it; ours follows the
 * status.
 */
function messagesType({ status, type }: GatewayError): string {
  if (!OUR_TYPES.has(type)) return type
  return messagesTypes[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

/** Classes that say no more than the status does. */
const OUR_TYPES = new Set(['invalid_request_error', 'insufficient_balance', 'server_error'])

const messagesTypes: Record<number, string> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

const DETAIL = 'type.googleapis.com/google.rpc'

/**
 * The error in Google's form: https://google.aip.dev/193. Google reports a wrong key with the reason API_KEY_INVALID; other reasons
 * are our codes in capitals.
 */
function errorWithStatus({ status, code, message, param, headers }: GatewayError, requestId: string): object {
  const reason =
    code === 'invalid_api_key' ? 'API_KEY_INVALID' : code.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')
  const seconds = Number(headers['retry-after'])
  return {
    code: status,
    message,
    status: statusWords[status] ?? (status >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT'),
    details: [
      {
        '@type': `${DETAIL}.ErrorInfo`,
        reason,
        domain: 'googleapis.com',
        metadata: { requestId },
      },
      ...(seconds > 0 ? [{ '@type': `${DETAIL}.RetryInfo`, retryDelay: `${seconds}s` }] : []),
      ...(param === null
        ? []
        : [{ '@type': `${DETAIL}.BadRequest`, fieldViolations: [{ field: param, description: message }] }]),
    ],
  }
}

/**
 * https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto. 402 has no word of its own: FAILED_PRECONDITION is
 * Google's for an account without billing (https://ai.google.dev/gemini-api/docs/troubleshooting), and no client repeats it.
 */
const statusWords: Record<number, string> = {
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  504: 'DEADLINE_EXCEEDED',
}

/** The error code in the flat form. Our codes for a bad parameter become one code; a vendor's code stays as spelled. */
function flatCode({ status, code }: GatewayError): string {
  return status === 400 && /^[a-z0-9_]+$/.test(code) ? 'InvalidParameter' : code
}

function typeOfStatus(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 402) return 'insufficient_balance'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  if (status >= 500) return 'server_error'
  return 'invalid_request_error'
}
