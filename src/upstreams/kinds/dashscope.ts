// Alibaba DashScope (Model Studio): the OpenAI-compatible API and the native one on one host.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

/** Codes about bills, quotas and rights of the operator's account. */
const OPERATOR_CODE =
  /^(Arrearage|.*BillOverdue|CommodityNotPurchased|InvalidApiKey|invalid_api_key|AccessDenied|.*\.AccessDenied|AllocationQuota|ModelNotFound|model_not_found|insufficient_quota)/

/** The error for a voice that the model does not have. */
const VOICE = /\bvoice '.*' is not supported|: (?:parameters\.audio|input)\.voice/i

export const dashscope: UpstreamKind = {
  kind: 'dashscope',
  baseUrl: 'https://dashscope-intl.aliyuncs.com',
  secretVariable: 'DASHSCOPE_API_KEY',
  prefix: { openai: '/compatible-mode/v1', native: '/api/v1' },
  fileHosts: ['.aliyuncs.com'],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    // The native paths have no code for a missing model.
    const operator =
      [401, 403, 404].includes(status) ||
      OPERATOR_CODE.test(shape.code ?? '') ||
      shape.message.startsWith('Model not exist')
    const isVoice = !operator && VOICE.test(shape.message)
    return {
      ...shape,
      whose: operator ? 'operator' : 'caller',
      // The vendor has several codes for this; its callers know this one.
      ...(isVoice && { code: 'endpoint_model_mismatch', relayed: flatBody(body) }),
    }
  },
}

/** The vendor's own error body, which its callers know. */
function flatBody(body: unknown): Record<string, unknown> {
  const { code, message, request_id } = body as Record<string, unknown>
  return { code, message, request_id }
}
