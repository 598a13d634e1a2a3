// The checks of vendors on turns of the assistant that are sent back to them. They must never repair a conversation, or depend on
// what the gateway fills in.

import { asArray, asObject, asObjects, asString, type JsonObject } from '../json'

/** A message of the assistant, and its place in the request. */
interface Spoken {
  place: number
  /** Whether its calls are blocks of a message; undefined if it calls nothing. */
  calls: 'chat' | 'messages' | undefined
  /** The `reasoning_content`, or the text of a block; an empty one counts as none. */
  reasoning: string | undefined
}

/** The messages of the assistant; with `since`, those after the last words of the user. */
export function spokenIn({ messages }: JsonObject, since: 'begin' | 'user' = 'begin'): Spoken[] {
  const all = asObjects(messages)
  const begin = since === 'user' ? all.findLastIndex(({ role }) => role === 'user') + 1 : 0
  return all.flatMap((message, place) =>
    message.role === 'assistant' && place >= begin
      ? [
          {
            place,
            calls: callsOf(message),
            reasoning: (asString(message.reasoning_content) ?? thinkingIn(message)) || undefined,
          },
        ]
      : [],
  )
}

function callsOf({ tool_calls: calls, content }: JsonObject): Spoken['calls'] {
  if ((asArray(calls) ?? []).length > 0) return 'chat'
  return asObjects(content).some(({ type }) => type === 'tool_use') ? 'messages' : undefined
}

function thinkingIn({ content }: JsonObject): string | undefined {
  return asString(asObjects(content).find(({ type }) => type === 'thinking')?.thinking)
}

/** Whether thinking was turned off for a model that thinks by default. */
export function thinkingIsOff({ thinking, reasoning_effort: effort }: JsonObject): boolean {
  return asObject(thinking)?.type === 'disabled' || effort === 'none'
}
