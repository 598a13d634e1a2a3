// Google's error bodies: a status word, details with types, the wait within the body, an array around it on compatible
// paths. It must never send a Retry-After header: the real service gives the wait only in RetryInfo.

import type { JsonObject } from '../json'
import { jsonReply } from '../replies'
import type { Failure, Reply, VendorRequest } from '../simulator'

const statusWords: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const sentences: Readonly<Record<number, string>> = {
  400: 'Request contains an invalid argument.',
  401: 'Request had invalid authentication credentials.',
  403: 'The caller does not have permission',
  429: 'You exceeded your current quota, please check your plan and billing details.',
  500: 'An internal error has occurred. Please retry.',
  503: 'The model is overloaded. Please try again later.',
  504: 'Deadline expired before operation could complete.',
}

const typePrefix = 'type.googleapis.com/google.rpc.'

export const googleHeaders: Record<string, string> = {
  vary: 'Origin, X-Origin, Referer',
  server: 'scaffolding on HTTPServer2',
  'server-timing': 'gfet4t7; dur=12',
}

export function isCompatible(request: VendorRequest): boolean {
  return request.path.startsWith('/v1beta/openai/')
}

export function googleError(
  request: VendorRequest,
  status: number,
  message: string,
  details: JsonObject[] = [],
  statusWord = statusWords[status] ?? 'UNKNOWN',
): Reply {
  const error = { code: status, message, status: statusWord, ...(details.length > 0 ? { details } : {}) }
  return jsonReply(status, isCompatible(request) ? [{ error }] : { error }, googleHeaders)
}

export function failureReply(request: VendorRequest, failure: Failure): Reply {
  const { status, retryAfterSeconds } = failure
  const details: JsonObject[] = []
  if (status === 429) {
    const violations = [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel' }]
    details.push({ '@type': `${typePrefix}QuotaFailure`, violations })
    details.push({ '@type': `${typePrefix}RetryInfo`, retryDelay: `${retryAfterSeconds ?? 34.4}s` })
  } else if (retryAfterSeconds !== undefined) {
    details.push({ '@type': `${typePrefix}RetryInfo`, retryDelay: `${retryAfterSeconds}s` })
  }
  const message = failure.text ?? sentences[status] ?? 'The request was refused.'
  return googleError(request, status, message, details, failure.code)
}

export function invalidKey(request: VendorRequest): Reply {
  const info = {
    '@type': `${typePrefix}ErrorInfo`,
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
    metadata: { service: 'generativelanguage.googleapis.com' },
  }
  return googleError(request, 400, 'API key not valid. Please pass a valid API key.', [info])
}

/** A field that a message lacks, or has in another form. */
export interface Unreadable {
  /** The position of the message; empty for the request itself. */
  place: string
  field: string
  why?: string
}

/** The error for fields that a message does not have, all at once. */
export function unknownFields(request: VendorRequest, fields: readonly string[], place: string): Reply {
  return unreadable(
    request,
    fields.map((field) => ({ place, field })),
  )
}

export function unreadable(request: VendorRequest, found: readonly Unreadable[]): Reply {
  const violations = found.map(({ place, field, why = 'Cannot find field.' }): JsonObject => {
    const where = place === '' ? '' : ` at '${place}'`
    const description = `Invalid JSON payload received. Unknown name "${field}"${where}: ${why}`
    return { ...(place !== '' && { field: place }), description }
  })
  const detail = { '@type': `${typePrefix}BadRequest`, fieldViolations: violations }
  return googleError(request, 400, violations.map(({ description }) => description).join('\n'), [detail])
}
