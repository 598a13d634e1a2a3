// Errors of Ark: one object with Ark's own codes, and the request's id at the end of the message. It must never omit a member: the
// real service sends empty strings instead.

import { hexId, jsonReply, retryAfterHeader } from '../replies'
import type { Failure, Reply } from '../simulator'

interface ArkError {
  status: number
  code: string
  message: string
  param?: string
}

const typeByStatus = new Map([
  [400, 'BadRequest'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'NotFound'],
  [429, 'TooManyRequests'],
])

export function errorReply({ message, ...error }: ArkError): Reply {
  const requestId = newRequestId()
  return reply({ ...error, message: `${message} Request id: ${requestId}` }, requestId)
}

function reply({ status, code, message, param = '' }: ArkError, requestId: string): Reply {
  const type = typeByStatus.get(status) ?? 'InternalServerError'
  return jsonReply(status, { error: { code, message, param, type } }, { 'x-request-id': requestId })
}

export function invalid(param: string, why: string): Reply {
  const message = `The parameter \`${param}\` specified in the request is not valid: ${why}.`
  return errorReply({ status: 400, code: 'InvalidParameter', message, param })
}

export function missing(param: string): Reply {
  const message = `The request failed because it is missing \`${param}\` parameter.`
  return errorReply({ status: 400, code: 'MissingParameter', message, param })
}

export function unknownModel(model: string): Reply {
  const message = `The model or endpoint ${model} does not exist or you do not have access to it.`
  return errorReply({ status: 404, code: 'InvalidEndpointOrModel.NotFound', message })
}

const words = new Map<number, readonly [code: string, message: string]>([
  [401, ['AuthenticationError', 'The API key in the request is missing or invalid.']],
  [403, ['AccessDenied', 'The request failed because you do not have access to the requested resource.']],
  [404, ['InvalidEndpointOrModel.NotFound', 'The model or endpoint does not exist.']],
  [
    429,
    ['ModelAccountRpmRateLimitExceeded', 'The requests per minute limit of the model has been exceeded.'],
  ],
  [503, ['ServiceUnavailable', 'The service is not available now. Please try again later.']],
])
const refused = ['InvalidParameter', 'The request was refused.'] as const
const broken = ['InternalServiceError', 'The service encountered an unexpected internal error.'] as const

export function failureReply({ status, code, text, retryAfterSeconds }: Failure): Reply {
  const [usualCode, usualText] = words.get(status) ?? (status >= 500 ? broken : refused)
  const error = { status, code: code ?? usualCode }
  // A message from the request stays unchanged.
  const made =
    text === undefined
      ? errorReply({ ...error, message: usualText })
      : reply({ ...error, message: text }, newRequestId())
  return { ...made, headers: { ...made.headers, ...retryAfterHeader(retryAfterSeconds) } }
}

/** A request id: a time and a random end, as the real ids have. */
export function newRequestId(): string {
  return `0217${hexId(12)}${hexId(24)}`
}
