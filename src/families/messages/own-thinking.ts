// Thinking in a request of messages, for every dialect: the vendor gets back only what it wrote itself. It must never send what
// another vendor signed or what was sealed here: both are refused, and a client may switch models.

import type { Model } from '../../contract/family'
import { SEALED_PREFIX } from '../../lib/sealing'
import { demandsReasoning, NO_REASONING } from '../chat/returned-reasoning'
import type { MessagesBody } from './caller-side'

type Messages = MessagesBody['messages']
type Block = { type: string }

/**
 * The messages without thinking that was sealed here and, for a vendor that signs all of its own, without unsigned thinking.
 * Vendors that require the thinking before a call get a filler if it is lost, without a signature: DeepSeek and Kimi accept it
 * (farion1231/cc-switch#2282, #3377, 2026-05-30; NousResearch/hermes-agent#17510, 2026-04-29). The same list if nothing changes.
 */
export function withOwnThinking(messages: Messages, model: Model): Messages {
  const isDemanded = demandsReasoning(model)
  const isForeign = (block: Block) => isForeignThinking(block, isDemanded)
  const isChanged = messages.some(
    ({ role, content }) =>
      Array.isArray(content) &&
      (content.some(isForeign) || (isDemanded && role === 'assistant' && lacksThinking(content))),
  )
  if (!isChanged) return messages
  return messages.flatMap((message) => {
    const { role, content } = message
    if (!Array.isArray(content)) return [message]
    const rest = content.filter((block) => !isForeign(block))
    if (rest.length === 0 && content.length > 0) return []
    const isLost = isDemanded && role === 'assistant' && lacksThinking(rest)
    return [{ ...message, content: isLost ? [LOST_THINKING, ...rest] : rest }]
  })
}

const LOST_THINKING = { type: 'thinking', thinking: NO_REASONING }

function lacksThinking(content: readonly Block[]): boolean {
  return content.some(({ type }) => type === 'tool_use') && !content.some(({ type }) => type === 'thinking')
}

function isForeignThinking(block: Block, takesUnsigned: boolean): boolean {
  if (block.type !== 'thinking' && block.type !== 'redacted_thinking') return false
  const { signature, data } = block as { signature?: unknown; data?: unknown }
  const sealed = block.type === 'thinking' ? signature : data
  if (typeof sealed !== 'string') return false
  return sealed === '' ? !takesUnsigned : sealed.startsWith(SEALED_PREFIX)
}
