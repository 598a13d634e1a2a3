// MiniMax: speech and videos. Errors of version 1 of its API are `{base_resp: {status_code, status_msg}}`, usually with HTTP status
// 200; those of version 2 are `{type, error: {type, message}}`. Keys of the international platform do not work at
// `https://api.minimaxi.com`, the Chinese one, for which `baseUrl` must be set.

import { nativeCall } from '../../contract/call'
import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'

/** Codes about the key and the balance of the operator: platform.minimax.io/docs/api-reference/errorcode, 2026-11. */
const OPERATOR_CODES = new Set(['1004', '1008', '2049', '2056'])

export const minimax: UpstreamKind = {
  kind: 'minimax',
  baseUrl: 'https://api.minimax.io',
  hasVersionInPaths: true,
  secretVariable: 'MINIMAX_API_KEY',
  prefix: { openai: '', native: '' },
  // The host of videos in recorded answers is video-product.cdn.minimax.io.
  fileHosts: ['.cdn.minimax.io'],
  probe: nativeCall('/v1/models', null, { method: 'GET' }),
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const { status_code: code, status_msg: reason } = asObject(asObject(body).base_resp)
    const shape = readErrorShape(typeof code === 'number' ? { message: reason, code: String(code) } : body)
    const operator = [401, 402, 403, 404].includes(status) || OPERATOR_CODES.has(shape.code ?? '')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
