// Simulates Mistral AI: chat completions, embeddings and transcriptions that refuse unknown fields, and streams that always report
// usage. It must never accept a field by OpenAI's name for it.

import { asObject, asObjects, type JsonObject } from '../json'
import { createLookalike } from '../openai/lookalike'

const UNKNOWN = [
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
]

export const mistral = createLookalike({
  secret: 'sandbox-mistral-0001',
  basePath: '/v1',
  chatPath: '/v1/chat/completions',
  models: [
    'mistral-large-latest',
    'mistral-small-latest',
    'mistral-large-2512',
    'labs-devstral-small-2512',
    'codestral-2508',
  ],
  names:
    /^(?:mistral|ministral|codestral|devstral|magistral|pixtral|voxtral|labs|zai-glm|glm|deepseek)-[a-z0-9.-]+$/,
  refusedField(body) {
    const faults = faultsIn(body)
    return faults.length > 0 ? { status: 422, message: '', faults } : undefined
  },
  error: ({ message, code = null, type = 'invalid_request_error', faults }) =>
    faults
      ? { object: 'error', message: { detail: faults }, type, param: null, code: null }
      : { object: 'error', message, type, param: null, code },
  unauthorized: { status: 401, message: 'Unauthorized' },
  missingModel: (model) => ({
    status: 400,
    message: `Invalid model: ${model}`,
    type: 'invalid_model',
    code: '1500',
  }),
  outOfQuota: { status: 402, message: 'You have exceeded your spend limit.' },
  alwaysSendsUsage: true,
  // EmbeddingRequest, AudioTranscriptionRequest and UsageInfo of @mistralai/mistralai 2.7.
  embeddings: {
    models: /embed/,
    fields: ['metadata', 'output_dimension', 'output_dtype', 'encoding_format'],
    lengthField: 'output_dimension',
    dimensions: (model) => (model.startsWith('codestral') ? 1536 : 1024),
    inputsMax: 256,
  },
  audio: {
    models: /^voxtral-(mini|small)-/,
    fields: [
      'language',
      'temperature',
      'stream',
      'diarize',
      'context_bias',
      'timestamp_granularities',
      'response_format',
    ],
    formats: ['json'],
    answer: ({ text, seconds }, model, usage) => ({
      model,
      text,
      segments: [],
      language: null,
      usage: usage({
        prompt_audio_seconds: Math.ceil(seconds),
        prompt_tokens: 4,
        completion_tokens: 20,
        total_tokens: 24,
      }),
    }),
  },
  // Chunks without usage omit UsageInfo (@mistralai/mistralai 2.7, models/components/completionchunk).
  dialect: { nullUsage: false },
})

/** All fields that are not known, with their places, in the order of the body. */
function faultsIn(body: JsonObject): JsonObject[] {
  const fault = (loc: (string | number)[], input: unknown) => ({
    type: 'extra_forbidden',
    loc: ['body', ...loc],
    msg: 'Extra inputs are not permitted',
    input,
  })
  const atTop = Object.keys(body).filter((name) => UNKNOWN.includes(name))
  const inOptions = Object.entries(asObject(body.stream_options) ?? {})
  const inMessages = asObjects(body.messages).flatMap((message, index) =>
    'reasoning_content' in message
      ? [fault(['messages', index, String(message.role), 'reasoning_content'], message.reasoning_content)]
      : [],
  )
  return [
    ...atTop.map((name) => fault([name], body[name])),
    ...inOptions.map(([name, value]) => fault(['stream_options', name], value)),
    ...inMessages,
  ]
}
