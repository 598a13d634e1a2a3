// Building blocks for samples of requests, for all dialects.

import type { Random } from '../random'
import type { Json } from '../scenario'

export type CallerDialect = 'chat' | 'messages' | 'responses'

/** Requests of a dialect as data. */
export interface RequestSamples {
  /** The members that every request needs. */
  base: Json
  /** Members that replace those of the base, each tried alone and mixed with others. */
  fields: readonly Json[]
  /** The turns of a conversation, in any order. */
  conversation(random: Random): Json
}

export const PICTURE = 'data:image/png;base64,iVBORw0KGgo='
export const PDF = 'data:application/pdf;base64,JVBERi0='

export const schema = {
  type: 'object',
  properties: { place: { type: 'string', description: 'Where.' } },
  required: ['place'],
  additionalProperties: false,
}

/** One body for each value of a field. */
export function each(field: string, ...values: readonly Json[]): Json[] {
  return values.map((value) => ({ [field]: value }))
}

export function many<Item>(random: Random, most: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: 1 + random.below(most) }, (_, index) => make(index))
}

export function sometimes(random: Random, share: number, members: Json): Json {
  return random.chance(share) ? members : {}
}

export function words(random: Random): string {
  const list = ['Hi', 'the', ' cat', '\n\n', '世界', '🎉', ' "quoted"', '\\', '{"a":1}', ' ', 'END', '']
  return many(random, 4, () => random.pick(list)).join('')
}
