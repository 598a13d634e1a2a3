// Moonshot AI (Kimi): chat in OpenAI's form, and messages under a separate path: https://platform.moonshot.ai/docs/api/chat. Cached
// tokens are reported as `cached_tokens` in the usage.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

/** Error types about the operator's account, some with the status of a rate limit. */
const OPERATOR_TYPES = new Set([
  'exceeded_current_quota_error',
  'invalid_authentication_error',
  'incorrect_api_key_error',
  'permission_denied_error',
  'resource_not_found_error',
])

export const moonshot: UpstreamKind = {
  kind: 'moonshot',
  baseUrl: 'https://api.moonshot.ai',
  secretVariable: 'MOONSHOT_API_KEY',
  prefix: { openai: '/v1', native: '/anthropic/v1' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    const operator = [401, 403, 404].includes(status) || OPERATOR_TYPES.has(shape.type ?? '')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
