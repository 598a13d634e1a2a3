// Voyage AI: embeddings. Errors are `{detail}`, a sentence or a list of faults.

import { readErrorShape } from '../lib/error-shapes'
import type { UpstreamKind } from '../upstream'

export const voyage: UpstreamKind = {
  kind: 'voyage',
  baseUrl: 'https://api.voyageai.com/v1',
  secretVariable: 'VOYAGE_API_KEY',
  prefix: { openai: '', native: '' },
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const operator = status === 401 || status === 403 || status === 404
    return { ...readErrorShape(body), whose: operator ? 'operator' : 'caller' }
  },
}
