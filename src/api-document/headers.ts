// Describes each request and response header once. A header that the gateway neither reads nor writes must not be here.

import { rateLimitHeaders } from './error-pages'
import type { Parameter } from './schema'

const text = { type: 'string' }

export const headers: Record<string, { description: string; schema: object; example?: string }> = {
  'x-request-id': {
    description: 'The id of this request, by which the operator finds it in the log.',
    schema: text,
  },
  'request-id': { description: 'The same, where clients of messages look for it.', schema: text },
  'x-gateway-model': {
    description:
      'The id of the model that answered, which differs from the requested name if that is an alias or a route.',
    schema: text,
  },
  'x-gateway-route': {
    description:
      'For a route, if the request has `x-gateway-explain: route`: its models that were passed over or failed, the one that answered, and those that come after it by the preference of the route.',
    schema: text,
    example: 'small;passed=context, large;answered, other;later=cheapest',
  },
  'x-gateway-ignored': {
    description:
      'What the model did not get of the request: tools and empty lists that clients send unasked, `tools[].strict` if it has no strict tools, `messages[].name` if only users may have one. Absent if there is none.',
    schema: text,
    example: 'image_generation',
  },
  deprecation: {
    description:
      'The model that answered ends at its vendor: since when this is known, in seconds since 1970 (RFC 9745).',
    schema: text,
    example: '@1793491200',
  },
  sunset: {
    description: 'When that model ends (RFC 8594).',
    schema: text,
    example: 'Fri, 11 Dec 2026 00:00:00 GMT',
  },
  'x-gateway-successor': {
    description: 'The model that takes the place of one that ends, if its vendor has named one.',
    schema: text,
    example: 'gpt-6-luna',
  },
  'x-gateway-cache': {
    description:
      'The response cache of the model: `hit`, `miss`, or `bypass` for a request that it does not take. Absent where the model has none. A hit has its age in seconds as `age`.',
    schema: { type: 'string', enum: ['hit', 'miss', 'bypass'] },
  },
  'x-gateway-cost-usd': {
    description:
      'What the request cost, in US dollars. Absent where that is known only after the headers have gone, as with streams.',
    schema: text,
    example: '0.00042',
  },
  'x-gateway-receipt': {
    description:
      'With `receipts: true` in the configuration: a signed receipt of what the request used and cost (docs/receipts.md). Absent where that is known only after the headers have gone, as with streams; `GET /v1/requests/{id}/receipt` has it then.',
    schema: text,
  },
  'retry-after': { description: 'Seconds after which to try again.', schema: text, example: '12' },
  'x-should-retry': {
    description: 'Whether trying again can help: `true` or `false`. Official clients act on it.',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'content-range': {
    description: 'Which bytes of how many the answer has; with 416, only how many there are.',
    schema: text,
    example: 'bytes 0-1023/4096',
  },
  'accept-ranges': { description: '`bytes`: a part can be asked for.', schema: text },
  etag: { description: 'Names this version of the file, for `If-None-Match` and `If-Range`.', schema: text },
  'www-authenticate': { description: 'How to send the key.', schema: text, example: 'Bearer' },
  ...Object.fromEntries(
    rateLimitHeaders().map((name) => [
      name,
      { description: 'For keys with limits: requests or tokens of this minute.', schema: text },
    ]),
  ),
}

export const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'The same key with the same body gives the same answer and one charge for 24 hours, however often it is sent.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

export const usageMetadata: Parameter = {
  name: 'X-Gateway-Metadata',
  in: 'header',
  description:
    'What usage is counted by, of the names that the operator wants: `team=search, project=x`, or a JSON object. Never sent to vendors.',
  schema: { type: 'string', maxLength: 4096 },
}

/** The header with which a caller requests a later answer. */
export const respondingLater: Parameter = {
  name: 'Prefer',
  in: 'header',
  description:
    '`respond-async` answers 202 with a task at once (RFC 7240); `respond-async, wait=10` first waits up to 10 seconds for its end. Ignored where it cannot be applied.',
  schema: { type: 'string' },
}

export const waiting: readonly Parameter[] = [
  {
    name: 'wait',
    in: 'query',
    description: 'Wait for the task to end: `true` for 300 seconds, or a number of seconds up to that.',
    schema: { type: 'string' },
  },
  {
    name: 'Prefer',
    in: 'header',
    description: 'The same as a header: `wait=30`.',
    schema: { type: 'string' },
  },
]
