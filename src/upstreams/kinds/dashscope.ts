// Alibaba DashScope (Model Studio): the OpenAI-compatible API and the native one on one host, which is either shared by all
// workspaces of a region or belongs to one: https://www.alibabacloud.com/help/model-studio/base-url (2026-10-11).

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

/** Codes about bills, quotas and permissions of the operator's account. */
const OPERATOR_CODE =
  /^(Arrearage|.*BillOverdue|CommodityNotPurchased|InvalidApiKey|invalid_api_key|AccessDenied|.*\.AccessDenied|AllocationQuota|ModelNotFound|model_not_found|insufficient_quota)/

/** The error for a voice that the model does not have. */
const VOICE = /\bvoice '.*' is not supported|: (?:parameters\.audio|input)\.voice/i

const DEFAULT_REGION = 'ap-southeast-1'
/** Shared hosts of regions whose names differ from the region. */
const SHARED_HOSTS: Readonly<Record<string, string>> = {
  [DEFAULT_REGION]: 'dashscope-intl.aliyuncs.com',
  'us-east-1': 'dashscope-us.aliyuncs.com',
  'cn-beijing': 'dashscope.aliyuncs.com',
}

export const dashscope: UpstreamKind = {
  kind: 'dashscope',
  baseUrl: `https://${SHARED_HOSTS[DEFAULT_REGION]}`,
  baseUrlFor: ({ region = DEFAULT_REGION, project }) =>
    project === undefined
      ? `https://${SHARED_HOSTS[region] ?? `${region}.dashscope.aliyuncs.com`}`
      : `https://${project}.${region}.maas.aliyuncs.com`,
  advice: (address) =>
    /dashscope[\w-]*\.aliyuncs\.com$/.test(URL.parse(address)?.hostname ?? '')
      ? 'a host that all workspaces share, which the vendor advises to leave: set project to the id of yours, and region'
      : undefined,
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
