// Voyage AI: embeddings. Errors are `{detail}`, a sentence or a list of faults.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

export const voyage: UpstreamKind = {
  kind: 'voyage',
  baseUrl: 'https://api.voyageai.com/v1',
  secretVariable: 'VOYAGE_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    // An account without a payment method is a 429 with this sentence.
    const operator = [401, 403, 404].includes(status) || shape.message.includes('payment method')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
