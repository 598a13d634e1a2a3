// Simulates OpenRouter: chat completions and messages of many vendors, and the list of models with prices, including models that
// cannot be billed by tokens. It must never accept a field that lets another model answer.

import { asObject, type JsonObject } from '../json'
import type { TokenCounts } from '../openai/chat'
import { createLookalike, plainUsage } from '../openai/lookalike'
import { jsonReply } from '../replies'

const none = { request: '0', image: '0', web_search: '0', internal_reasoning: '0' }
const listed: readonly JsonObject[] = [
  model('openai/gpt-4.1-mini', {
    prompt: '0.0000004',
    completion: '0.0000016',
    input_cache_read: '0.0000001',
    ...none,
  }),
  model(
    'anthropic/claude-sonnet-4.5',
    {
      prompt: '0.000003',
      completion: '0.000015',
      input_cache_read: '0.0000003',
      input_cache_write: '0.00000375',
      ...none,
      web_search: '0.01',
    },
    { modalities: ['text', 'image', 'file'] },
  ),
  model('meta-llama/llama-3.3-70b-instruct:free', { prompt: '0', completion: '0', ...none }),
  model('vendor/by-the-picture', { prompt: '0.000001', completion: '0.000002', ...none, image: '0.0036' }),
  model('openrouter/auto', { prompt: '-1', completion: '-1' }),
]

/** The price of a request in dollars, by the list: for its input and its output. */
function costsOf({ prompt, output, reasoning, cached }: TokenCounts, id: string) {
  const pricing = asObject(listed.find((entry) => entry.id === id)?.pricing)
  const each = (name: string) => Math.max(0, Number(pricing?.[name] ?? 0))
  const reading = pricing?.input_cache_read === undefined ? each('prompt') : each('input_cache_read')
  return {
    read: (prompt - cached) * each('prompt') + cached * reading,
    written: (output + reasoning) * each('completion'),
  }
}

function model(id: string, pricing: JsonObject, { modalities = ['text'] } = {}): JsonObject {
  return {
    id,
    canonical_slug: id,
    name: id,
    created: 1_754_006_400,
    context_length: 131_072,
    architecture: {
      modality: `${modalities.join('+')}->text`,
      input_modalities: modalities,
      output_modalities: ['text'],
      tokenizer: 'Other',
      instruct_type: null,
    },
    pricing,
    top_provider: { context_length: 131_072, max_completion_tokens: 16_384, is_moderated: false },
    per_request_limits: null,
    supported_parameters: ['max_tokens', 'temperature', 'tools'],
    supported_voices: null,
    default_parameters: null,
    links: { details: `/api/v1/models/${id}/endpoints` },
  }
}

export const openrouter = createLookalike({
  secret: 'sk-or-v1-sandbox-0001',
  basePath: '/api/v1',
  chatPath: '/api/v1/chat/completions',
  messagesPath: '/api/v1/messages',
  models: listed.map(({ id }) => String(id)),
  error: ({ status, message }) => ({ error: { message, code: status }, user_id: 'user_sandbox' }),
  unauthorized: { status: 401, message: 'User not found.' },
  missingModel: (id) => ({ status: 400, message: `${id} is not a valid model ID` }),
  outOfQuota: {
    status: 402,
    message: 'Insufficient credits. Add more using https://openrouter.ai/settings/credits',
  },
  usage(counts, model) {
    const { read, written } = costsOf(counts, model)
    const cost = read + written
    const details = {
      upstream_inference_cost: cost,
      upstream_inference_prompt_cost: read,
      upstream_inference_completions_cost: written,
    }
    return { ...plainUsage(counts), cost, is_byok: false, cost_details: details }
  },
  dialect: { envelope: { provider: 'Sandbox', system_fingerprint: 'fp_sandbox' }, nullUsage: false },
  other({ method, path }) {
    if (method !== 'GET') return undefined
    if (path === '/api/v1/key') return jsonReply(200, { data: { label: 'sandbox', limit: null, usage: 0 } })
    if (path !== '/api/v1/models') return undefined
    return jsonReply(200, { data: listed, links: { next: null }, total_count: listed.length })
  },
})
