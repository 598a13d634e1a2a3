// Simulates Groq: chat completions, with facts about its queue in every answer. It must never take another vendor's key.

import { createLookalike } from '../openai/lookalike'

export const groq = createLookalike({
  secret: 'gsk_sandbox_0001',
  basePath: '/openai/v1',
  chatPath: '/openai/v1/chat/completions',
  models: ['llama-3.3-70b-versatile', 'openai/gpt-oss-120b'],
  thinks: (model) => (model.includes('gpt-oss') ? 8 : 0),
  // hass_local_openai_llm#59 on GitHub; https://console.groq.com/docs/openai; types of groq-sdk.
  refusedFields: ['metadata', 'store', 'logit_bias', 'logprobs', 'top_logprobs'],
  refusedField: (field) => ({ status: 400, message: `\`${field}\` is not supported with this model` }),
  error: ({ message, code = null, type = 'invalid_request_error' }) => ({ error: { message, type, code } }),
  unauthorized: { status: 401, message: 'Invalid API Key', code: 'invalid_api_key' },
  missingModel: (model) => ({
    status: 404,
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
    code: 'model_not_found',
  }),
  outOfQuota: {
    status: 403,
    message: 'Your organization has reached its spend limit.',
    code: 'organization_restricted',
  },
  dialect: { envelope: { x_groq: { id: 'req_sandbox' }, system_fingerprint: 'fp_sandbox' } },
})
