// Simulates Z.ai: chat completions and messages, with numbers as codes of errors, and unpaid bills with the status of a rate limit.
// It must never send an error without its number. Calls of tools without the reasoning that led to them are accepted
// (openai/openai-agents-python#2669).

import { createLookalike, forcedChoice } from '../openai/lookalike'
import { thinkingIsOff } from '../openai/returned-reasoning'

export const zai = createLookalike({
  secret: 'sandbox.zai-0001',
  basePath: '',
  chatPath: '/api/paas/v4/chat/completions',
  messagesPath: '/api/anthropic/v1/messages',
  models: ['glm-4.6', 'glm-4.5-air', 'glm-5', 'glm-5.3-flash'],
  names: /^glm-\d[a-z0-9.-]*$/,
  // https://docs.z.ai/guides/capabilities/thinking-mode
  thinks: (model, body) => (model.startsWith('glm-5') && !thinkingIsOff(body) ? 16 : 0),
  // test/vendors/zai
  refusedField: (body, _model, isMessages) =>
    !isMessages && forcedChoice(body) ? { status: 400, message: 'Tool choice must be auto' } : undefined,
  error: ({ message, code = null, status }) => ({
    error: { code: code ?? (status === 429 ? '1302' : '1214'), message },
  }),
  unauthorized: { status: 401, message: 'Authorization Token expired or incorrect', code: '1001' },
  missingModel: () => ({ status: 400, message: 'Unknown Model, please check the model code.', code: '1211' }),
  outOfQuota: {
    status: 429,
    message: 'Insufficient balance or no resource package. Please recharge.',
    code: '1113',
  },
})
