// Known models of other vendors: traits and limits, each with its source and the month of the check. Data. Nothing may be listed
// without a source.

import type { Traits } from '../../../contract/traits'
import { type KnownModel, optional, UP_TO_HIGH, UP_TO_MAX, UP_TO_XHIGH } from './row'

const kimiPage = { source: 'https://java.agentscope.io/v2/en/integration/model/kimi', asOf: '2026-11' }
const grok: Partial<Traits> = { thinking: 'always', thinksByDefault: true, penalties: false, stop: false }
/**
 * The efforts of Google's page, which maps `minimal` to a level or a budget. In January 2026 its endpoint refused `minimal` for
 * Gemini 3 Flash, and `none` was accepted (discuss.ai.google.dev/t/117875).
 */
const geminiEfforts = ['minimal', ...UP_TO_HIGH]
const gemini = {
  contextTokens: 1_048_576,
  maxOutputTokens: 65_536,
  source: 'https://ai.google.dev/gemini-api/docs/openai',
  limitsSource: 'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/3-flash',
  asOf: '2026-11',
}

export const modelsOfOthers: readonly KnownModel[] = [
  {
    names: ['deepseek-v4*', 'deepseek-flash'],
    traits: {
      ...optional,
      thinkingForms: ['switch'],
      efforts: ['minimal', ...UP_TO_MAX],
      schemas: false,
      forcedToolChoice: 'unless_thinking',
    },
    contextTokens: 1_000_000,
    maxOutputTokens: 393_216,
    source: 'https://github.com/deepseek-ai/DeepSeek-V3/issues/1376',
    asOf: '2026-11',
  },
  {
    // It is unknown whether they think by default: a forced tool choice is sent with thinking turned off.
    names: ['qwen3.5*', 'qwen3.6*', 'qwen3.7*', 'qwen3.8*'],
    traits: { ...optional, thinkingForms: ['enable_thinking'], forcedToolChoice: 'unless_thinking' },
    source: 'https://github.com/agentscope-ai/agentscope/issues/1608',
    asOf: '2026-11',
  },
  {
    names: ['kimi-k3*'],
    traits: {
      thinking: 'always',
      thinksByDefault: true,
      efforts: ['low', 'high', 'max'],
      sampling: 'never',
      penalties: false,
      forcedToolChoice: 'any_tool',
    },
    contextTokens: 1_048_576,
    ...kimiPage,
  },
  {
    names: ['kimi-k2.7-code*'],
    traits: {
      thinking: 'always',
      thinksByDefault: true,
      thinkingForms: ['switch'],
      sampling: 'never',
      penalties: false,
      forcedToolChoice: 'never',
    },
    contextTokens: 262_144,
    ...kimiPage,
  },
  {
    names: ['kimi-k2.5', 'kimi-k2.6'],
    traits: {
      ...optional,
      thinkingForms: ['switch'],
      sampling: 'never',
      penalties: false,
      forcedToolChoice: 'unless_thinking',
    },
    contextTokens: 262_144,
    ...kimiPage,
  },
  {
    names: ['glm-5.3*'],
    traits: {
      thinking: 'always',
      thinksByDefault: true,
      efforts: ['low', 'high', 'max'],
      forcedToolChoice: 'never',
    },
    contextTokens: 1_048_576,
    maxOutputTokens: 131_072,
    source:
      'https://dev.to/aihubmix/glm-53-api-guide-always-on-thinking-3-effort-levels-and-the-support-matrix-1d8e',
    asOf: '2026-11',
  },
  {
    // Z.ai refuses every tool choice except `auto`: vectorize-io/hindsight#4246 (2026-09-09).
    names: ['glm-4.7', 'glm-5', 'glm-5.1', 'glm-5.2'],
    traits: { ...optional, thinkingForms: ['switch'], forcedToolChoice: 'never' },
    source: 'https://java.agentscope.io/v2/en/integration/model/glm',
    asOf: '2026-11',
  },
  {
    names: ['grok-4.3'],
    traits: { ...optional, efforts: ['none', ...UP_TO_HIGH], penalties: false, stop: false },
    contextTokens: 1_000_000,
    source: 'https://docs.x.ai/developers/model-capabilities/text/reasoning',
    asOf: '2026-11',
  },
  {
    names: ['grok-4.5'],
    traits: { ...grok, efforts: UP_TO_HIGH },
    contextTokens: 500_000,
    source: 'https://docs.x.ai/developers/model-capabilities/text/reasoning',
    asOf: '2026-11',
  },
  {
    // "`xhigh` … only supported by some models, e.g. `grok-4.6`": chat.py of xai-sdk 1.21.
    names: ['grok-4.6', 'grok-4.7'],
    traits: { ...grok, efforts: UP_TO_XHIGH },
    contextTokens: 500_000,
    source: 'https://pypi.org/project/xai-sdk/1.21.0/',
    limitsSource: 'https://docs.x.ai/developers/model-capabilities/text/reasoning',
    asOf: '2026-11',
  },
  {
    names: ['grok-3-mini*'],
    traits: grok,
    source: 'https://github.com/yym68686/uni-api/issues/105',
    asOf: '2026-11',
  },
  {
    names: [
      'grok-4.20-non-reasoning*',
      'grok-4.20-0309-non-reasoning',
      'grok-4.20-beta-non-reasoning',
      'grok-4.20-beta-0309-non-reasoning',
      'grok-4.20-beta-latest-non-reasoning',
      'grok-4.20-experimental-beta-0304-non-reasoning',
      'grok-4.20-experimental-beta-non-reasoning-latest',
    ],
    traits: { efforts: [] },
    source: 'https://github.com/neavo/LinguaGacha/issues/771',
    asOf: '2026-11',
  },
  {
    names: ['grok-4', 'grok-4-latest', 'grok-4-fast-reasoning*', 'grok-4.20*'],
    traits: { ...grok, efforts: [] },
    source: 'https://github.com/BerriAI/litellm/issues/12635',
    asOf: '2026-11',
  },
  {
    // "Penalty is not enabled for models/gemini-2.5-flash" (vercel/ai#8943, 2025-09-26), and of every model since
    // (google-gemini/cookbook#1290, 2026-07-17).
    names: ['gemini-2.5-flash*'],
    traits: { ...optional, penalties: false, efforts: ['none', ...geminiEfforts] },
    ...gemini,
  },
  {
    // `none` is refused: HKUDS/DeepTutor#734 (2026-07-31), with the sentence of Google's page that thinking cannot be turned off.
    // The newest names are aliases of Gemini 3 models: livekit/agents#6011 (2026-06-08).
    names: [
      'gemini-2.5-pro',
      'gemini-3*',
      'gemini-pro-latest',
      'gemini-flash-latest',
      'gemini-flash-lite-latest',
    ],
    traits: { thinking: 'always', thinksByDefault: true, penalties: false, efforts: geminiEfforts },
    ...gemini,
  },
]
