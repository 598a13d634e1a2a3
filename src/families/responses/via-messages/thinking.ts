// Thinking of a response on a model of messages: how much of it is asked for, and that of earlier turns, which must go
// back byte for byte. Nothing that this model did not write itself must be sent as its thinking.

import type { Model, ParsedRequest } from '../../../contract/family'
import type { ResponsesBody } from '../caller-side'
import { openReasoning, type ThinkingBlock } from '../reasoning'
import { type Effort, effortOf, wantsSummary } from '../settings'
import type { Conversation } from '../turns'
import type { Block, DraftMessage, MessageTurn } from './messages'

/** The field of the request. */
type ThinkingWish =
  | { type: 'disabled' }
  | { type: 'adaptive'; display: Display }
  | { type: 'enabled'; budget_tokens: number; display: Display }
type Display = 'summarized' | 'omitted'

export interface Thinking {
  /** Undefined leaves it to the model. */
  wish: ThinkingWish | undefined
  /** The effort in the words of this vendor; undefined for models that know only budgets. */
  effort: string | undefined
}

/** Tokens of thinking by effort, for models that are told a number. */
const budgets: Record<Exclude<Effort, 'none'>, number> = {
  minimal: 1_024,
  low: 4_096,
  medium: 16_384,
  high: 32_768,
  xhigh: 49_152,
  max: 65_536,
}
const LEAST_BUDGET = 1_024
/** The share of the limit that thinking may take, so that there is room for the answer. */
const MOST_OF_LIMIT = 0.75

interface Asked {
  model: Model
  /** The most tokens of the answer. */
  limit: number
  /** True if a tool must be called, which no model does while it thinks. */
  isForced: boolean
}

/** How the model is to think. A model that always does is never told not to. */
export function thinkingOf(body: ResponsesBody, conversation: Conversation, asked: Asked): Thinking {
  const { model, limit, isForced } = asked
  const wanted = effortOf(body, conversation)
  const display: Display = wantsSummary(body) ? 'summarized' : 'omitted'
  if (model.reasoning) {
    const says = wanted !== undefined || display === 'summarized'
    return { wish: says ? { type: 'adaptive', display } : undefined, effort: wanted && effortWord(wanted) }
  }
  if (wanted === undefined) return { wish: undefined, effort: undefined }
  if (wanted === 'none') return { wish: { type: 'disabled' }, effort: undefined }
  const decides = decidesItself(model)
  const effort = decides ? effortWord(wanted) : undefined
  if (isForced) return { wish: { type: 'disabled' }, effort }
  if (decides) return { wish: { type: 'adaptive', display }, effort }
  const budget = Math.min(budgets[wanted], Math.floor(limit * MOST_OF_LIMIT))
  if (budget < LEAST_BUDGET) return { wish: { type: 'disabled' }, effort }
  return { wish: { type: 'enabled', budget_tokens: budget, display }, effort }
}

function effortWord(effort: Effort): string {
  return effort === 'none' || effort === 'minimal' ? 'low' : effort
}

/** Models that are told a number of tokens: those before this vendor's sixth of the fourth generation. */
const TOLD_A_NUMBER = /claude-(?:[a-z]+-)?(?:[123]|4(?![-.](?:[6-9]|\d\d(?!\d))))(?!\d)/i

/** Whether a model decides itself how much to think, by an effort. */
function decidesItself({ upstreamModel }: Model): boolean {
  return /claude/i.test(upstreamModel) && !TOLD_A_NUMBER.test(upstreamModel)
}

/** The messages with thinking in place of what is sealed. What does not open is left out. */
export function withThinking(
  messages: readonly DraftMessage[],
  parsed: ParsedRequest,
  model: Model,
): MessageTurn[] {
  return messages.map(({ role, blocks }) => ({
    role,
    content: blocks.flatMap((block) =>
      block.type === 'sealed' ? openedBlocks(block, parsed, model) : [block],
    ),
  }))
}

function openedBlocks({ sealed }: Block, parsed: ParsedRequest, model: Model): Block[] {
  const opened = openReasoning(parsed, model, sealed as string)
  return opened?.kind === 'messages' ? opened.blocks.filter(isSigned).map(thinkingBlock) : []
}

/** Vendors refuse thinking without a signature. */
function isSigned(block: ThinkingBlock): boolean {
  return 'redacted' in block || block.signature !== ''
}

function thinkingBlock(block: ThinkingBlock): Block {
  if ('redacted' in block) return { type: 'redacted_thinking', data: block.redacted }
  return { type: 'thinking', thinking: block.thinking, signature: block.signature }
}

/** Whether the last turn of the assistant calls tools without the thinking that led to the calls. */
export function hasLostThinking(messages: readonly MessageTurn[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant')
  if (!last?.content.some(({ type }) => type === 'tool_use')) return false
  const first = last.content[0]?.type
  return first !== 'thinking' && first !== 'redacted_thinking'
}
