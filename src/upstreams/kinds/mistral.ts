// Mistral AI: chat nearly in OpenAI's form. Fields that it does not know are refused with 422, and a stream reports its usage
// without being asked: https://docs.mistral.ai/api.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

export const mistral: UpstreamKind = {
  kind: 'mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  secretVariable: 'MISTRAL_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  streamUsage: false,
  renamed: {
    max_completion_tokens: 'max_tokens',
    seed: 'random_seed',
    stream_options: null,
    user: null,
    store: null,
  },
  error(status, body) {
    // Faults of fields stand as a list within the message.
    const { message } = (body ?? {}) as { message?: unknown }
    const shape = readErrorShape(message !== null && typeof message === 'object' ? message : body)
    // A model that does not exist is a 400 here.
    const operator = [401, 402, 403, 404].includes(status) || shape.message.startsWith('Invalid model')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
