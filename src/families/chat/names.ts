// Names of the authors of messages. xAI refuses a name on any message but a user's (test/vendors/xai/names.json), and so does
// OpenRouter for xAI's models. It must never change a message of a user.

import type { Model } from '../../contract/family'
import type { ChatBody } from './caller-side'

type Message = ChatBody['messages'][number]

/** Kinds of upstreams that accept names of users only. */
const USERS_ONLY: ReadonlySet<string> = new Set(['xai'])

/** Whether a message has a name that its vendor refuses. */
const isMisnamed = (message: Message): boolean =>
  message.role !== 'user' && (message as { name?: unknown }).name !== undefined

/** The messages without names that their vendor refuses; the same list if there are none. */
export function withAcceptedNames(messages: readonly Message[], model: Model): readonly Message[] {
  if (!USERS_ONLY.has(model.upstream.kind) || !messages.some(isMisnamed)) return messages
  return messages.map((message) => {
    if (!isMisnamed(message)) return message
    const { name: _, ...rest } = message as Message & { name?: unknown }
    return rest as Message
  })
}
