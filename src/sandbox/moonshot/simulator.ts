// Simulates Moonshot AI: chat completions that count what its cache had at the top of the usage, and messages. It must never
// report a cached token in another way.

import type { TokenCounts } from '../openai/chat'
import { createLookalike } from '../openai/lookalike'

export const moonshot = createLookalike({
  secret: 'sk-sandbox-moonshot-0001',
  basePath: '',
  chatPath: '/v1/chat/completions',
  messagesPath: '/anthropic/v1/messages',
  models: ['kimi-k2-0905-preview', 'kimi-k2-thinking'],
  thinks: (model) => (model === 'kimi-k2-thinking' ? 16 : 0),
  error: ({ message, type = 'invalid_request_error' }) => ({ error: { message, type } }),
  unauthorized: { status: 401, message: 'Invalid Authentication', type: 'invalid_authentication_error' },
  missingModel: (model) => ({
    status: 404,
    message: `Not found the model ${model} or Permission denied`,
    type: 'resource_not_found_error',
  }),
  outOfQuota: {
    status: 429,
    message: 'Your account is suspended, please check your plan and billing details',
    type: 'exceeded_current_quota_error',
  },
  usage({ prompt, cached, output, reasoning }: TokenCounts) {
    const completion = output + reasoning
    return {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      ...(cached > 0 && { cached_tokens: cached }),
    }
  },
})
