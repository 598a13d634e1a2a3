// xAI. Errors come in three shapes, and a bad key is a 400 or a 403 with a sentence in place of a code.

import { readErrorShape } from '../lib/error-shapes'
import type { UpstreamKind } from '../upstream'

export const xai: UpstreamKind = {
  kind: 'xai',
  baseUrl: 'https://api.x.ai/v1',
  secretVariable: 'XAI_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: ['.x.ai'],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    const operator = [401, 403, 404].includes(status) || shape.message.startsWith('Incorrect API key')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
