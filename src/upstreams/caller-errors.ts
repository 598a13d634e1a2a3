// Converts an upstream's failures to errors for the caller: the caller's own mistakes in the vendor's words, the operator's
// problems as the gateway's. Pure. It must never show the operator's account, bill or key, or a 401 or 402 that is not the
// caller's.

import type { UpstreamError } from '../contract/upstream'
import type { RelayedCode } from '../lib/error-codes'
import { GatewayError } from '../lib/errors'
import { BREAKER_OPEN_MS } from './breaker'
import { withoutAccountIds } from './caller-view'
import { refusedField } from './refused-field'
import { refusedFor } from './refused-for'

/** Seconds after which to retry, for a refusal that the operator must fix. */
const OPERATOR_RETRY_SECONDS = 30

/**
 * The error of a request that the upstream `name` refused with `status`. The message of `vendor` must be without keys.
 */
export function refusedByUpstream(
  name: string,
  status: number,
  vendor: UpstreamError,
  retryAfterMs = vendor.retryAfterSeconds === undefined ? undefined : vendor.retryAfterSeconds * 1000,
): GatewayError {
  if (vendor.whose === 'operator') return status === 404 ? modelMissing(name) : notServed(name)
  if (status >= 300 && status < 400) return redirected(name)
  const shown = { ...vendor, message: withoutAccountIds(vendor.message) }
  const retryAfter = retryAfterMs === undefined ? undefined : String(Math.ceil(retryAfterMs / 1000))
  if (status === 429) return tooMany(shown, retryAfter)
  return status >= 500 ? upstreamFailed(name, status, shown, retryAfter) : callersMistake(status, shown)
}

/**
 * Whether the vendor has not begun: a failing server may have failed after its work; an overloaded one has not begun.
 */
export function isNotTaken(status: number): boolean {
  return status < 500 || status === 503 || status === 529
}

/** The error for a model, or an operation on it, that the vendor does not have. */
export function modelMissing(name: string): GatewayError {
  return new GatewayError(502, {
    code: 'upstream_model_missing',
    message: `The upstream ${name} does not have this model, or no longer. Choose another one from GET /v1/models.`,
    headers: { 'x-should-retry': 'false' },
  })
}

/** The error for a vendor that refuses its operator. */
export function notServed(name: string): GatewayError {
  return new GatewayError(503, {
    code: 'upstream_unavailable',
    message: `The upstream ${name} does not serve this gateway now. Its operator can see why in the log.`,
    // This will not change soon: a client that waits and retries would only show the reason later.
    headers: { 'retry-after': String(OPERATOR_RETRY_SECONDS), 'x-should-retry': 'false' },
  })
}

function redirected(name: string): GatewayError {
  return new GatewayError(502, {
    code: 'upstream_redirect',
    message: `The upstream ${name} answered with a redirect, which is not followed.`,
  })
}

function tooMany({ code, message }: UpstreamError, retryAfter = '1'): GatewayError {
  return new GatewayError(429, {
    code: relayedCode(code) ?? 'Throttling.RateQuota',
    message,
    headers: { 'retry-after': retryAfter },
  })
}

function upstreamFailed(
  name: string,
  status: number,
  { verbatim, type, message, isLoading }: UpstreamError,
  retryAfter: string | undefined,
): GatewayError {
  const unavailable = status === 503 || status === 529
  const known = status === 503 || status === 504 || (status === 529 && verbatim)
  const wait = retryAfter ?? (unavailable ? '1' : undefined)
  const words = isLoading
    ? `The upstream ${name} is loading the model. Try again in ${wait} seconds. It said: ${message}`
    : `The upstream ${name} failed (HTTP ${status}): ${message}`
  return new GatewayError(known ? status : unavailable ? 503 : 502, {
    code: 'upstream_error',
    ...(verbatim && type !== null ? { type, message } : { message: words }),
    headers: wait === undefined ? {} : { 'retry-after': wait },
  })
}

function callersMistake(
  status: number,
  { code, type, message, param, relayed }: UpstreamError,
): GatewayError {
  const error = new GatewayError(status === 422 ? 400 : status, {
    code: relayedCode(code) ?? 'upstream_refused',
    type: type ?? 'invalid_request_error',
    message,
    param,
    relayed: relayed && { ...relayed, message },
  })
  error.refusedField = refusedField(message, param)
  error.refusedFor = refusedFor(code, message)
  return error
}

/** A vendor's code with its spelling. */
function relayedCode(code: string | null): RelayedCode | null {
  return code as RelayedCode | null
}

/** The error for an answer of status 200 that has neither a result nor a reason. */
export function emptyAnswer(name: string): GatewayError {
  return new GatewayError(502, {
    code: 'upstream_empty',
    message: `The upstream ${name} answered without a result and without a reason. Try again.`,
  })
}

export function notHttp(name: string, cause: unknown): GatewayError {
  return new GatewayError(502, {
    code: 'upstream_garbage',
    message: `The answer of the upstream ${name} was not valid HTTP, so it was discarded. Try again.`,
    cause,
  })
}

/**
 * The error for an unreachable vendor. `unsent`: nothing was sent, the only failure after which another vendor may be tried.
 */
export function unreachable(name: string, cause: unknown, unsent: boolean): GatewayError {
  const error = new GatewayError(502, {
    code: 'upstream_unreachable',
    message: `The upstream ${name} cannot be reached. Try again later.`,
    cause,
  })
  error.notTaken = unsent
  return error
}

export function overConcurrency(name: string, concurrency: number): GatewayError {
  const error = notTaken(
    new GatewayError(429, {
      code: 'Throttling.ConcurrencyQuota',
      message: `The upstream ${name} has reached its limit here of ${concurrency} at a time. Try again in a moment.`,
      headers: { 'retry-after': '1' },
    }),
  )
  // The limit belongs to the operator, not to a caller.
  error.isOperators = true
  return error
}

export function circuitOpen(name: string): GatewayError {
  return notTaken(
    new GatewayError(503, {
      code: 'upstream_unavailable',
      message: `The upstream ${name} has failed repeatedly and is not called for a few seconds.`,
      headers: { 'retry-after': String(Math.ceil(BREAKER_OPEN_MS / 1000)) },
    }),
  )
}

function notTaken(error: GatewayError): GatewayError {
  error.notTaken = true
  return error
}
