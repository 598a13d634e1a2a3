// Thinking of a response on a model of messages: how much of it is asked for, and that of earlier turns, which must go
// back byte for byte. Nothing that this model did not write itself must be sent as its thinking.

import type { Model, ParsedRequest } from '../../../contract/family'
import { demandsReasoning } from '../../chat/returned-reasoning'
import { openReasoning, type ThinkingBlock } from '../../sealed-reasoning'
import { checkEffort } from '../../traits/efforts'
import type { ResponsesBody } from '../caller-side'
import { effortOf, wantsSummary } from '../settings'
import type { Conversation } from '../turns'
import type { Block, DraftMessage, MessageTurn } from './messages'

/** The wish for thinking, as any model of messages might take it; undefined leaves it to the model. */
export type ThinkingRequest =
  | { type: 'disabled' }
  | { type: 'adaptive'; display: 'summarized' | 'omitted' }
  | undefined

export interface Thinking {
  wish: ThinkingRequest
  effort: string | undefined
}

/** How the model is to think. A summary is asked for even without an effort, of models that think by themselves. */
export function thinkingOf(body: ResponsesBody, conversation: Conversation, model: Model): Thinking {
  const effort = effortOf(body, conversation)
  const isSummarized = wantsSummary(body)
  const wish = { type: 'adaptive', display: isSummarized ? 'summarized' : 'omitted' } as const
  if (effort === undefined) {
    return { wish: isSummarized && model.traits.thinksByDefault ? wish : undefined, effort }
  }
  checkEffort(model, effort, 'reasoning.effort')
  if (effort === 'none') return { wish: { type: 'disabled' }, effort: undefined }
  return { wish, effort: effort === 'minimal' ? 'low' : effort }
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
  return opened?.kind === 'messages'
    ? opened.blocks.filter((block) => isTaken(block, model)).map(thinkingBlock)
    : []
}

/** Vendors refuse thinking without a signature, except those that demand all of it back. */
function isTaken(block: ThinkingBlock, model: Model): boolean {
  return 'redacted' in block || block.signature !== '' || demandsReasoning(model)
}

function thinkingBlock(block: ThinkingBlock): Block {
  if ('redacted' in block) return { type: 'redacted_thinking', data: block.redacted }
  return { type: 'thinking', thinking: block.thinking, signature: block.signature }
}
