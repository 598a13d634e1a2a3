// Simulates Groq: chat completions and transcriptions, with facts about its queue in every answer. It must never accept another
// vendor's key.

import { asObjects, isGiven, type JsonObject } from '../json'
import { createLookalike, type Words } from '../openai/lookalike'

export const groq = createLookalike({
  secret: 'gsk_sandbox_0001',
  basePath: '/openai/v1',
  chatPath: '/openai/v1/chat/completions',
  models: ['llama-3.3-70b-versatile', 'openai/gpt-oss-120b', 'moonshotai/kimi-k2-instruct', 'qwen/qwen3-32b'],
  names: /^(?:(?:meta-llama|openai|qwen)\/[a-z0-9.-]+|whisper-large-v3(?:-turbo)?)$/,
  thinks: (model) => (model.includes('gpt-oss') ? 8 : 0),
  refusedField,
  error: ({ message, code, type = 'invalid_request_error', param }) => ({
    error: { message, type, ...(param !== undefined && { param }), ...(code !== undefined && { code }) },
  }),
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
  // TranscriptionCreateParams of groq-sdk 1.6 has these fields and formats, and Transcription no usage.
  audio: {
    models: /^whisper-/,
    fields: ['language', 'prompt', 'response_format', 'temperature', 'timestamp_granularities[]', 'url'],
    formats: ['json', 'text', 'verbose_json'],
    answer: ({ text, seconds, format }) => ({
      text,
      ...(format === 'verbose_json' && {
        task: 'transcribe',
        language: 'English',
        duration: seconds,
        segments: [],
      }),
      x_groq: { id: 'req_sandbox' },
    }),
  },
  dialect: { envelope: { x_groq: { id: 'req_sandbox' }, system_fingerprint: 'fp_sandbox' } },
})

/**
 * The words of most refusals are on record in test/vendors/groq; the others are documented in https://console.groq.com/docs/openai
 * and in the types of groq-sdk.
 */
function refusedField(body: JsonObject, model: string): Words | undefined {
  const refused = (message: string, param?: string) => ({ status: 400, message, ...(param && { param }) })
  if (isGiven(body.store)) return refused("property 'store' is unsupported, did you mean 'stop'?")
  if (isGiven(body.reasoning)) return refused("property 'reasoning' is unsupported")
  const field = ['metadata', 'logit_bias', 'logprobs', 'top_logprobs'].find((name) => isGiven(body[name]))
  if (field) return refused(`\`${field}\` is not supported with this model`, field)
  if (isGiven(body.n) && body.n !== 1) return refused('`n` must be 1', 'n')
  const effort = body.reasoning_effort
  if (/qwen3/.test(model) && isGiven(effort) && effort !== 'none' && effort !== 'default') {
    return refused('`reasoning_effort` must be one of `none` or `default`')
  }
  for (const [index, message] of asObjects(body.messages).entries()) {
    if (isGiven(message.reasoning_content)) {
      const place = `'messages.${index}'`
      return refused(
        `${place} : for 'role:${String(message.role)}' the following must be satisfied[(${place} : property 'reasoning_content' is unsupported)]`,
      )
    }
  }
  return undefined
}
