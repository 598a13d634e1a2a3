// xAI. Errors come in three forms, and a bad key is a 400 or a 403 with a sentence instead of a code. It must never show callers
// the team and the key that a content refusal names.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

/** Refusals of a prompt or an image; only the first sentence is for the caller. */
const MODERATED = /content moderation|content violates usage guidelines/i

export const xai: UpstreamKind = {
  kind: 'xai',
  baseUrl: 'https://api.x.ai/v1',
  secretVariable: 'XAI_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: ['.x.ai'],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  // Every model refuses penalties: NativeTavern#83 (2026-09-15) and uni-api#105 (2025-04-24) on GitHub.
  renamed: { frequency_penalty: null, presence_penalty: null },
  error(status, body) {
    const shape = readErrorShape(body)
    if (MODERATED.test(shape.message)) {
      const message = `${shape.message.split('.', 1)[0]}.`
      return { ...shape, message, code: 'content_policy_violation', whose: 'caller' }
    }
    const operator = [401, 403, 404].includes(status) || shape.message.startsWith('Incorrect API key')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
