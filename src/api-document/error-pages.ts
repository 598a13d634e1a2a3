// Describes every error that a caller can get, by status, in each form of error bodies, with examples that the gateway's own code
// produces. It must never describe a body by hand.

import { type Dialect, type ErrorDetails, errorBody, GatewayError } from '../lib/errors'
import { anyOf, type DescribedAnswer, type Examples, headersOf, type Schema, schemaOf } from './schema'

const text = { type: 'string' }
const details = {
  type: 'object',
  required: ['message', 'type', 'param', 'code', 'request_id'],
  properties: {
    message: { ...text, description: 'What is wrong and what to do about it.' },
    type: { ...text, description: 'A coarse class, such as `invalid_request_error`.' },
    param: { type: ['string', 'null'], description: 'The field at fault, such as `messages[0].role`.' },
    code: { ...text, description: 'A stable word for programs.' },
    request_id: { ...text, description: 'The same as the header `x-request-id`.' },
  },
}

export const errorSchemas: Record<string, Schema> = {
  Error: {
    description: 'The common form of an error.',
    type: 'object',
    required: ['error'],
    properties: { error: details },
  },
  FlatError: {
    description:
      'The flat form, which image models with `input.messages` use, and 429 everywhere; the common form is included too.',
    type: 'object',
    required: ['code', 'message', 'request_id', 'error'],
    properties: { code: text, message: text, request_id: text, error: details },
  },
  MessagesError: {
    description: 'The form of `POST /v1/messages`.',
    type: 'object',
    required: ['type', 'error', 'request_id'],
    properties: {
      type: { const: 'error' },
      error: { type: 'object', required: ['type', 'message'], properties: { type: text, message: text } },
      request_id: text,
      code: { ...text, description: 'With 429 only, as in the flat form.' },
      message: { ...text, description: 'With 429 only, as in the flat form.' },
    },
  },
  ContentsError: {
    description: 'The form below `/v1beta`.',
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message', 'status'],
        properties: {
          code: { type: 'integer', description: 'The status of the answer.' },
          message: { ...text, description: 'What is wrong and what to do about it.' },
          status: { ...text, description: 'A coarse class, such as `INVALID_ARGUMENT`.' },
          details: {
            type: 'array',
            description:
              'The reason in `ErrorInfo`, seconds to wait in `RetryInfo`, the field in `BadRequest`.',
            items: { type: 'object' },
          },
        },
      },
      code: { ...text, description: 'With 429 only, as in the flat form.' },
      message: { ...text, description: 'With 429 only, as in the flat form.' },
      request_id: { ...text, description: 'With 429 only, as in the flat form.' },
    },
  },
}

type Example = Pick<ErrorDetails, 'code' | 'message' | 'param' | 'type'>
interface ErrorKind {
  status: number
  /** Replaces the status in the document if it is only an example. */
  range?: '4XX'
  description: string
  headers?: readonly string[]
  examples: readonly Example[]
}

const invalid = 'invalid_request_error'

/** Errors that need no more than a code and a sentence. */
const messages = {
  body_too_slow: 'The body took too long to arrive. Send it faster, or send less.',
  body_too_large: 'The body is larger than this endpoint reads. Send less.',
  unsupported_media_type:
    "This endpoint takes JSON, not text/plain. Send it with the header 'Content-Type: application/json'.",
  idempotency_key_in_use: 'A request with this Idempotency-Key is running. Wait for it to end and ask again.',
  idempotency_key_reused: 'This Idempotency-Key was used for another request. Use a new one.',
  upstream_garbage: 'The vendor answered with something that cannot be read. Try again.',
  upstream_timeout: 'The vendor did not answer in time. Try again.',
  upstream_error: 'The vendor is overloaded. Try again.',
  content_policy_violation: 'The vendor refuses this request: its own text says why.',
  invalid_value: "Invalid 'limit': expected a whole number from 1 to 100.",
  video_not_ended:
    'The task is still running and cannot be deleted now. Delete it when its status is completed or failed.',
  invalid_signature: 'The signature is not valid for the secret of this gateway.',
  payment_not_credited: 'Not credited: there is no account "alice".',
  code_redeemed: 'This code was redeemed before. Each code can be redeemed once.',
  code_expired: 'This code has expired. Ask where it came from for another one.',
  video_not_ready: 'The video is not ready: ask again when the status of its task is completed.',
} as const

/** Errors of any request. */
const always: readonly ErrorKind[] = [
  {
    status: 401,
    description: 'The key is missing, unknown, expired or revoked.',
    headers: ['www-authenticate'],
    examples: [
      {
        code: 'invalid_api_key',
        type: invalid,
        message: 'Send the key of this gateway as `Authorization: Bearer sk-…`.',
      },
    ],
  },
  {
    status: 403,
    description: 'The key is paused, or its account is frozen or closed. `GET /v1/me` says which.',
    examples: [
      {
        code: 'key_paused',
        message:
          'This API key is paused by the operator of this gateway. Use another key, or ask them to resume it.',
      },
    ],
  },
  {
    status: 500,
    description: 'A fault of the gateway. Its log has the reason under the request id.',
    examples: [
      { code: 'internal_error', message: 'The gateway failed. Its operator can find the reason in the log.' },
    ],
  },
  {
    status: 503,
    description: 'Not now: the vendor, the database or the gateway itself is not available.',
    headers: ['retry-after'],
    examples: [{ code: 'upstream_unavailable', message: 'The vendor cannot be reached now. Try again.' }],
  },
]

/** Errors of a request with a body. */
const withBody: readonly ErrorKind[] = [
  {
    status: 400,
    description: 'The request cannot be served as it is: a field is missing, wrong, or not for this model.',
    examples: [
      {
        code: 'model_not_found',
        param: 'model',
        message:
          'The model `no-such-model` does not exist or this key may not use it. This key may use for /v1/chat/completions: …',
      },
      { code: 'invalid_json', message: 'The body is not valid JSON.' },
    ],
  },
  { status: 408, description: 'The body arrived too slowly.', examples: [one('body_too_slow')] },
  { status: 413, description: 'The body is too large.', examples: [one('body_too_large')] },
  {
    status: 415,
    description: 'The body is of another type or encoding than this endpoint reads.',
    examples: [one('unsupported_media_type')],
  },
  {
    status: 429,
    description: 'Too many requests or tokens in this minute, or too many requests at a time.',
    headers: ['retry-after', ...rateLimitHeaders()],
    examples: [
      {
        code: 'Throttling.RateQuota',
        message: 'This key may use 60 requests a minute. Try again in 12 s.',
      },
    ],
  },
]

/** Errors of a paid request. */
const paid: readonly ErrorKind[] = [
  {
    status: 402,
    description:
      'The account or the budget of the key has less than the request can cost at most, or a stream holds before it begins.',
    headers: ['retry-after'],
    examples: [
      {
        code: 'insufficient_balance',
        message:
          'This request may cost up to $0.25; the account has $0.10 available. Add money to the account or ask for less output.',
      },
      {
        code: 'in_flight',
        message:
          'This request may cost up to $0.25; the account has $0.10 available while running requests hold $0.40. Try again when they have ended.',
      },
    ],
  },
  {
    status: 409,
    description:
      'The first request with this Idempotency-Key still runs, or its answer was too large to be stored.',
    headers: ['retry-after'],
    examples: [one('idempotency_key_in_use')],
  },
  {
    status: 422,
    description: 'This Idempotency-Key was used for another request.',
    examples: [one('idempotency_key_reused')],
  },
]

/** Errors of vendors. */
const vendor: readonly ErrorKind[] = [
  {
    status: 403,
    range: '4XX',
    description: 'The vendor refused the request: its own status, code and text.',
    examples: [one('content_policy_violation')],
  },
  {
    status: 502,
    description: 'The vendor stopped early or answered with something that cannot be read.',
    examples: [one('upstream_garbage')],
  },
  { status: 504, description: 'The vendor did not answer in time.', examples: [one('upstream_timeout')] },
  {
    status: 529,
    description: 'The vendor is overloaded.',
    headers: ['retry-after'],
    examples: [one('upstream_error')],
  },
]

/** Errors of wrong parameters in the URL. */
const badAddress: readonly ErrorKind[] = [
  { status: 400, description: 'A parameter is wrong.', examples: [one('invalid_value')] },
]

/** Errors of requests for a result that is not ready. */
const notReady: readonly ErrorKind[] = [
  {
    status: 409,
    description: 'The task has not ended.',
    examples: [one('video_not_ready')],
  },
]

/** Errors of requests to delete a task. */
const running: readonly ErrorKind[] = [
  {
    status: 409,
    description: 'The task continues: its vendor cannot stop it.',
    examples: [one('video_not_ended')],
  },
]

/** Errors of codes. */
const unredeemed: readonly ErrorKind[] = [
  { status: 409, description: 'The code was redeemed before.', examples: [one('code_redeemed')] },
  { status: 410, description: 'The code has expired, or was revoked.', examples: [one('code_expired')] },
]

/** Errors of reports of payments. */
const uncredited: readonly ErrorKind[] = [
  { status: 400, description: 'The signature is not valid.', examples: [one('invalid_signature')] },
  { status: 413, description: 'The body is too large.', examples: [one('body_too_large')] },
  {
    status: 422,
    description: 'The payment was made, and an operator must credit it.',
    examples: [one('payment_not_credited')],
  },
]

const kinds = { always, withBody, paid, vendor, badAddress, notReady, running, unredeemed, uncredited }
export type ErrorGroup = keyof typeof kinds

/** The error answers of an endpoint in these dialects. */
export function errorAnswers(
  groups: readonly ErrorGroup[],
  dialects: readonly Dialect[],
): Record<string, DescribedAnswer> {
  const all = groups.flatMap((group) => kinds[group]).sort((one, other) => one.status - other.status)
  return Object.fromEntries(
    all.map((kind) => [kind.range ?? String(kind.status), errorAnswer(kind, dialects)]),
  )
}

/** The 404 of an endpoint, with its error as an example. */
export function notFoundAnswer(
  error: Pick<GatewayError, 'code' | 'message' | 'param' | 'type'>,
  dialects: readonly Dialect[] = ['openai'],
): DescribedAnswer {
  const description = 'There is no such thing, or not for this key.'
  return errorAnswer({ status: 404, description, examples: [error] }, dialects)
}

function errorAnswer(
  { status, description, headers = [], examples }: ErrorKind,
  dialects: readonly Dialect[],
): DescribedAnswer {
  const shown: Examples = {}
  for (const dialect of dialects) {
    for (const details of examples) {
      const value = errorBody(new GatewayError(status, details), dialect, EXAMPLE_ID)
      shown[dialects.length === 1 ? details.code : `${details.code} (${dialect})`] = { value }
    }
  }
  const common = ['x-request-id', ...(dialects.includes('messages') ? ['request-id'] : []), 'x-should-retry']
  const names = [...new Set(dialects.map((dialect) => schemaName(status, dialect)))]
  return {
    description,
    headers: headersOf(...common, ...headers),
    content: { 'application/json': { schema: anyOf(names.map(schemaOf)), examples: shown } },
  }
}

function schemaName(status: number, dialect: Dialect): string {
  if (dialect === 'messages') return 'MessagesError'
  if (dialect === 'gemini') return 'ContentsError'
  return dialect === 'flat' || status === 429 ? 'FlatError' : 'Error'
}

const EXAMPLE_ID = 'req_0193a1b2c3d47e8f9a0b1c2d3e4f5a6b'

export function rateLimitHeaders(): string[] {
  return ['requests', 'tokens'].flatMap((kind) =>
    ['limit', 'remaining', 'reset'].map((word) => `x-ratelimit-${word}-${kind}`),
  )
}

function one(code: keyof typeof messages): Example {
  return { code, message: messages[code] }
}
