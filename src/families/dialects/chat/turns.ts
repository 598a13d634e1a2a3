// Reads the messages of a chat completion as turns of a conversation: consecutive messages of one side are one turn, and results of
// tools follow their calls.

import { invalidRequest } from '../../../lib/errors'
import { asObject, asText, isObject } from '../../../lib/objects'
import type { ChatBody } from '../../chat/caller-side'
import type { AssistantStep, Part, ToolCall, ToolResult, Turn } from '../../conversation/conversation'
import { chatTexts, partsOfMessage } from './parts'

type Fields = Record<string, unknown>
type Message = ChatBody['messages'][number]

/** The turns. Throws 400 with the place of anything that cannot be parsed. */
export function turnsOfChat({ messages }: ChatBody): Turn[] {
  const turns: Turn[] = []
  const calls = new Map<string, ToolCall>()
  for (const [index, message] of messages.entries()) addMessage(turns, message, `messages[${index}]`, calls)
  return turns
}

function addMessage(turns: Turn[], message: Message, at: string, calls: Map<string, ToolCall>): void {
  const { role, content, name } = message
  switch (role) {
    case 'system':
    case 'developer': {
      const parts = chatTexts(content, `${at}.content`, 'messages of the system')
      if (parts.length > 0) turns.push({ side: 'system', role, parts, at })
      return
    }
    case 'user': {
      const parts = partsOfMessage(content, `${at}.content`)
      // The name of the speaker, if there are several users.
      const speaker =
        name && parts.length > 0 ? [{ type: 'text', text: `${name}:`, at: `${at}.name` } as const] : []
      addUserParts(turns, [], [...speaker, ...parts])
      return
    }
    case 'tool':
      addUserParts(turns, [resultOf(message, at, calls)], [])
      return
    case 'assistant':
      addSteps(turns, stepsOf(message, at, calls))
      return
  }
  const place = `${at}.role`
  throw invalidRequest(place, `Invalid value for '${place}': use 'tool' and 'tools' instead of functions.`)
}

function addUserParts(turns: Turn[], results: readonly ToolResult[], parts: readonly Part[]): void {
  const last = turns.at(-1)
  if (last?.side === 'user') {
    const all = { results: [...last.results, ...results], parts: [...last.parts, ...parts] }
    turns[turns.length - 1] = { side: 'user', ...all }
  } else if (results.length + parts.length > 0) turns.push({ side: 'user', results, parts })
}

/** A message that contains only reasoning is not a turn: it must not separate a user's messages. */
function addSteps(turns: Turn[], steps: readonly AssistantStep[]): void {
  if (steps.every(({ kind }) => kind === 'reasoning')) return
  const last = turns.at(-1)
  if (last?.side === 'assistant') turns[turns.length - 1] = { ...last, steps: [...last.steps, ...steps] }
  else turns.push({ side: 'assistant', steps })
}

function resultOf(
  { content, tool_call_id: given }: Message,
  at: string,
  calls: Map<string, ToolCall>,
): ToolResult {
  const id = given ?? ''
  const { name = '', form = 'function' } = calls.get(id) ?? {}
  return { call: { id, name, form }, parts: partsOfMessage(content, `${at}.content`), hasFailed: false, at }
}

/** Reasoning, then texts and a refusal, then calls. */
function stepsOf(message: Message, at: string, calls: Map<string, ToolCall>): AssistantStep[] {
  const { content, refusal, reasoning_content: thought, tool_calls: called } = message as Message & Fields
  const steps: AssistantStep[] = []
  if (typeof thought === 'string' && thought !== '') {
    steps.push({ kind: 'reasoning', text: thought, at: `${at}.reasoning_content` })
  }
  for (const { type: _, ...said } of chatTexts(content, `${at}.content`, "the assistant's parts")) {
    steps.push({ kind: 'text', ...said })
  }
  if (typeof refusal === 'string' && refusal !== '') {
    steps.push({ kind: 'text', text: refusal, isRefusal: true, at: `${at}.refusal` })
  }
  for (const [index, each] of (Array.isArray(called) ? called : []).entries()) {
    const call = callOf(asObject(each), `${at}.tool_calls[${index}]`)
    calls.set(call.id, call)
    steps.push({ kind: 'call', call })
  }
  return steps
}

function callOf({ id, type, function: called, custom: own }: Fields, at: string): ToolCall {
  const form = type === 'custom' ? 'custom' : 'function'
  const { name, arguments: text, input } = asObject(form === 'custom' ? own : called)
  if (typeof id !== 'string' || typeof name !== 'string') {
    throw invalidRequest(at, `Invalid '${at}': expected an 'id', and a 'function' with its 'name'.`)
  }
  if (form === 'custom') return { id, name, input: asText(input), form, at }
  const given = text ?? '{}'
  // Some clients send the arguments as an object instead of JSON text.
  const sent = isObject(given) ? JSON.stringify(given) : given
  if (typeof sent === 'string') return { id, name, input: sent, form, at }
  const place = `${at}.function.arguments`
  throw invalidRequest(
    place,
    `Invalid type for '${place}': expected a text with a JSON object.`,
    'invalid_type',
  )
}
