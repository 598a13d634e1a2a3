// Mistral AI: chat, embeddings and transcriptions in a form close to OpenAI's. Unknown fields are refused with 422, and a stream
// always reports its usage: https://docs.mistral.ai/api.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { NO_PROBABILITIES, omittedProbabilities, refusedOfAudio } from './refused-fields'

/** Fields of OpenAI's transcription that AudioTranscriptionRequest of @mistralai/mistralai 2.7 (November 2026) lacks. */
const ofAudio = refusedOfAudio(
  { field: 'stream', plain: [false], why: 'the vendor of this model streams transcripts in its own format' },
  { field: 'response_format', plain: ['json'], why: 'the vendor of this model returns only JSON' },
  {
    field: 'prompt',
    plain: [''],
    why: 'the vendor of this model accepts no prompt with the audio',
    instead: "Name unusual words in 'context_bias'.",
  },
)

export const mistral: UpstreamKind = {
  kind: 'mistral',
  baseUrl: 'https://api.mistral.ai/v1',
  secretVariable: 'MISTRAL_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  streamUsage: false,
  // The fields of a request are those of ChatCompletionRequest in @mistralai/mistralai 2.7 (November 2026).
  refused: [...NO_PROBABILITIES, ...ofAudio],
  renamed: {
    ...omittedProbabilities,
    max_completion_tokens: 'max_tokens',
    seed: 'random_seed',
    // Of vectors.
    dimensions: 'output_dimension',
    // Fields of audio. Names of lists have no brackets.
    'context_bias[]': 'context_bias',
    'timestamp_granularities[]': 'timestamp_granularities',
    stream_options: null,
    user: null,
    safety_identifier: null,
    store: null,
    prompt_cache_retention: null,
    prompt_cache_options: null,
    // Settings for sampling, and for the length of the answer.
    top_k: null,
    min_p: null,
    repetition_penalty: null,
    verbosity: null,
  },
  error(status, body) {
    // Faults of fields are a list inside the message.
    const { message } = (body ?? {}) as { message?: unknown }
    const shape = readErrorShape(message !== null && typeof message === 'object' ? message : body)
    // A missing model is a 400 here.
    const operator = [401, 402, 403, 404].includes(status) || shape.message.startsWith('Invalid model')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
