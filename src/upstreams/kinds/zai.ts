// Z.ai (Zhipu): chat in OpenAI's form, and messages under a separate path. Errors have numbers as codes, and unpaid bills have the
// status of a rate limit: https://docs.z.ai/api-reference/api-code.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

/**
 * Keys (1000 to 1004), accounts and unpaid bills (1110 to 1121), models and permissions (1211, 1220, 1221), exhausted plans (1304
 * to 1313).
 */
const OPERATOR_CODE = /^(100[0-4]|111\d|112[01]|1211|122[01]|130[4-9]|131[0-3])$/

export const zai: UpstreamKind = {
  kind: 'zai',
  baseUrl: 'https://api.z.ai',
  secretVariable: 'ZAI_API_KEY',
  prefix: { openai: '/api/paas/v4', native: '/api/anthropic/v1' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    const operator = [401, 403, 404].includes(status) || OPERATOR_CODE.test(shape.code ?? '')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
