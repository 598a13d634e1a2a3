// Known Anthropic models: traits and limits, each with its source and the month of the check. Data. Nothing may be listed without a
// source.

import type { Traits } from '../../../contract/traits'
import { type KnownModel, offByDefault, optional, UP_TO_HIGH, UP_TO_MAX } from './row'

/** Models whose thinking is set by an effort, and that refuse sampling, budgets and a prefilled answer. */
const adaptive: Partial<Traits> = {
  ...optional,
  thinkingForms: ['adaptive'],
  efforts: UP_TO_MAX,
  sampling: 'never',
  prefill: 'never',
}
/** Models that cannot turn thinking off, and also refuse a forced call of a tool. */
const alwaysAdaptive: Partial<Traits> = {
  ...adaptive,
  thinking: 'always',
  forcedToolChoice: 'never',
  logitBias: false,
  logprobs: false,
  speech: false,
}
/** Models whose thinking is set by a number of tokens. Settings that other models always refuse are refused by these while they think. */
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
/** Anthropic's own page no longer lists the limits of older models; these are from its table of May 2025. */
const olderTable = 'https://docs.aihubmix.com/en/api/Claude-Native'
const older = { ...smaller, limitsSource: olderTable }

/**
 * Amazon Bedrock checks requests by its own schema, which lacks two fields for its newest models: a JSON schema for the answer, and
 * `strict` of a tool (test/vendors/bedrock). For Opus 5 and Fable 5 the reports disagree: both fields are refused in us-east-1
 * (vercel/ai#17919, 2026-07-24), and `strict` is accepted in other accounts (BerriAI/litellm#33193, lobehub/lobehub#19876). The AI
 * SDK (5.0.101, 2026-09-29) sends neither to any of these models, and LiteLLM (1.110.2, 2026-11-24) sends only schemas. Neither is
 * sent here, which works in every account: a call without `strict` is answered, and a response header names the field; a request
 * for an answer by a schema is refused before it is sent, free of charge, with advice on what to do instead. An account that
 * accepts them needs a setting: `traits: { schemas: true }`. Haiku 4.5 refuses schemas in some accounts only (vercel/ai#20128,
 * 2026-09-01): there, set `schemas: false`.
 */
const olderAtBedrock = { at: { bedrock: { schemas: false, strictTools: false } } }
/**
 * Models that support answers by a schema there, but refuse `strict`: BerriAI/litellm#32455 (2026-07-08), and the list of litellm
 * 1.110.2.
 */
const looseAtBedrock = { at: { bedrock: { strictTools: false } } }

const effortPage = { source: `${anthropic}/build-with-claude/effort`, asOf: '2026-11' }
const thinkingPage = { source: `${anthropic}/build-with-claude/extended-thinking`, asOf: '2026-11' }

export const anthropicModels: readonly KnownModel[] = [
  {
    names: [
      'claude-opus-5-5',
      'claude-fable-5-1',
      'claude-fable-5-2',
      'claude-mythos-5-1',
      'claude-mythos-5-2',
    ],
    traits: alwaysAdaptive,
    ...olderAtBedrock,
    ...million,
    source: `${anthropic}/models/opus-5-5/whats-new-opus-5-5`,
    asOf: '2026-11',
  },
  {
    names: ['claude-sonnet-5-5'],
    traits: alwaysAdaptive,
    ...olderAtBedrock,
    ...million,
    source: `${anthropic}/models/sonnet-5-5/migration-guide`,
    asOf: '2026-11',
  },
  {
    // The guide lists neither `thinking: disabled` nor a forced choice of a tool as refused.
    names: ['claude-haiku-5-5'],
    traits: { ...adaptive, offEfforts: UP_TO_HIGH },
    ...looseAtBedrock,
    ...million,
    source: `${anthropic}/models/haiku-5-5/migration-guide`,
    asOf: '2026-11',
  },
  {
    // The last is in the list of litellm 1.110.2.
    names: ['claude-fable-5', 'claude-mythos-5', 'claude-mythos-preview'],
    traits: { ...alwaysAdaptive, forcedToolChoice: 'always' },
    ...olderAtBedrock,
    ...million,
    source: `${anthropic}/build-with-claude/adaptive-thinking`,
    asOf: '2026-11',
  },
  {
    names: ['claude-opus-5'],
    traits: { ...adaptive, offEfforts: UP_TO_HIGH },
    ...olderAtBedrock,
    ...million,
    source: `${anthropic}/models/opus-5/whats-new-opus-5`,
    asOf: '2026-11',
  },
  {
    names: ['claude-sonnet-5'],
    traits: adaptive,
    ...olderAtBedrock,
    ...million,
    source: `${anthropic}/models/sonnet-5-5/migration-guide`,
    asOf: '2026-11',
  },
  {
    names: ['claude-opus-4-7', 'claude-opus-4-8'],
    traits: { ...adaptive, thinksByDefault: false },
    ...olderAtBedrock,
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
  {
    names: ['claude-sonnet-4', 'claude-sonnet-4-0'],
    traits: budgeted,
    ...looseAtBedrock,
    ...older,
    ...thinkingPage,
  },
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
  // Later models: fields that all models since 4.7 refuse are not sent to them either, and their limits are the lowest of the
  // models since 4.5.
  {
    names: ['claude-*'],
    traits: { ...optional, thinkingForms: ['adaptive'], sampling: 'never', prefill: 'never' },
    ...smaller,
    source: `${anthropic}/models/opus-5/whats-new-opus-5`,
    asOf: '2026-11',
  },
]
