// Known OpenAI models: traits and limits, each with its source and the month of the check. Data. Nothing may be listed without a
// source.

import type { Traits } from '../../../contract/traits'
import { type KnownModel, offByDefault, optional, reasoning, UP_TO_HIGH, UP_TO_MAX, UP_TO_XHIGH } from './row'

/** Models of chat completions that do not reason, and use the standard field for the limit of output. */
const plain: Partial<Traits> = { efforts: [], verbosity: false }

const openai = 'https://developers.openai.com/api/docs'
const openaiPage = (name: string) => ({ source: `${openai}/models/${name}`, asOf: '2026-11' })
/**
 * Chat completions refuse function tools while the model thinks. Refusals on record: gpt-5.2 livekit/agents#5088 (2026-03-11, by a
 * client's report, as is livekit/agents#7169 of 2026-09-08), gpt-5.4 openai/openai-openapi#541
 * (2026-05-18), gpt-5.4-mini openclaw/openclaw#76727 (2026-05-03), gpt-5.5 jeffdafoe/llm-memory-api#178 (2026-04-29), gpt-5.6
 * BerriAI/litellm#34569 (2026-07-24), gpt-6-sol onyx-dot-app/onyx#15008 (2026-09-23), gpt-6-astra docker/docker-agent#4162
 * (2026-09-04). There is no such report for gpt-5.1 and older.
 */
const toolsOverResponses = { toolsBesideEffort: false }
const pictures = { inputModalities: ['image'] as const }
/** Microsoft's table of context windows and output limits by model: gpt-4o to gpt-5.5 (2026-06-11). */
const azure =
  'https://github.com/MicrosoftDocs/azure-ai-docs/blob/main/articles/foundry/openai/includes/models-azure-direct-openai.md'
const azurePage = { source: azure, asOf: '2026-11' }
const large = { ...pictures, contextTokens: 1_050_000, maxOutputTokens: 128_000, limitsSource: azure }
const medium = { ...pictures, contextTokens: 400_000, maxOutputTokens: 128_000, limitsSource: azure }
const chatSized = { ...pictures, contextTokens: 128_000, maxOutputTokens: 16_384 }
const sixes = { ...large, limitsSource: 'https://docs.litellm.ai/blog/gpt_6_sol_luna' }

export const openaiModels: readonly KnownModel[] = [
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
    // Any verbosity other than `medium` is refused: openai/codex#9035 (2026-01-10).
    names: ['gpt-5.1-codex-max'],
    traits: { ...reasoning, efforts: UP_TO_XHIGH, verbosity: false },
    ...medium,
    ...azurePage,
  },
  {
    // openai-agents sets its effort to `low` by default, and to `none` for models that support it.
    names: ['gpt-5.2-codex'],
    traits: { ...reasoning, ...toolsOverResponses, efforts: UP_TO_XHIGH },
    ...medium,
    source: 'https://pypi.org/project/openai-agents/0.24.0/',
    limitsSource: azure,
    asOf: '2026-11',
  },
  {
    // For the second: CherryHQ/cherry-studio#10430 (2025-09-28).
    names: ['gpt-5.1-codex', 'gpt-5-codex'],
    traits: { ...reasoning, efforts: UP_TO_HIGH },
    ...medium,
    source: 'https://github.com/openai/codex/issues/6647',
    asOf: '2026-11',
  },
  {
    // litellm 1.110.2 lists no `none` for it; the other efforts are those of the pages.
    names: ['gpt-5.2-pro', 'gpt-5.4-pro', 'gpt-5.5-pro'],
    traits: { ...reasoning, ...toolsOverResponses, efforts: ['medium', 'high', 'xhigh'] },
    ...large,
    ...openaiPage('gpt-5.2-pro'),
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
    names: ['gpt-5.1-chat*', 'gpt-5.2-chat*', 'gpt-5.3-chat*'],
    traits: { ...reasoning, efforts: ['medium'] },
    ...chatSized,
    source: 'https://github.com/Laisky/one-api/issues/266',
    limitsSource: azure,
    asOf: '2026-11',
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
    // It refuses every effort, and any verbosity other than `medium`: anomalyco/opencode#1984 (2025-08-16).
    names: ['gpt-5-chat*'],
    traits: plain,
    ...chatSized,
    source: 'https://github.com/Laisky/one-api/issues/120',
    limitsSource: azure,
    asOf: '2026-11',
  },
  {
    names: ['gpt-5'],
    traits: { ...reasoning, efforts: ['minimal', ...UP_TO_HIGH] },
    // Footnote 1 of azure-ai-docs/articles/foundry/openai/how-to/reasoning.md (2026-02-24): only single calls with `minimal`. It does not
    // say whether the field is refused. Without it the answer is the same, and cannot be refused.
    at: { azure: { parallelCalls: 'unless_minimal' } },
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
