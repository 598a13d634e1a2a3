// xAI's error bodies, in all three forms that the real service has, and the headers of its replies. It must never use
// only one form: clients of the real service have to read all three.

import { jsonReply } from '../replies'
import type { Reply } from '../simulator'

/** Texts that the service sends as a code in errors of the form `{code, error}`. */
export const codes = {
  invalid: 'Client specified an invalid argument',
  forbidden: 'The caller does not have permission to execute the specified operation',
  missing: 'Some requested entity was not found',
  exhausted: 'Some resource has been exhausted',
}

export function headers(): Record<string, string> {
  return {
    'x-request-id': crypto.randomUUID(),
    'x-metrics-e2e-ms': '12',
    'x-ratelimit-limit-requests': '480',
    'x-ratelimit-remaining-requests': '479',
    'x-ratelimit-limit-tokens': '2000000',
    'x-ratelimit-remaining-tokens': '1999000',
  }
}

export function textError(status: number, message: string, extra: Record<string, string> = {}): Reply {
  return jsonReply(status, { error: message }, { ...headers(), ...extra })
}

export function codedError(
  status: number,
  code: string,
  message: string,
  extra: Record<string, string> = {},
): Reply {
  return jsonReply(status, { code, error: message }, { ...headers(), ...extra })
}

export function objectError(
  status: number,
  message: string,
  param: string | null,
  code: string | null = null,
  extra: Record<string, string> = {},
): Reply {
  const error = { message, type: 'invalid_request_error', param, code }
  return jsonReply(status, { error }, { ...headers(), ...extra })
}

/** The error for a body that the service cannot parse, in the words of its parser. */
export function notDeserialized(reason: string): Reply {
  return textError(422, `Failed to deserialize the JSON body into the target type: ${reason}`)
}
