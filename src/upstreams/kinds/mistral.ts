// Mistral AI: chat nearly in OpenAI's form. Fields that it does not know are refused with 422, and a stream reports its usage
// without being asked: https://docs.mistral.ai/api.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { NO_PROBABILITIES, omittedProbabilities } from './refused-fields'

export const mistral: UpstreamKind = {
  kind: 'mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  secretVariable: 'MISTRAL_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  streamUsage: false,
  // The fields of a request are those of ChatCompletionRequest in @mistralai/mistralai 2.7 (November 2026).
  refused: NO_PROBABILITIES,
  renamed: {
    ...omittedProbabilities,
    max_completion_tokens: 'max_tokens',
    seed: 'random_seed',
    stream_options: null,
    user: null,
    safety_identifier: null,
    store: null,
    prompt_cache_retention: null,
    prompt_cache_options: null,
    // Hints of how words are chosen, and of how many.
    top_k: null,
    min_p: null,
    repetition_penalty: null,
    verbosity: null,
  },
  error(status, body) {
    // Faults of fields stand as a list within the message.
    const { message } = (body ?? {}) as { message?: unknown }
    const shape = readErrorShape(message !== null && typeof message === 'object' ? message : body)
    // A model that does not exist is a 400 here.
    const operator = [401, 402, 403, 404].includes(status) || shape.message.startsWith('Invalid model')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
