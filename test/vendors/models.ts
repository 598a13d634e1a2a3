// The models that the sweep sends requests to: those of the built-in catalogue, and models that an operator configured
// with only a vendor and a price. This file must never say what a model accepts.

import config from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'

const families = ['openai-chat', 'openai-responses', 'anthropic-messages', 'bedrock-converse']
const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }

const catalogue = Object.entries(config.models as Record<string, ModelConfig>).filter(
  ([, { family }]) => family !== undefined && [family].flat().some((name) => families.includes(name)),
)

/** Vendors' model names by upstream, with the families that an operator configures for them. */
const named: [upstream: string, family: string | string[], names: string[]][] = [
  ['openai', 'openai-chat', ['gpt-5.6-luna', 'gpt-5.2', 'gpt-5.1', 'gpt-4o']],
  ['openai', 'openai-chat', ['gpt-5.5', 'gpt-5.1-chat-latest', 'gpt-5-chat-latest', 'o3']],
  [
    'openai',
    'openai-responses',
    ['gpt-5-pro', 'gpt-5.5-pro', 'gpt-5.1-codex', 'gpt-5.1-codex-max', 'gpt-5.2-codex'],
  ],
  ['openai', ['openai-chat', 'openai-responses'], ['gpt-6-astra', 'gpt-6-sol', 'gpt-5.4']],
  ['azure', 'openai-chat', ['gpt-5-mini']],
  ['anthropic', 'anthropic-messages', ['claude-opus-5', 'claude-opus-4-8', 'claude-sonnet-4-6']],
  [
    'anthropic',
    'anthropic-messages',
    [
      'claude-fable-5',
      'claude-opus-4-5',
      'claude-opus-4-1',
      'claude-sonnet-4-0',
      'claude-3-7-sonnet-latest',
      'claude-mythos-preview',
      'claude-opus-6',
    ],
  ],
  [
    'bedrock',
    'anthropic-messages',
    [
      'us.anthropic.claude-opus-5',
      'us.anthropic.claude-sonnet-5',
      'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    ],
  ],
  [
    'bedrock',
    'bedrock-converse',
    [
      'us.anthropic.claude-opus-5-5',
      'us.anthropic.claude-haiku-5-5',
      'us.anthropic.claude-sonnet-4-20250514-v1:0',
      'us.anthropic.claude-opus-4-8',
      'global.anthropic.claude-opus-4-6-v1',
      'eu.anthropic.claude-haiku-4-5-20251001-v1:0',
    ],
  ],
  ['vertex', 'anthropic-messages', ['claude-opus-4-7', 'claude-haiku-4-5@20251001']],
  ['google', 'openai-chat', ['gemini-3-flash-preview', 'gemini-2.5-pro', 'gemini-2.5-flash']],
  ['groq', 'openai-chat', ['llama-3.3-70b-versatile', 'openai/gpt-oss-120b']],
  ['mistral', 'openai-chat', ['mistral-large-latest']],
  [
    'xai',
    'openai-chat',
    ['grok-4-0709', 'grok-4.5', 'grok-4.6', 'grok-3-mini', 'grok-4.20-0309-non-reasoning'],
  ],
  ['deepseek', 'openai-chat', ['deepseek-v4-flash']],
  ['moonshot', 'openai-chat', ['kimi-k2.6', 'kimi-k2.7-code', 'kimi-k3']],
  ['zai', 'openai-chat', ['glm-5.3-flash', 'glm-4.7']],
]
const ofOperators = named.flatMap(([upstream, family, names]) =>
  names.map((upstreamModel): [string, ModelConfig] => [
    `${upstream}/${upstreamModel.replace(/@.*$/, '')}`,
    { family, upstream, upstreamModel, price } as ModelConfig,
  ]),
)

export const sweptModels: Readonly<Record<string, ModelConfig>> = Object.fromEntries([
  ...catalogue,
  ...ofOperators,
])
