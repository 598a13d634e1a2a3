// Decides whether a request meets the condition of a route's model, by its headers, its metadata and its size. Pure. It must never
// return the caller's own text: only names and values of the configuration.

import type { ConditionConfig } from '../../config/models/route-entry'

type Values = string | readonly string[]

/** The parts of a request that conditions may use. */
interface RequestFacts {
  header(name: string): string | null | undefined
  tag(name: string): string | undefined
}

/** The unmet part of a condition, apart from its size; undefined if all are met. */
export function unmetPart(
  { header = {}, tag = {} }: ConditionConfig,
  request: RequestFacts,
): string | undefined {
  for (const [name, wanted] of Object.entries(header)) {
    if (!matches(request.header(name.toLowerCase()), wanted)) return `header ${name} is not ${shown(wanted)}`
  }
  for (const [name, wanted] of Object.entries(tag)) {
    if (!matches(request.tag(name), wanted)) return `tag ${name} is not ${shown(wanted)}`
  }
  return undefined
}

/** The reason why a size is out of range; undefined if it is within. */
export function unmetSize({ promptTokens }: ConditionConfig, tokens: number): string | undefined {
  const { min = 0, max = Number.POSITIVE_INFINITY } = promptTokens ?? {}
  if (tokens < min) return `${tokens} prompt tokens, below ${min}`
  return tokens > max ? `${tokens} prompt tokens, above ${max}` : undefined
}

function matches(value: string | null | undefined, wanted: Values): boolean {
  if (value === null || value === undefined) return false
  return [wanted].flat().some((each) => {
    return each.endsWith('*') ? value.startsWith(each.slice(0, -1)) : value === each
  })
}

function shown(wanted: Values): string {
  return [wanted].flat().join(' or ').slice(0, 100)
}
