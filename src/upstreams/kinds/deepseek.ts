// DeepSeek: chat in OpenAI's form, and messages under a separate path: https://api-docs.deepseek.com/quick_start/error_codes,
// https://api-docs.deepseek.com/guides/anthropic_api. Cached tokens are reported as `prompt_cache_hit_tokens`.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

export const deepseek: UpstreamKind = {
  kind: 'deepseek',
  baseUrl: 'https://api.deepseek.com',
  secretVariable: 'DEEPSEEK_API_KEY',
  prefix: { openai: '', native: '/anthropic/v1' },
  fileHosts: [],
  headers: (secret, protocol) =>
    protocol === 'openai' ? { authorization: `Bearer ${secret}` } : { 'x-api-key': secret },
  error(status, body) {
    const shape = readErrorShape(body)
    // A missing model is a 400 here, and an empty account a 402.
    const operator = [401, 402, 403, 404].includes(status) || shape.message.startsWith('Model Not Exist')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
