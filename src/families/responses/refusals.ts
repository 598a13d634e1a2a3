// Errors for responses requests that a bridge cannot serve, in the terms that clients know from OpenAI. Each must name the exact
// place.

import { GatewayError, invalidRequest } from '../../lib/errors'

/** Maximum length of the caller's text that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 64

export function missingField(at: string): GatewayError {
  return invalidRequest(at, `Missing required parameter: '${at}'.`, 'missing_required_parameter')
}

export function wrongType(at: string, expected: string, value: unknown): GatewayError {
  const got = Array.isArray(value) ? 'an array' : `a value of type ${value === null ? 'null' : typeof value}`
  return invalidRequest(
    at,
    `Invalid type for '${at}': expected ${expected}, but got ${got} instead.`,
    'invalid_type',
  )
}

export function wrongValue(at: string, value: unknown, supported: readonly string[]): GatewayError {
  const [most, last] = [supported.slice(0, -1), supported.at(-1)]
  const list = [...most.map((word) => `'${word}'`), `and '${last}'`].join(', ')
  return invalidRequest(at, `Invalid value for '${at}': '${repeated(value)}'. Supported values are: ${list}.`)
}

/** The error for a field that is not supported on any bridge. `why` is the end of a sentence. */
export function unsupportedField(at: string, why: string): GatewayError {
  return new GatewayError(400, {
    code: 'unsupported_parameter',
    message: `Unsupported parameter: '${at}': ${why}.`,
    param: at,
  })
}

/** The caller's own text as an error repeats it. */
export function repeated(value: unknown): string {
  return String(value).slice(0, MAX_SHOWN_LENGTH)
}

/** The text of a field that must have one. */
export function textAt(fields: Record<string, unknown>, name: string, at: string): string {
  const value = fields[name]
  if (typeof value === 'string') return value
  const place = `${at}.${name}`
  if (value === undefined || value === null) throw missingField(place)
  throw wrongType(place, 'a string', value)
}
