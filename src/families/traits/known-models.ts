// Finds the known facts about a model by the vendor's name for it. A configured model gets these traits and limits unless its entry
// sets them.

import { plainTraits, type Traits } from '../../contract/traits'
import { anthropicModels } from './known-models/anthropic'
import { embeddingModels } from './known-models/embeddings'
import { openaiModels } from './known-models/openai'
import { modelsOfOthers } from './known-models/others'
import { type KnownModel, reasoning } from './known-models/row'

export const knownModels: readonly KnownModel[] = [
  ...anthropicModels,
  ...openaiModels,
  ...modelsOfOthers,
  ...embeddingModels,
]

const rows = knownModels.map((row) => ({
  row,
  pattern: new RegExp(`^(?:${row.names.map(patternOf).join('|')})$`),
}))

/**
 * A name as a regular expression. Some vendors write versions with dots, others with hyphens; dates and variants may follow, but no
 * further part of a version.
 */
function patternOf(name: string): string {
  const isOpen = name.endsWith('*')
  const text = (isOpen ? name.slice(0, -1) : name).replaceAll(/[.-](?=\d)/g, '[.-]')
  return isOpen ? `${text}(?!\\d).*` : `${text}(?:[@:].*|-(?!\\d{1,2}(?!\\d)).*)?`
}

/** The prefix of a name, with the vendor and the location: `anthropic/`, `us.anthropic.`, `publishers/anthropic/models/`. */
const BEFORE_NAME = /^.*\/|^(?:[a-z]{2,6}(?:-gov)?\.)?[a-z]+\.(?=[a-z])/g

/** The row of a model by the vendor's name for it; undefined if unknown. */
export function knownModel(upstreamModel: string): KnownModel | undefined {
  const lower = upstreamModel.toLowerCase()
  const name = lower.replace(BEFORE_NAME, '').replace(BEFORE_NAME, '')
  return rows.find(({ pattern }) => pattern.test(name))?.row
}

/**
 * The traits of a model: those of its entry, then those known for its name at upstreams of this kind, then those known for its name
 * alone, or else those that `reasoning` implies.
 */
export function traitsOf(
  entry: { traits?: Partial<Traits>; reasoning?: boolean },
  known: KnownModel | undefined,
  kind = '',
): Traits {
  const named = known?.traits ?? (entry.reasoning && reasoning)
  return { ...plainTraits, ...named, ...known?.at?.[kind], ...entry.traits }
}
