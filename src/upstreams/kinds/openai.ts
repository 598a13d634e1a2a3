// OpenAI, and every server that speaks its API: Ollama, llama.cpp, vLLM, other gateways. Codes:
// https://platform.openai.com/docs/guides/error-codes.

import { compatibleCall } from '../../contract/call'
import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'

/** Codes about the operator's account or setup, whatever the status. */
const OPERATOR_CODES = new Set([
  'insufficient_quota',
  'billing_hard_limit_reached',
  'account_deactivated',
  'model_not_found',
  'unsupported_country_region_territory',
])

/** The beginning of a date in the vendor's format. */
const DAY = /^20\d\d-\d\d-\d\d/

export const openai: UpstreamKind = {
  kind: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  secretVariable: 'OPENAI_API_KEY',
  prefix: { openai: '', native: '' },
  servesResponses: () => true,
  fileHosts: ['oaidalleapiprodscus.blob.core.windows.net'],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    const operator =
      status === 401 || status === 403 || status === 404 || OPERATOR_CODES.has(shape.code ?? '')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
  // Names and retirement dates only: the configuration must say what a model costs and serves.
  listing: {
    call: compatibleCall('/models', null, { method: 'GET' }),
    read(list) {
      const { data } = asObject(list)
      const models = (Array.isArray(data) ? data : []).map(asObject).flatMap(({ id, shutdown_date }) => {
        const day = typeof shutdown_date === 'string' ? DAY.exec(shutdown_date)?.[0] : undefined
        return typeof id === 'string' ? [[id, day === undefined ? {} : { retires: day }] as const] : []
      })
      return { models: Object.fromEntries(models), refused: {} }
    },
  },
}
