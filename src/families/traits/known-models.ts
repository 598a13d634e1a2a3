// Known models by the vendor's name for them: traits and limits, each with its source and the date when it was
// checked. Data. A model of the configuration gets these where it says nothing itself. Without a source nothing stands here.

import { plainTraits, type Traits } from '../../contract/traits'

export interface KnownModel {
  /** Names without a vendor in front: `gpt-6*`. The first row that matches a name is taken. */
  names: readonly string[]
  traits: Partial<Traits>
  /** Most tokens that a request and its answer have together. */
  contextTokens?: number
  maxOutputTokens?: number
  source: string
  /** The month when it was checked: `2026-11`. */
  asOf: string
}

/**
 * Reasoning models of OpenAI, and models that a configuration only calls `reasoning`. Fields that the vendor refuses have no
 * effect here.
 */
export const reasoningTraits: Partial<Traits> = {
  thinking: 'always',
  sampling: 'never',
  stop: false,
  penalties: false,
  logitBias: false,
  logprobs: false,
  speech: false,
  prediction: false,
  maxTokens: false,
}

export const knownModels: readonly KnownModel[] = [
  {
    names: ['gpt-6*', 'gpt-5.6*'],
    traits: { ...reasoningTraits, toolsBesideEffort: false },
    contextTokens: 1_050_000,
    maxOutputTokens: 128_000,
    source: 'https://github.com/BerriAI/litellm/issues/34569',
    asOf: '2026-11',
  },
]

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

/** The traits of a model: what its entry says, then what is known by its name, then what `reasoning` stands for. */
export function traitsOf(
  entry: { traits?: Partial<Traits>; reasoning?: boolean },
  known: KnownModel | undefined,
): Traits {
  return { ...plainTraits, ...(entry.reasoning && reasoningTraits), ...known?.traits, ...entry.traits }
}
