// Errors of DashScope: flat on its native paths, OpenAI's object on the compatible ones, each with its own texts. It
// must never mix the two: clients read only the form of the path that they called.

import { jsonReply } from '../replies'
import type { Failure, Reply, VendorRequest } from '../simulator'

interface VendorError {
  status: number
  /** The code on native paths. */
  code: string
  /** The code on compatible paths. */
  compatibleCode: string
  type?: string
  message: string
}

function isCompatible(request: VendorRequest): boolean {
  return request.path.startsWith('/compatible-mode/')
}

export function errorReply(request: VendorRequest, error: VendorError): Reply {
  const requestId = crypto.randomUUID()
  const { message } = error
  if (!isCompatible(request)) {
    return jsonReply(error.status, { code: error.code, message, request_id: requestId }, headers(requestId))
  }
  const type = error.type ?? (error.status >= 500 ? 'server_error' : 'invalid_request_error')
  const body = { error: { code: error.compatibleCode, param: null, message, type } }
  const value = { ...body, id: `chatcmpl-${requestId}`, request_id: requestId }
  return jsonReply(error.status, value, headers(requestId))
}

export function headers(requestId: string = crypto.randomUUID()): Record<string, string> {
  return { 'x-request-id': requestId, 'req-cost-time': '12' }
}

export function invalid(request: VendorRequest, message: string): Reply {
  const code = 'InvalidParameter'
  return errorReply(request, { status: 400, code, compatibleCode: 'invalid_parameter_error', message })
}

const words = new Map<number, readonly [code: string, compatibleCode: string, message: string]>([
  [401, ['InvalidApiKey', 'invalid_api_key', 'Invalid API-key provided.']],
  [403, ['Model.AccessDenied', 'model_access_denied', 'Model access denied.']],
  [404, ['ModelNotFound', 'model_not_found', 'Model can not be found.']],
  [429, ['Throttling.RateQuota', 'limit_requests', 'Requests rate limit exceeded, please try again later.']],
  [503, ['ModelUnavailable', 'model_unavailable', 'Model is unavailable, please try again later.']],
])
export const internalError = [
  'InternalError',
  'internal_error',
  'An internal error has occured, please try again later.',
] as const
const otherError = ['InvalidParameter', 'invalid_parameter_error', 'The request was refused.'] as const

export function wordsFor({ status }: Failure): VendorError {
  const [code, compatibleCode, message] = words.get(status) ?? (status >= 500 ? internalError : otherError)
  return { status, code, compatibleCode, message }
}

export function unknownModel(request: VendorRequest, model: string): Reply {
  const message = `The model \`${model}\` does not exist or you do not have access to it.`
  const codes = { code: 'ModelNotFound', compatibleCode: 'model_not_found' }
  return errorReply(request, { status: 404, ...codes, message })
}
