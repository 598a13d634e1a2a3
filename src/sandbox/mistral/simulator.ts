// Simulates Mistral AI: chat completions that refuse every field they do not know, and streams that report usage unasked. It must
// never take a field by OpenAI's name for it.

import { createLookalike } from '../openai/lookalike'

export const mistral = createLookalike({
  secret: 'sandbox-mistral-0001',
  basePath: '/v1',
  chatPath: '/v1/chat/completions',
  models: ['mistral-large-latest', 'mistral-small-latest'],
  refusedFields: [
    'stream_options',
    'max_completion_tokens',
    'seed',
    'user',
    'store',
    'logit_bias',
    'logprobs',
    'top_logprobs',
    'top_k',
    'safety_identifier',
    'prompt_cache_retention',
    'verbosity',
  ],
  refusedField: (field) => ({
    status: 422,
    message: `body.${field}: Extra inputs are not permitted`,
    code: 'extra_forbidden',
  }),
  error({ status, message, code = null, type = 'invalid_request_error' }) {
    if (code !== 'extra_forbidden') return { object: 'error', message, type, param: null, code }
    const [place = '', msg] = message.split(': ')
    const detail = [{ type: code, loc: place.split('.'), msg, input: null }]
    return { object: 'error', message: { detail }, type, param: null, code: null, raw_status_code: status }
  },
  unauthorized: { status: 401, message: 'Unauthorized' },
  missingModel: (model) => ({
    status: 400,
    message: `Invalid model: ${model}`,
    type: 'invalid_model',
    code: '1500',
  }),
  outOfQuota: { status: 402, message: 'You have exceeded your spend limit.' },
  usageUnasked: true,
  // UsageInfo is left out of chunks without it (@mistralai/mistralai 2.7, models/components/completionchunk).
  dialect: { nullUsage: false },
})
