// The configuration of the simulated gateways: vendors of every kind of answer, and prices that are easy to add up.

import type { Config } from '../../../src/config/schema'

export const SECRET_WORD = 'canary-of-a-prompt'
export const VENDOR_SECRET = 'sk-canary-of-a-vendor'

/** Nano-dollars of an input and an output token, by the vendor's name for the model. */
export const TOKEN_NANO: Record<string, readonly [input: number, output: number]> = {
  'gpt-4.1-mini': [1_000, 2_000],
  // So expensive that a hold at the prices of the other model would not suffice.
  'qwen3-spare': [9_000, 20_000],
  'claude-test': [3_000, 7_000],
  'text-embedding-v4': [1_000, 0],
  'gpt-image-1': [1_000, 2_000],
  'gpt-4o-transcribe': [1_000, 2_000],
}
export const CHARACTER_NANO = 100_000
export const IMAGE_NANO = 10_000_000
export const FILE_HOST = 'files.example'

const common = {
  apiKey: VENDOR_SECRET,
  pollsPerSecond: 1_000,
  timeoutMs: 20_000,
  idleTimeoutMs: 10_000,
  maxDurationMs: 60_000,
  taskDeadlineMs: 6 * 60_000,
  fileHosts: [FILE_HOST],
}
/** Nano-dollars for a token are dollars for a billion tokens. */
const dollars = (nano: number) => (nano / 1_000).toFixed(2)
/** Holds of streams cover so few tokens that most are extended several times. */
const reserveOutputTokens = 8
const price = (model: string) => {
  const [input, output] = TOKEN_NANO[model] as readonly [number, number]
  return { per_1m_input_tokens: dollars(input), per_1m_output_tokens: dollars(output) }
}

export const config = {
  upstreams: {
    openai: { kind: 'openai', baseUrl: 'http://openai.example', ...common },
    dashscope: { kind: 'dashscope', baseUrl: 'http://dashscope.example', ...common },
    anthropic: { kind: 'anthropic', baseUrl: 'http://anthropic.example', ...common },
  },
  models: {
    'test-chat': {
      family: 'openai-chat',
      upstream: 'openai',
      upstreamModel: 'gpt-4.1-mini',
      reserveOutputTokens,
      price: price('gpt-4.1-mini'),
    },
    'spare-chat': {
      family: 'openai-chat',
      upstream: 'dashscope',
      upstreamModel: 'qwen3-spare',
      reserveOutputTokens,
      price: price('qwen3-spare'),
    },
    either: { route: ['test-chat', 'spare-chat'] },
    'test-claude': {
      family: 'anthropic-messages',
      upstream: 'anthropic',
      upstreamModel: 'claude-test',
      reserveOutputTokens,
      price: price('claude-test'),
    },
    'text-embedding-v4': {
      family: 'openai-embeddings',
      upstream: 'dashscope',
      upstreamModel: 'text-embedding-v4',
      batchSize: 10,
      price: { per_1m_input_tokens: dollars(1_000) },
    },
    'test-speech': {
      family: 'dashscope-speech',
      upstream: 'dashscope',
      upstreamModel: 'qwen3-tts-flash',
      price: { per_1m_characters: dollars(CHARACTER_NANO) },
    },
    'test-image': {
      family: 'dashscope-images',
      upstream: 'dashscope',
      upstreamModel: 'qwen-image',
      price: { per_image: (IMAGE_NANO / 1e9).toFixed(2) },
    },
    'test-edit': {
      family: 'openai-image-edits',
      upstream: 'openai',
      upstreamModel: 'gpt-image-1',
      price: {
        ...price('gpt-image-1'),
        per_1m_input_image_tokens: dollars(1_000),
        per_1m_output_image_tokens: dollars(2_000),
      },
    },
    'test-transcription': {
      family: 'openai-transcriptions',
      upstream: 'openai',
      upstreamModel: 'gpt-4o-transcribe',
      price: { ...price('gpt-4o-transcribe'), per_1m_input_audio_tokens: dollars(1_000) },
    },
    'vidw2.6-t2v': {
      family: 'dashscope-video',
      upstream: 'dashscope',
      upstreamModel: 'wan2.6-t2v',
      durations: { min: 2, max: 15, default: 5 },
      price: { per_second: { '720p': '0.01' } },
    },
  },
} satisfies Config
