// Anthropic: the messages API, and an OpenAI-compatible one under the same base URL. It must never report an empty
// account as the caller's mistake.

import { nativeCall } from '../../contract/call'
import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

const VERSION = '2023-06-01'
/** Ids in a caller's request, which may be misspelled. */
const CALLERS_ID = /\b(file|container|skill)_/

export const anthropic: UpstreamKind = {
  kind: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  chatFamily: 'anthropic-messages',
  secretVariable: 'ANTHROPIC_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret, protocol) =>
    protocol === 'openai'
      ? { authorization: `Bearer ${secret}` }
      : { 'x-api-key': secret, 'anthropic-version': VERSION },
  probe: nativeCall('/models?limit=1', null, { method: 'GET' }),
  error(status, body) {
    const shape = readErrorShape(body)
    const operator =
      [401, 403].includes(status) ||
      (status === 404 && !CALLERS_ID.test(shape.message)) ||
      // An empty account is a 400 with this sentence.
      shape.message.startsWith('Your credit balance is too low')
    const native = (body as { type?: unknown } | null)?.type === 'error'
    return { ...shape, whose: operator ? 'operator' : 'caller', ...(native && { verbatim: true }) }
  },
}
