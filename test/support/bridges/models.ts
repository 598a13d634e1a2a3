// The models for comparing translations: those of vendors whose rules differ, by the family that serves them in a dialect. They
// must never state the rules of a model: the table of known models does.

import { outside } from '../../../src/app/world'
import { buildCatalogue } from '../../../src/catalogue/models'
import type { ModelConfig } from '../../../src/config/schema'
import type { MadeFamily, Model } from '../../../src/contract/family'

type Price = ModelConfig['price']

const price: Price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const cached: Price = {
  ...price,
  per_1m_cached_input_tokens: '0.10',
  per_1m_cache_write_tokens: '1.25',
  per_1m_cache_write_1h_tokens: '2.00',
}
const tiers: Price = { ...price, service_tiers: { flex: '0.5', priority: '2' } }
const withSound: Price = { ...cached, per_1m_input_audio_tokens: '6' }
/** A model that states its kinds of input and its limits. */
const limits = { contextTokens: 200_000, maxOutputTokens: 64_000, inputModalities: ['image' as const] }

const upstreams: Record<string, string> = {
  openai: 'openai',
  anthropic: 'anthropic',
  bedrock: 'bedrock',
  vertex: 'vertex',
  google: 'google',
  groq: 'groq',
  mistral: 'mistral',
  xai: 'xai',
  deepseek: 'deepseek',
  moonshot: 'moonshot',
  zai: 'zai',
  dashscope: 'dashscope',
  openrouter: 'openrouter',
  own: 'openai',
  'own-messages': 'anthropic',
}
/** Upstreams of a single customer, which may read files on their own machine. */
const ofOne = { sharedAccount: false, allowPrivateAddresses: true }

type Row = readonly [upstream: string, upstreamModel: string, more?: Partial<ModelConfig>]

/** Models by the family of their vendor's own protocol. */
const rows: Readonly<Record<string, readonly Row[]>> = {
  'openai-chat': [
    ['openai', 'local-model'],
    ['openai', 'gpt-4.1-mini', { price: cached, ...limits }],
    ['openai', 'gpt-4o-audio-preview', { price: withSound, inputModalities: ['audio', 'image', 'file'] }],
    ['openai', 'gpt-5-mini', { price: tiers }],
    ['openai', 'gpt-5.4'],
    ['openai', 'llama-free', { free: true, strictFields: true }],
    ['openai', 'qwen-thinker', { reasoning: true, maxOutputTokens: 900 }],
    ['google', 'gemini-3-flash-preview'],
    ['vertex', 'google/gemini-3-flash-preview'],
    ['google', 'gemini-2.5-flash', { price: cached }],
    ['openrouter', 'google/gemini-3-pro-preview'],
    ['openrouter', 'anthropic/claude-sonnet-4.5'],
    ['openrouter', 'deepseek/deepseek-v4-flash'],
    ['deepseek', 'deepseek-v4-flash', { price: cached }],
    ['moonshot', 'kimi-k2.6'],
    ['moonshot', 'kimi-k3'],
    ['zai', 'glm-5.3-flash'],
    ['zai', 'glm-4.7'],
    ['dashscope', 'qwen3.7-plus'],
    ['dashscope', 'qwen-long'],
    ['own', 'local-model'],
    ['groq', 'openai/gpt-oss-120b'],
    ['mistral', 'mistral-large-latest', limits],
    ['xai', 'grok-4.3'],
    ['xai', 'grok-4-latest'],
  ],
  'anthropic-messages': [
    ['anthropic', 'claude-sonnet-4-5', { price: cached, ...limits }],
    ['anthropic', 'claude-haiku-4-5'],
    ['anthropic', 'claude-opus-4-6', { maxOutputTokens: 4_096, price: cached }],
    ['anthropic', 'claude-opus-4-8'],
    ['anthropic', 'claude-opus-5', { price: cached }],
    ['anthropic', 'claude-3-5-haiku-latest'],
    ['anthropic', 'kimi-k2.6'],
    ['anthropic', 'glm-4.7', { price: cached }],
    ['anthropic', 'local-model', { reserveOutputTokens: 700 }],
    ['own-messages', 'qwen-long'],
    ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['vertex', 'claude-opus-4-7'],
  ],
  'openai-responses': [
    ['openai', 'local-model'],
    ['openai', 'gpt-4o', { price: cached, ...limits }],
    ['openai', 'gpt-5-mini', { price: tiers }],
    ['openai', 'gpt-5.4'],
    ['openai', 'gpt-6-luna', { price: cached }],
    ['openai', 'gpt-6-astra'],
    ['openai', 'o3', { maxOutputTokens: 900 }],
    ['xai', 'grok-4.5'],
    ['own', 'qwen-long'],
  ],
  'gemini-contents': [
    ['google', 'gemini-3-flash-preview', { price: cached }],
    ['google', 'gemini-2.5-flash', { price: tiers }],
    ['vertex', 'google/gemini-2.5-flash', { price: tiers }],
    ['google', 'gemma-local'],
  ],
  'bedrock-converse': [
    ['bedrock', 'us.amazon.nova-lite-v1:0'],
    ['bedrock', 'us.amazon.nova-pro-v1:0', { price: cached, ...limits }],
    ['bedrock', 'us.anthropic.claude-opus-5-5', { price: cached }],
    ['bedrock', 'us.anthropic.claude-haiku-4-5-20251001-v1:0', { price: cached, maxOutputTokens: 8_192 }],
    ['bedrock', 'global.anthropic.claude-opus-4-6-v1'],
    ['bedrock', 'meta.llama4-maverick-17b-instruct-v1:0'],
    ['bedrock', 'mistral.mistral-large-2407-v1:0', { reserveOutputTokens: 700 }],
    ['bedrock', 'deepseek.v3-v1:0', { reasoning: true }],
  ],
}

/** The models that a family serves, each with that family instead of the vendor's own. */
export function modelsOfFamily(family: MadeFamily): readonly Model[] {
  const native = family.over ?? family.name
  const listed = rows[native]
  if (!listed) throw new Error(`there are no models of ${native}`)
  const entries = listed.map(([upstream, upstreamModel, more]): [string, ModelConfig] => [
    `${upstream}/${upstreamModel}`,
    { family: native, upstream, upstreamModel, ...(!more?.free && { price }), ...more } as ModelConfig,
  ])
  const settings = Object.entries(upstreams).map(([name, kind]) => [
    name,
    { kind, apiKey: 'none', region: 'us-east-1', project: 'project', ...(name.startsWith('own') && ofOne) },
  ])
  const { models } = buildCatalogue(
    { upstreams: Object.fromEntries(settings), models: Object.fromEntries(entries) },
    outside,
  )
  return entries.map(([id]) => {
    const model = models.get(id)?.[0]
    if (!model) throw new Error(`${id} is not in the catalogue`)
    return withFamily(model, family)
  })
}

/** A model as another family serves it. */
export function withFamily(model: Model, family: MadeFamily): Model {
  const { priceList, costList, tariff } = model
  return { ...model, priceList, costList, tariff, family: family as Model['family'] }
}
