// Converts the efforts of thinking that callers request to those that a model accepts. An effort that a caller wrote must never be
// replaced silently; one that a translation wrote may be.

import type { Model } from '../../contract/family'
import type { Traits } from '../../contract/traits'
import { invalidRequest } from '../../lib/errors'

/** All efforts that vendors know, in ascending order. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** Thinking tokens per effort, for models that accept a number. */
const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 16_384,
  high: 32_768,
  xhigh: 49_152,
  max: 65_536,
}
/** The largest budgets of low and of medium effort, in tokens; larger ones are high. */
const LOW_EFFORT_TOKENS = 4_096
const MEDIUM_EFFORT_TOKENS = 16_384
const USUAL_EFFORT = 'high'

/** The thinking tokens that an effort means. */
export const budgetOfEffort = (effort = USUAL_EFFORT): number =>
  budgets[effort] ?? (budgets[USUAL_EFFORT] as number)

/** The effort that corresponds to a number of tokens. */
export function effortOfBudget(tokens: number): string {
  if (tokens <= LOW_EFFORT_TOKENS) return 'low'
  return tokens <= MEDIUM_EFFORT_TOKENS ? 'medium' : 'high'
}

/** The efforts of a model; undefined if they are not known. */
interface Efforts {
  efforts?: readonly string[] | undefined
}

/** The lowest effort with which a model thinks; undefined if it accepts none, or its efforts are unknown. */
export function lowestEffort({ efforts = [] }: Efforts): string | undefined {
  return efforts.find((effort) => effort !== 'none')
}

/**
 * The effort of a model that is nearest to a translated one: the same, otherwise the next lower one, otherwise its lowest.
 * Undefined if it accepts none, or cannot turn thinking off and its efforts are unknown.
 */
export function nearestEffort(
  { efforts, thinking }: Efforts & Partial<Pick<Traits, 'thinking'>>,
  wanted: string,
): string | undefined {
  if (wanted === 'none' && thinking === 'always') return lowestEffort({ efforts })
  if (efforts === undefined || efforts.includes(wanted)) return wanted
  const place = EFFORTS.indexOf(wanted as (typeof EFFORTS)[number])
  const below = efforts.filter((effort) => EFFORTS.indexOf(effort as (typeof EFFORTS)[number]) <= place)
  return below.findLast((effort) => effort !== 'none') ?? lowestEffort({ efforts })
}

/** Whether a model accepts `parallel_tool_calls` together with the requested effort, or with the JSON of an edited one. */
export function takesParallelCalls(
  { parallelCalls }: Traits,
  requested: unknown,
  edited: string | undefined,
): boolean {
  if (parallelCalls !== 'unless_minimal') return parallelCalls
  return edited === undefined ? requested !== 'minimal' : edited !== '"minimal"'
}

/** Whether thinking can be turned off. */
export function canBeOff({ thinking, efforts, thinkingForms }: Traits): boolean {
  if (thinking !== 'optional') return false
  return !thinkingForms.includes('effort') || (efforts?.includes('none') ?? true)
}

/**
 * Checks an effort that a caller wrote in `field`, for a model that gets it in another form. Throws 400 with the efforts that it
 * accepts, including `none` if thinking can be turned off.
 */
export function checkEffort({ traits, id }: Model, effort: string, field: string): void {
  const { efforts, thinking, thinkingForms } = traits
  if (effort === 'none' && thinking === 'always') throw unsupportedEffort(id, field, effort, efforts)
  // For a model that accepts a number of tokens, any effort is valid.
  const usesBudget = thinkingForms.includes('budget') && !thinkingForms.includes('adaptive')
  if (thinking === 'never' || efforts === undefined || usesBudget) return
  const isOff = effort === 'none' && canBeOff(traits)
  // Models of messages have no name for this effort: it means their lowest.
  const isLowest = effort === 'minimal' && thinkingForms.includes('adaptive')
  if (isOff || isLowest || efforts.includes(effort)) return
  throw unsupportedEffort(id, field, effort, canBeOff(traits) ? ['none', ...efforts] : efforts)
}

/** Checks an effort of a request in the model's own form. Throws 400 for an effort that the model is known to refuse. */
export function checkOwnEffort({ traits: { efforts }, id }: Model, effort: unknown, field: string): void {
  if (typeof effort !== 'string' || efforts === undefined || efforts.includes(effort)) return
  if (efforts.length > 0) throw unsupportedEffort(id, field, effort, efforts)
  throw invalidRequest(
    field,
    `Unsupported parameter: '${field}' is not supported with ${id}. Leave it out.`,
    'unsupported_parameter',
  )
}

function unsupportedEffort(
  id: string,
  field: string,
  effort: string,
  efforts: readonly string[] = EFFORTS.slice(1),
) {
  const words = [...new Set(efforts)].map((each) => `'${each}'`)
  const supported = [...words.slice(0, -1), words.length > 1 ? `and ${words.at(-1)}` : words.at(-1)].join(
    ', ',
  )
  return invalidRequest(
    field,
    `Unsupported value: '${field}' does not support '${effort.slice(0, 64)}' with ${id}. Supported values are: ${supported}.`,
    'unsupported_value',
  )
}
