// Known models by the vendor's name for them: traits and limits, each with its source and the month when it was checked. Data. A
// model of the configuration gets these where it says nothing itself. Without a source nothing must stand here.

import type { Model } from '../../contract/family'
import { plainTraits, type Traits } from '../../contract/traits'

export interface KnownModel {
  /** Names without a vendor in front. A star stands for any ending that is not another digit. */
  names: readonly string[]
  traits: Partial<Traits>
  /** Most tokens of a request and its answer together. */
  contextTokens?: number
  maxOutputTokens?: number
  /** Kinds of input that it reads besides text. */
  inputModalities?: readonly ('image' | 'file')[]
  /** Lengths of the vectors that may be requested of a model that makes them. */
  dimensions?: Model['dimensions']
  /** Most tokens of one call that makes vectors; more are split. */
  batchTokens?: number
  /** A page of the vendor, or a refusal that someone reported. */
  source: string
  /** Where the limits are from, if `source` does not have them. */
  limitsSource?: string
  /** The month when the source was checked: `2026-11`. */
  asOf: string
}

/**
 * Reasoning models of OpenAI, and models that a configuration only calls `reasoning`. Fields that the vendor refuses have no
 * effect here.
 */
export const reasoning: Partial<Traits> = {
  thinking: 'always',
  thinksByDefault: true,
  sampling: 'never',
  stop: false,
  penalties: false,
  logitBias: false,
  logprobs: false,
  speech: false,
  prediction: false,
  maxTokens: false,
}
const optional: Partial<Traits> = { thinking: 'optional', thinksByDefault: true }
const offByDefault: Partial<Traits> = { thinking: 'optional', thinksByDefault: false }

const UP_TO_HIGH = ['low', 'medium', 'high']
const UP_TO_XHIGH = [...UP_TO_HIGH, 'xhigh']
const UP_TO_MAX = [...UP_TO_XHIGH, 'max']

/** Models of messages that think as much as an effort says, and refuse sampling, budgets and a beginning of their answer. */
const adaptive: Partial<Traits> = {
  ...optional,
  thinkingForms: ['adaptive'],
  efforts: UP_TO_MAX,
  sampling: 'never',
  prefill: 'never',
}
/** Models of messages that cannot stop thinking, and refuse a forced call of a tool too. */
const alwaysAdaptive: Partial<Traits> = {
  ...adaptive,
  thinking: 'always',
  forcedToolChoice: 'never',
  logitBias: false,
  logprobs: false,
  speech: false,
}
/** Models of messages that take a number of tokens to think. What others always refuse, they refuse while they think. */
const budgeted: Partial<Traits> = {
  ...offByDefault,
  thinkingForms: ['budget'],
  efforts: [],
  sampling: 'unless_thinking',
  bothSampling: false,
  forcedToolChoice: 'unless_thinking',
  prefill: 'unless_thinking',
}
const seen = { inputModalities: ['image', 'file'] as const }
const anthropic = 'https://platform.claude.com/docs/en'
const lineup = `${anthropic}/models/sonnet-5/overview`
const million = { ...seen, contextTokens: 1_000_000, maxOutputTokens: 128_000, limitsSource: lineup }
const smaller = {
  ...seen,
  contextTokens: 200_000,
  maxOutputTokens: 64_000,
  limitsSource: `${anthropic}/models/opus-4-5/overview`,
}
/** Anthropic's own page no longer lists the limits of older models; this is a copy of its table of May 2025. */
const olderTable = 'https://docs.aihubmix.com/en/api/Claude-Native'
const older = { ...smaller, limitsSource: olderTable }

const effortPage = { source: `${anthropic}/build-with-claude/effort`, asOf: '2026-11' }
const thinkingPage = { source: `${anthropic}/build-with-claude/extended-thinking`, asOf: '2026-11' }

const claude: readonly KnownModel[] = [
  {
    names: [
      'claude-opus-5-5',
      'claude-fable-5-1',
      'claude-fable-5-2',
      'claude-mythos-5-1',
      'claude-mythos-5-2',
    ],
    traits: alwaysAdaptive,
    ...million,
    source: `${anthropic}/models/opus-5-5/whats-new-opus-5-5`,
    asOf: '2026-11',
  },
  {
    names: ['claude-sonnet-5-5'],
    traits: alwaysAdaptive,
    ...million,
    source: `${anthropic}/models/sonnet-5-5/migration-guide`,
    asOf: '2026-11',
  },
  {
    // The guide lists neither `thinking: disabled` nor a forced choice of a tool as refused.
    names: ['claude-haiku-5-5'],
    traits: { ...adaptive, offEfforts: UP_TO_HIGH },
    ...million,
    source: `${anthropic}/models/haiku-5-5/migration-guide`,
    asOf: '2026-11',
  },
  {
    names: ['claude-fable-5', 'claude-mythos-5'],
    traits: { ...alwaysAdaptive, forcedToolChoice: 'always' },
    ...million,
    source: `${anthropic}/build-with-claude/adaptive-thinking`,
    asOf: '2026-11',
  },
  {
    names: ['claude-opus-5'],
    traits: { ...adaptive, offEfforts: UP_TO_HIGH },
    ...million,
    source: `${anthropic}/models/opus-5/whats-new-opus-5`,
    asOf: '2026-11',
  },
  {
    names: ['claude-sonnet-5'],
    traits: adaptive,
    ...million,
    source: `${anthropic}/models/sonnet-5-5/migration-guide`,
    asOf: '2026-11',
  },
  {
    names: ['claude-opus-4-7', 'claude-opus-4-8'],
    traits: { ...adaptive, thinksByDefault: false },
    ...million,
    source: `${anthropic}/models/opus-5-5/migration-guide`,
    asOf: '2026-11',
  },
  {
    names: ['claude-opus-4-6', 'claude-sonnet-4-6'],
    traits: {
      ...budgeted,
      thinkingForms: ['adaptive', 'budget'],
      efforts: [...UP_TO_HIGH, 'max'],
      prefill: 'never',
    },
    ...million,
    limitsSource: `${anthropic}/models/opus-4-6/overview`,
    ...effortPage,
  },
  { names: ['claude-opus-4-5'], traits: { ...budgeted, efforts: UP_TO_HIGH }, ...smaller, ...effortPage },
  { names: ['claude-haiku-4-5', 'claude-sonnet-4-5'], traits: budgeted, ...smaller, ...effortPage },
  { names: ['claude-sonnet-4', 'claude-sonnet-4-0'], traits: budgeted, ...older, ...thinkingPage },
  {
    names: ['claude-opus-4', 'claude-opus-4-0', 'claude-opus-4-1'],
    traits: budgeted,
    ...older,
    maxOutputTokens: 32_000,
    ...thinkingPage,
  },
  { names: ['claude-3-7-sonnet', 'claude-3-7-sonnet-latest'], traits: budgeted, ...older, ...thinkingPage },
  {
    names: ['claude-3-5-*'],
    traits: {},
    contextTokens: 200_000,
    maxOutputTokens: 8_192,
    source: olderTable,
    asOf: '2026-11',
  },
  {
    names: ['claude-3-*', 'claude-2*', 'claude-instant*'],
    traits: {},
    source: `${anthropic}/about-claude/models/overview`,
    asOf: '2026-11',
  },
  // Later models: an effort has taken the place of budgets since 4.6.
  { names: ['claude-*'], traits: { ...optional, thinkingForms: ['adaptive'] }, ...effortPage },
]

/** Models of chat completions that do not reason, and say how long an answer is in no other way than the usual. */
const plain: Partial<Traits> = { efforts: [], verbosity: false }

const openai = 'https://developers.openai.com/api/docs'
const openaiPage = (name: string) => ({ source: `${openai}/models/${name}`, asOf: '2026-11' })
/**
 * Chat completions refuse function tools while the model thinks. Refusals on record: gpt-5.4 openai/openai-openapi#541
 * (2026-05-18), gpt-5.4-mini openclaw/openclaw#76727 (2026-05-03), gpt-5.5 jeffdafoe/llm-memory-api#178 (2026-04-29), gpt-5.6
 * BerriAI/litellm#34569 (2026-07-24), gpt-6-sol onyx-dot-app/onyx#15008 (2026-09-23), gpt-6-astra docker/docker-agent#4162
 * (2026-09-04). There is none for gpt-5.2 and older.
 */
const toolsOverResponses = { toolsBesideEffort: false }
const pictures = { inputModalities: ['image'] as const }
/** Microsoft's table of context windows and output limits, by model: of gpt-4o to gpt-5.5 (2026-06-11). */
const azure =
  'https://github.com/MicrosoftDocs/azure-ai-docs/blob/main/articles/foundry/openai/includes/models-azure-direct-openai.md'
const azurePage = { source: azure, asOf: '2026-11' }
const large = { ...pictures, contextTokens: 1_050_000, maxOutputTokens: 128_000, limitsSource: azure }
const medium = { ...pictures, contextTokens: 400_000, maxOutputTokens: 128_000, limitsSource: azure }
const chatSized = { ...pictures, contextTokens: 128_000, maxOutputTokens: 16_384 }
const sixes = { ...large, limitsSource: 'https://docs.litellm.ai/blog/gpt_6_sol_luna' }

const gpt: readonly KnownModel[] = [
  {
    names: ['gpt-6-astra*', 'gpt-6.1-sol*', 'gpt-6-rosalind*'],
    traits: { ...reasoning, ...toolsOverResponses, efforts: UP_TO_MAX },
    ...sixes,
    source: `${openai}/guides/deployment-checklist`,
    asOf: '2026-11',
  },
  {
    names: ['gpt-6*', 'gpt-5.6*'],
    traits: { ...reasoning, ...optional, ...toolsOverResponses, efforts: ['none', ...UP_TO_MAX] },
    ...sixes,
    source: 'https://github.com/BerriAI/litellm/pull/34569',
    asOf: '2026-11',
  },
  {
    names: ['gpt-5.5'],
    traits: { ...reasoning, ...optional, ...toolsOverResponses, efforts: ['none', ...UP_TO_XHIGH] },
    ...large,
    ...openaiPage('gpt-5.5'),
  },
  {
    names: ['gpt-5.4-mini', 'gpt-5.4-nano'],
    traits: { ...reasoning, ...offByDefault, ...toolsOverResponses, efforts: ['none', ...UP_TO_XHIGH] },
    ...medium,
    source: 'https://github.com/openclaw/openclaw/pull/76727',
    asOf: '2026-11',
  },
  {
    names: ['gpt-5.4'],
    traits: { ...reasoning, ...offByDefault, ...toolsOverResponses, efforts: ['none', ...UP_TO_XHIGH] },
    ...large,
    ...openaiPage('gpt-5.4'),
  },
  {
    // They reason; which efforts they take is not on record.
    names: ['gpt-5.1-chat*', 'gpt-5.2-chat*', 'gpt-5.3-chat*'],
    traits: reasoning,
    ...chatSized,
    ...azurePage,
  },
  {
    names: ['gpt-5.1-codex-max'],
    traits: { ...reasoning, efforts: UP_TO_XHIGH },
    ...medium,
    ...azurePage,
  },
  {
    names: ['gpt-5-pro'],
    traits: { ...reasoning, efforts: ['high'] },
    ...medium,
    source:
      'https://github.com/MicrosoftDocs/azure-ai-docs/blob/main/articles/foundry/openai/how-to/reasoning.md',
    asOf: '2026-11',
  },
  {
    names: ['gpt-5.2', 'gpt-5.3'],
    traits: { ...reasoning, ...offByDefault, ...toolsOverResponses, efforts: ['none', ...UP_TO_XHIGH] },
    ...medium,
    ...openaiPage('gpt-5.2'),
  },
  {
    names: ['gpt-5.1'],
    traits: { ...reasoning, ...offByDefault, efforts: ['none', ...UP_TO_HIGH] },
    ...medium,
    ...openaiPage('gpt-5.1'),
  },
  {
    names: ['gpt-5-chat*'],
    traits: {},
    ...chatSized,
    ...azurePage,
  },
  {
    names: ['gpt-5'],
    traits: { ...reasoning, efforts: ['minimal', ...UP_TO_HIGH] },
    ...medium,
    ...openaiPage('gpt-5'),
  },
  {
    names: ['o1', 'o3', 'o4-mini'],
    traits: { ...reasoning, efforts: UP_TO_HIGH, parallelCalls: false },
    contextTokens: 200_000,
    maxOutputTokens: 100_000,
    limitsSource: azure,
    source: 'https://github.com/langchain-ai/langgraph-supervisor-py/pull/125',
    asOf: '2026-11',
  },
  {
    names: ['gpt-4o', 'gpt-4o-mini'],
    traits: plain,
    contextTokens: 128_000,
    maxOutputTokens: 16_384,
    limitsSource: azure,
    source: 'https://github.com/davidmigloz/langchain_dart/issues/712',
    asOf: '2026-11',
  },
  {
    names: ['gpt-4.1'],
    traits: plain,
    ...pictures,
    contextTokens: 1_047_576,
    maxOutputTokens: 32_768,
    limitsSource: azure,
    ...openaiPage('gpt-4.1'),
  },
]

const kimiPage = { source: 'https://java.agentscope.io/v2/en/integration/model/kimi', asOf: '2026-11' }
const grok: Partial<Traits> = { thinking: 'always', thinksByDefault: true, penalties: false, stop: false }
/**
 * The efforts of Google's page, by which `minimal` is a level or a budget. In January 2026 its endpoint refused `minimal` for
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

const others: readonly KnownModel[] = [
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
    // Whether they think by default is not settled: a forced choice of a tool is sent with thinking turned off.
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
      forcedToolChoice: 'unnamed',
    },
    contextTokens: 1_048_576,
    ...kimiPage,
  },
  {
    names: ['kimi-k2.7-code*'],
    traits: {
      thinking: 'always',
      thinksByDefault: true,
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
    names: ['glm-4.7', 'glm-5', 'glm-5.1', 'glm-5.2'],
    traits: { ...optional, thinkingForms: ['switch'] },
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
    names: ['gemini-2.5-flash*'],
    traits: { ...optional, efforts: ['none', ...geminiEfforts] },
    ...gemini,
  },
  {
    // `none` is refused: HKUDS/DeepTutor#734 (2026-07-31), with the sentence of Google's page that thinking cannot be turned off.
    names: ['gemini-2.5-pro', 'gemini-3*'],
    traits: { thinking: 'always', thinksByDefault: true, efforts: geminiEfforts },
    ...gemini,
  },
]

const openaiVectors = {
  traits: {},
  batchTokens: 300_000,
  source: 'https://github.com/openai/openai-node/blob/master/src/resources/embeddings.ts',
  asOf: '2026-11',
}
const voyageVectors = { traits: {}, source: 'https://docs.voyageai.com/docs/embeddings', asOf: '2026-11' }
const VOYAGE_LENGTHS = [256, 512, 1024, 2048]

/** Models that make vectors. Of a Voyage model without a row, the family takes the least limit of a call. */
const embedders: readonly KnownModel[] = [
  { names: ['text-embedding-3-small'], dimensions: { min: 1, max: 1536 }, ...openaiVectors },
  { names: ['text-embedding-3-large'], dimensions: { min: 1, max: 3072 }, ...openaiVectors },
  { names: ['text-embedding-ada-002'], ...openaiVectors },
  {
    names: ['voyage-4-large', 'voyage-3-large', 'voyage-code-3'],
    dimensions: VOYAGE_LENGTHS,
    batchTokens: 120_000,
    ...voyageVectors,
  },
  {
    names: ['voyage-4-lite', 'voyage-3.5-lite'],
    dimensions: VOYAGE_LENGTHS,
    batchTokens: 1_000_000,
    ...voyageVectors,
  },
  {
    names: ['voyage-4', 'voyage-3.5'],
    dimensions: VOYAGE_LENGTHS,
    batchTokens: 320_000,
    ...voyageVectors,
  },
  { names: ['voyage-2'], batchTokens: 320_000, ...voyageVectors },
]

export const knownModels: readonly KnownModel[] = [...claude, ...gpt, ...others, ...embedders]

const rows = knownModels.map((row) => ({
  row,
  pattern: new RegExp(`^(?:${row.names.map(patternOf).join('|')})$`),
}))

/**
 * A name as an expression. Some vendors write versions with dots, others with hyphens; dates and variants may follow, but not
 * another number of the version.
 */
function patternOf(name: string): string {
  const isOpen = name.endsWith('*')
  const text = (isOpen ? name.slice(0, -1) : name).replaceAll(/[.-](?=\d)/g, '[.-]')
  return isOpen ? `${text}(?!\\d).*` : `${text}(?:[@:].*|-(?!\\d{1,2}(?!\\d)).*)?`
}

/** The vendor and the place in front of a name: `anthropic/`, `us.anthropic.`, `publishers/anthropic/models/`. */
const BEFORE_NAME = /^.*\/|^(?:[a-z]{2,6}(?:-gov)?\.)?[a-z]+\.(?=[a-z])/g

/** The row of a model by the vendor's name for it; undefined if it is not known. */
export function knownModel(upstreamModel: string): KnownModel | undefined {
  const lower = upstreamModel.toLowerCase()
  const name = lower.replace(BEFORE_NAME, '').replace(BEFORE_NAME, '')
  return rows.find(({ pattern }) => pattern.test(name))?.row
}

/** The traits of a model: what its entry says, then what is known by its name, or else what `reasoning` stands for. */
export function traitsOf(
  entry: { traits?: Partial<Traits>; reasoning?: boolean },
  known: KnownModel | undefined,
): Traits {
  return { ...plainTraits, ...(known?.traits ?? (entry.reasoning && reasoning)), ...entry.traits }
}
