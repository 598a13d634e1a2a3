// The setting of session affinity. Names that cannot distinguish sessions must be faults: all requests would go to one key.

import { Type } from '@sinclair/typebox'
import { asObject } from '../lib/objects'
import { closed, optionalSetting } from '../lib/setting'

export const AffinityEntry = Type.Object(
  {
    headers: optionalSetting(
      'Additional headers that name a session, read before the built-in ones: `["x-chat-id"]`.',
      Type.Array(Type.String(), { minItems: 1, maxItems: 8 }),
    ),
  },
  closed,
)

/** Headers that have the same value in all sessions of a client, or another one in each request. */
const NOT_OF_SESSIONS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'anthropic-beta',
  'anthropic-version',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'cookie',
  'host',
  'idempotency-key',
  'traceparent',
  'user-agent',
  'x-api-key',
  'x-request-id',
])

export function affinityFaults(affinity: unknown): string[] {
  const { headers } = asObject(affinity)
  if (!Array.isArray(headers)) return []
  return headers.flatMap((header: unknown, index) => {
    if (typeof header !== 'string') return []
    const shown = JSON.stringify(header)
    const name = header.toLowerCase()
    if (!/^[\w!#$%&'*+.^`|~-]{1,64}$/.test(header))
      return [`affinity.headers: ${shown} is not the name of a header: use letters, digits and hyphens`]
    if (NOT_OF_SESSIONS.has(name))
      return [
        `affinity.headers: ${shown} does not name a session: use a header that is the same in all requests of a conversation, and another in the next`,
      ]
    const isTwice = headers.findIndex((other) => String(other).toLowerCase() === name) < index
    return isTwice ? [`affinity.headers: ${shown} is listed twice: remove one`] : []
  })
}
