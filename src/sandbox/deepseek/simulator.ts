// Simulates DeepSeek: chat completions that count what its cache had beside the rest of the usage, and messages. It must never
// report a cached token in another way.

import type { TokenCounts } from '../openai/chat'
import { createLookalike } from '../openai/lookalike'

export const deepseek = createLookalike({
  secret: 'sk-sandbox-deepseek-0001',
  basePath: '',
  chatPath: '/chat/completions',
  messagesPath: '/anthropic/v1/messages',
  models: ['deepseek-chat', 'deepseek-reasoner'],
  thinks: (model) => (model === 'deepseek-reasoner' ? 16 : 0),
  error: ({ message, code = null, type = 'invalid_request_error' }) => ({
    error: { message, type, param: null, code: code ?? 'invalid_request_error' },
  }),
  unauthorized: {
    status: 401,
    message: 'Authentication Fails, Your api key is invalid',
    type: 'authentication_error',
  },
  missingModel: () => ({ status: 400, message: 'Model Not Exist' }),
  outOfQuota: { status: 402, message: 'Insufficient Balance', type: 'unknown_error' },
  usage({ prompt, cached, output, reasoning }: TokenCounts) {
    return {
      prompt_tokens: prompt,
      completion_tokens: output + reasoning,
      total_tokens: prompt + output + reasoning,
      prompt_cache_hit_tokens: cached,
      prompt_cache_miss_tokens: prompt - cached,
      ...(reasoning > 0 && { completion_tokens_details: { reasoning_tokens: reasoning } }),
    }
  },
  dialect: { envelope: { system_fingerprint: 'fp_sandbox' } },
})
