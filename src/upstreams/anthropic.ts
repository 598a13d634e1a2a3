// Anthropic: the messages API, and an OpenAI-compatible one under the same base URL.

import { readErrorShape } from '../lib/error-shapes'
import type { UpstreamKind } from '../upstream'

const VERSION = '2023-06-01'

export const anthropic: UpstreamKind = {
  kind: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  secretVariable: 'ANTHROPIC_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret, protocol) =>
    protocol === 'openai'
      ? { authorization: `Bearer ${secret}` }
      : { 'x-api-key': secret, 'anthropic-version': VERSION },
  error(status, body) {
    const shape = readErrorShape(body)
    // An empty account is a 400 with this sentence.
    const operator =
      [401, 403, 404].includes(status) || shape.message.startsWith('Your credit balance is too low')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
