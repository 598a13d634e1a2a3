// Parts of a request that several protocols write in the same way. Nothing here must know a protocol.

import type { Model } from '../../contract/family'
import { checkEffort, effortOfBudget } from '../traits/efforts'
import type { WriteOptions } from './bridge'
import type { Conversation, Settings, Tool, ToolChoice } from './conversation'
import { leadingOf } from './sides'

type Fields = Record<string, unknown>

const JSON_ONLY = 'Answer with one JSON object and nothing else.'
const VERBOSITIES = {
  low: 'Keep the answer short.',
  medium: '',
  high: 'Answer at length, with all details.',
} as const

/** The instructions as one text, with settings that the protocol has no field for. */
export function systemPrompt(conversation: Conversation): string {
  const { format, verbosity = 'medium', isVerbosityDefault } = conversation.settings
  const texts = [
    ...leadingOf(conversation).flatMap(({ parts }) => parts.map(({ text }) => text)),
    format?.type === 'json_object' ? JSON_ONLY : '',
    isVerbosityDefault ? '' : VERBOSITIES[verbosity],
  ]
  return texts.filter((text) => text !== '').join('\n\n')
}

/**
 * A limit of output tokens for vendors that require one: if the caller sets none, the model's own, so that the answer is not cut
 * short.
 */
export function outputLimit({ limit }: Settings, model: Model, { outputTokens }: WriteOptions): number {
  const most = limit?.tokens ?? model.maxOutputTokens ?? model.reserveOutputTokens
  return Math.min(most, outputTokens ?? most)
}

/** The name of the tool that must be called; undefined if the model has a choice. */
export function forcedTool({ mode, allowed = [] }: Partial<ToolChoice> = {}): string | undefined {
  return mode === 'required' && allowed.length === 1 ? allowed[0] : undefined
}

/** The tools for a vendor that cannot express all choices: those that may be called, or the single one that must be called. */
export function callableTools({ tools, choice }: Conversation): readonly Tool[] {
  const { allowed } = choice ?? {}
  return allowed && forcedTool(choice) === undefined
    ? tools.filter(({ name }) => allowed.includes(name))
    : tools
}

/** The effort that is sent: the caller's, or one derived from its token budget. The caller's must be one that the model supports. */
export function effortOf({ reasoning }: Settings, model: Model): string | undefined {
  const { effort, effortAt, budgetTokens } = reasoning
  if (effort !== undefined && effortAt !== undefined) checkEffort(model, effort, effortAt)
  return effort ?? (budgetTokens === undefined ? undefined : effortOfBudget(budgetTokens))
}

/** The service tier, if it has a price: without one, the answer is the same. */
export function pricedTier({ serviceTier }: Settings, { priceList }: Model): string | undefined {
  return priceList.tables.some(({ tier }) => tier === serviceTier) ? serviceTier : undefined
}

/** The fields without null and undefined, which mean the same as no value. */
export function withoutGaps(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )
}
