// Finds what is known of a model by the vendor's name for it. A model of the configuration gets these traits and limits where it
// says nothing itself.

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

/**
 * The traits of a model: what its entry says, then what is known by its name at upstreams of this kind, then by its name alone, or
 * else what `reasoning` stands for.
 */
export function traitsOf(
  entry: { traits?: Partial<Traits>; reasoning?: boolean },
  known: KnownModel | undefined,
  kind = '',
): Traits {
  const named = known?.traits ?? (entry.reasoning && reasoning)
  return { ...plainTraits, ...named, ...known?.at?.[kind], ...entry.traits }
}
