// OpenRouter: many vendors behind OpenAI's API, and messages under the same base URL: https://openrouter.ai/docs/api-reference.
// Its list of models has prices, which a file can hold for this gateway. It must never let a caller choose what its price
// list does not cover.

import type { ListedModels, ListedSettings, UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { formatDecimal, parseDecimal } from '../../lib/money'
import { asObject } from '../../lib/objects'

/** Prices of one in dollars, as https://openrouter.ai/docs/overview/models has them, by our key for a million. */
const PER_TOKEN: Readonly<Record<string, string>> = {
  prompt: 'per_1m_input_tokens',
  completion: 'per_1m_output_tokens',
  input_cache_read: 'per_1m_cached_input_tokens',
  input_cache_write: 'per_1m_cache_write_tokens',
  audio: 'per_1m_input_audio_tokens',
  audio_output: 'per_1m_output_audio_tokens',
}
/** Prices of what a request only costs with fields that callers may not set. */
const OF_REFUSED_FIELDS = ['web_search']
/** Decimals of a price of one token: a pico-dollar. */
const TOKEN_DECIMALS = 12

export const openrouter: UpstreamKind = {
  kind: 'openrouter',
  baseUrl: 'https://openrouter.ai/api/v1',
  secretVariable: 'OPENROUTER_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: [],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  refused: [
    { field: 'models', why: 'it lets other models answer', always: true },
    { field: 'route', why: 'it lets other models answer', always: true },
    { field: 'provider', why: 'it chooses vendors, each at prices of its own', always: true },
    { field: 'plugins', why: 'it runs tools that are billed separately', always: true },
    { field: 'web_search_options', why: 'it searches the web', always: true },
    { field: 'preset', why: 'it brings settings of the operator along', always: true },
  ],
  error(status, body) {
    const shape = readErrorShape(body)
    // 402: no credits. 403 may also be a prompt that was held back.
    const { metadata } = asObject(asObject(body).error)
    const isModerated = status === 403 && Array.isArray(asObject(metadata).reasons)
    const isMissing = /is not a valid model ID|No endpoints found/i.test(shape.message)
    const operator = [401, 402, 403, 404].includes(status) || isMissing
    if (isModerated) return { ...shape, code: 'content_policy_violation', whose: 'caller', status: 400 }
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
  // Its list of models is open to everybody.
  probe: { method: 'GET', path: '/key', protocol: 'openai', body: null, stream: false },
  listing: {
    call: { method: 'GET', path: '/models', protocol: 'openai', body: null, stream: false },
    read: readModels,
  },
}

function readModels(list: unknown): ListedModels {
  const listed: ListedModels = { models: {}, refused: {} }
  const { data } = asObject(list)
  for (const entry of Array.isArray(data) ? data : []) {
    const { id, pricing, ...about } = asObject(entry)
    if (typeof id !== 'string') continue
    const price = priceOf(asObject(pricing))
    if (typeof price === 'string') listed.refused[id] = price
    else listed.models[id] = { ...price, ...settingsOf(about) }
  }
  return listed
}

/** The price list of a model, or why it has none that this gateway could bill by. */
function priceOf(pricing: Record<string, unknown>): Pick<ListedSettings, 'free' | 'price'> | string {
  const price: Record<string, string> = {}
  for (const [name, value] of Object.entries(pricing)) {
    const one = typeof value === 'string' ? parseDecimal(value, TOKEN_DECIMALS) : undefined
    if (one === 0n || OF_REFUSED_FIELDS.includes(name)) continue
    const shown = JSON.stringify(value)
    if (name === 'internal_reasoning' && value === pricing.completion) continue
    if (name === 'discount' && value === 0) continue
    if (typeof one !== 'bigint') return `its price ${name} is ${shown}, which is no amount`
    const key = PER_TOKEN[name] ?? (name === 'request' ? 'per_request' : undefined)
    if (key === undefined) return `its price ${name} (${shown}) is of a kind that is not billed here`
    price[key] = name === 'request' ? formatDecimal(one, 12) : formatDecimal(one * 1_000_000n, 12)
  }
  if (pricing.prompt === undefined || pricing.completion === undefined) return 'it has no price of tokens'
  if (Object.keys(price).length === 0) return { free: true }
  return {
    price: { per_1m_input_tokens: '0', per_1m_output_tokens: '0', ...price },
  }
}

function settingsOf(about: Record<string, unknown>): ListedSettings {
  const { context_length: context, top_provider: top, architecture } = about
  const most = asObject(top).max_completion_tokens
  const modalities = asObject(architecture).input_modalities
  const known = (Array.isArray(modalities) ? modalities : []).filter((name) =>
    ['image', 'file', 'audio', 'video'].includes(name),
  )
  const traits = traitsOf(about)
  return {
    ...(isCount(context) && { contextTokens: context }),
    ...(isCount(most) && { maxOutputTokens: most }),
    ...(known.length > 0 && { inputModalities: known }),
    ...(traits && { traits }),
  }
}

/**
 * The traits of a model that thinks, as the list tells them: `ModelReasoning` of @openrouter/sdk 1.3.19. Fields that such a model
 * does not support have no effect.
 */
function traitsOf({
  supported_parameters: fields,
  reasoning: told,
}: Record<string, unknown>): ListedSettings['traits'] {
  if (!Array.isArray(fields) || !fields.includes('reasoning')) return undefined
  const { mandatory, default_enabled: byDefault, supported_efforts: efforts } = asObject(told)
  return {
    thinking: mandatory === true ? 'always' : 'optional',
    thinksByDefault: mandatory === true || byDefault !== false,
    // The list has the highest first.
    ...(Array.isArray(efforts) && {
      efforts: efforts.filter((effort) => typeof effort === 'string').reverse(),
    }),
    ...(!fields.includes('temperature') && {
      sampling: 'never',
      stop: fields.includes('stop'),
      penalties: fields.includes('frequency_penalty'),
      logitBias: fields.includes('logit_bias'),
      logprobs: fields.includes('logprobs'),
      maxTokens: fields.includes('max_tokens'),
    }),
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}
