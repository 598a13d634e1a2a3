// Cohere: reranking. Errors are `{message}`.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

export const cohere: UpstreamKind = {
  kind: 'cohere',
  baseUrl: 'https://api.cohere.com/v2',
  secretVariable: 'COHERE_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  // `V2RerankRequest` of cohere-ai 8.1 (November 2026) lacks fields that the first version of the API had.
  renamed: { return_documents: null, max_chunks_per_doc: null, truncation: null },
  error(status, body) {
    const shape = readErrorShape(body)
    // Refusals of an exhausted trial key, and of an account without a payment method.
    const isTrial = /trial key|payment method|billing/i.test(shape.message)
    const operator = [401, 402, 403, 404].includes(status) || (status === 429 && isTrial)
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
