// fal: videos of many makers over one queue. Errors are `{detail: [{loc, msg, type}]}` from a model, and `{detail, error_type}`
// from the platform: fal.ai/docs/documentation/model-apis/errors and …/request-errors, 2026-11.

import { nativeCall } from '../../contract/call'
import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'

export const fal: UpstreamKind = {
  kind: 'fal',
  baseUrl: 'https://queue.fal.run',
  secretVariable: 'FAL_KEY',
  prefix: { openai: '', native: '' },
  // Results of type `File` in @fal-ai/client 1.10 are at v3.fal.media, v3b.fal.media and the like.
  fileHosts: ['.fal.media'],
  headers: (secret) => ({ authorization: `Key ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    const { detail, error_type: errorType } = asObject(body)
    const { type, loc } = asObject(Array.isArray(detail) ? detail[0] : undefined)
    const field = Array.isArray(loc) ? loc.slice(1).join('.') : ''
    // 403 is an account that is locked, mostly because its balance is used up.
    const operator = [401, 402, 403, 404].includes(status)
    return {
      ...shape,
      code: wordOf(type) ?? wordOf(errorType) ?? shape.code,
      param: field === '' ? shape.param : field,
      whose: operator ? 'operator' : 'caller',
    }
  },
  // The queue has no list of models, and asking for the state of a request that does not exist is free.
  probe: nativeCall('/fal-ai/kling-video/requests/00000000-0000-0000-0000-000000000000/status', null, {
    method: 'GET',
  }),
}

function wordOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
