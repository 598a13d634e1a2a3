// The API forms in which a chat can be sent, by the names of the choice. Each writes the request of a thread and reads the events
// of its answer; none may call the gateway itself.

import type { DialectName, ModelReply, ToolCall, Values } from './conversation'
import { chatDialect } from './dialect-chat'
import { messagesDialect } from './dialect-messages'
import { responsesDialect } from './dialect-responses'

/** One exchange of a thread; only the last has no reply yet. */
export interface Step {
  text: string
  /** Pictures as data URLs. */
  pictures: readonly string[]
  /** Results of the tools that the previous reply called; the turn then has no text. */
  results: readonly { call: ToolCall; result: string }[]
  reply?: { text: string; calls: readonly ToolCall[] }
}

/** A function that a model may call. */
export interface Tool {
  name: string
  description?: string
  parameters?: object
}

/** Settings of a thread. */
export interface ThreadOptions {
  values: Values
  tools: readonly Tool[]
  /** The JSON schema that the answer must follow. */
  schema: object | null
}

export interface ChatDialect {
  path: string
  body(model: string, steps: readonly Step[], options: ThreadOptions): Record<string, unknown>
  /** The reply after an event. Throws an ApiError for an event that reports an error. */
  next(reply: ModelReply, data: unknown): ModelReply
}

export const DIALECTS = {
  chat: chatDialect,
  responses: responsesDialect,
  messages: messagesDialect,
} satisfies Record<DialectName, ChatDialect>

export function dialectOf({ api }: Values): DialectName {
  return api === 'responses' || api === 'messages' ? api : 'chat'
}
