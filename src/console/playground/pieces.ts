// Pieces of an answer that the dialects share: growing texts, calls of tools that arrive in parts, and numbers of a form.

import { ApiError } from '../api'
import { keyTexts } from '../texts'
import type { ModelReply, ToolCall } from './conversation'

/** Maximum length of text that is kept of an answer, in characters. */
const MAX_TEXT = 2_000_000

export function withText(reply: ModelReply, text: string | null | undefined): ModelReply {
  return text ? { ...reply, text: (reply.text + text).slice(0, MAX_TEXT) } : reply
}

export function withThinking(reply: ModelReply, text: string | null | undefined): ModelReply {
  return text ? { ...reply, thinking: (reply.thinking + text).slice(0, MAX_TEXT) } : reply
}

/** Adds a part to the call at a place of the answer. Some servers repeat the id, or an empty one, with each part. */
export function withCall(reply: ModelReply, place: number, part: Partial<ToolCall>): ModelReply {
  const calls = [...reply.calls]
  const before = calls[place] ?? { id: '', name: '', arguments: '' }
  calls[place] = {
    id: part.id || before.id,
    name: before.name + (part.name ?? ''),
    arguments: (before.arguments + (part.arguments ?? '')).slice(0, MAX_TEXT),
  }
  return { ...reply, calls }
}

/** A number of the form under the dialect's name; nothing for an empty field. */
export function numberOf(name: string, text: string | undefined): Record<string, number> {
  return text?.trim() ? { [name]: Number(text) } : {}
}

export function brokeOff(error: { message?: string; code?: string | null } | undefined): ApiError {
  return new ApiError(error?.message ?? keyTexts.playground.brokeOff, 502, error?.code ?? null, null)
}
