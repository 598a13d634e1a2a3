// OpenAI's errors with their texts, and the headers of all its replies. It must never decide what is an error: each
// endpoint does.

import { hexId, jsonReply } from '../replies'
import type { Failure, Reply } from '../simulator'
import type { Fault } from './fields'

export function headers(): Record<string, string> {
  return {
    'x-request-id': `req_${hexId()}`,
    'openai-processing-ms': '12',
    'openai-version': '2020-10-01',
    'openai-organization': 'org-sandbox',
    'x-ratelimit-limit-requests': '10000',
    'x-ratelimit-limit-tokens': '2000000',
    'x-ratelimit-remaining-requests': '9999',
    'x-ratelimit-remaining-tokens': '1999000',
    'x-ratelimit-reset-requests': '6ms',
    'x-ratelimit-reset-tokens': '30ms',
  }
}

export function errorReply(fault: Fault): Reply {
  const { message, param, code } = fault
  return jsonReply(
    fault.status,
    { error: { message, type: 'invalid_request_error', param, code } },
    headers(),
  )
}

export function unknownModel(model: string): Reply {
  const message = `The model \`${model}\` does not exist or you do not have access to it.`
  return errorReply({ status: 404, message, param: null, code: 'model_not_found' })
}

/** The safety system's refusal of a prompt or of a picture. */
export function moderated(): Reply {
  const message =
    'Your request was rejected by the safety system. If you believe this is an error, contact us at help.openai.com and include the request ID. safety_violations=[violence].'
  const error = { message, type: 'image_generation_user_error', param: null, code: 'moderation_blocked' }
  return jsonReply(400, { error }, headers())
}

export function wordsFor(failure: Failure): [type: string, code: string | null, message: string] {
  const { status, retryAfterSeconds } = failure
  if (status === 401) return ['invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.']
  if (status === 429) {
    const wait =
      retryAfterSeconds === undefined ? 'Please slow down.' : `Please try again in ${retryAfterSeconds}s.`
    const limit = 'Rate limit reached in organization org-sandbox on requests per min (RPM)'
    return ['requests', 'rate_limit_exceeded', `${limit}: Limit 10000, Used 10000, Requested 1. ${wait}`]
  }
  if (status === 503) return ['server_error', 'overloaded', 'The engine is currently overloaded.']
  if (status >= 500) {
    const message = 'The server had an error while processing your request. Sorry about that!'
    return ['server_error', null, message]
  }
  return ['invalid_request_error', null, 'The request was refused.']
}
