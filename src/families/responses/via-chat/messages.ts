// Writes the turns of a response's input as chat messages. It must never send what chat has no form for, nor reasoning:
// that is opened later, for vendors that ask for it.

import type { SealedMessage } from '../../chat/returned-reasoning'
import type { ResponsesBody } from '../caller-side'
import type { InputPart } from '../parts'
import { unsupportedField } from '../refusals'
import type { AssistantStep, CallOutput, Conversation, Turn } from '../turns'

type Message = SealedMessage['message']
type MessagePart = { type: string; [field: string]: unknown }

const BLANK_LINE = '\n\n'
/** A placeholder in a tool's output, where chat takes text only. */
const SHOWN_BELOW = '(Shown in the next message.)'
const NOTHING_SEALED: readonly string[] = []

/**
 * The messages. Instructions stand in the first one; later ones become texts of the user, marked as such, because the
 * templates of many models accept them only at the beginning. `knowsDevelopers` is true for a vendor that takes messages
 * of a developer anywhere.
 */
export function messagesOfTurns(
  { instructions }: ResponsesBody,
  { turns }: Conversation,
  knowsDevelopers: boolean,
): SealedMessage[] {
  const begin = turns.findIndex(({ side }) => side !== 'system')
  const rest = begin === -1 ? [] : turns.slice(begin)
  const leading = (begin === -1 ? turns : turns.slice(0, begin)).flatMap((turn) =>
    turn.side === 'system' ? [turn.text] : [],
  )
  const prompt = [instructions ?? '', ...leading].filter((text) => text !== '').join(BLANK_LINE)
  const messages = prompt === '' ? [] : [plain(systemMessage(prompt, knowsDevelopers))]
  let parts: MessagePart[] = []
  const endUser = () => {
    if (parts.length > 0) messages.push(plain({ role: 'user', content: contentOf(parts) }))
    parts = []
  }
  for (const turn of rest) {
    if (turn.side === 'user') {
      for (const output of turn.outputs) messages.push(plain(toolMessage(output)))
      for (const part of partsOfUser(turn)) parts.push(part)
    } else if (turn.side === 'system' && !knowsDevelopers) {
      parts.push({ type: 'text', text: `<system>\n${turn.text}\n</system>` })
    } else {
      endUser()
      if (turn.side === 'system') messages.push(plain(systemMessage(turn.text, true)))
      else messages.push(...assistantMessage(turn.sayings))
    }
  }
  endUser()
  return messages
}

function plain(message: Message): SealedMessage {
  return { message, sealed: NOTHING_SEALED }
}

function systemMessage(content: string, knowsDevelopers: boolean): Message {
  return { role: knowsDevelopers ? 'developer' : 'system', content }
}

/** The message of a turn; none for thinking that led to nothing. */
function assistantMessage(sayings: readonly AssistantStep[]): SealedMessage[] {
  const texts = sayings.flatMap((saying) => (saying.kind === 'text' ? [saying.text] : []))
  const calls = sayings.flatMap((saying) => (saying.kind === 'call' ? [saying.call] : []))
  const sealed = sayings.flatMap((saying) =>
    saying.kind === 'reasoning' && saying.sealed !== undefined ? [saying.sealed] : [],
  )
  if (texts.length === 0 && calls.length === 0) return []
  const message = {
    role: 'assistant' as const,
    content: texts.length === 0 ? null : texts.join(BLANK_LINE),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, flatName: name, arguments: text }) => ({
        id,
        type: 'function',
        function: { name, arguments: text },
      })),
    }),
  }
  return [{ message, sealed }]
}

/** The message of a tool. What is no text follows in the next message of the user. */
function toolMessage({ call, parts, hasFailed }: CallOutput): Message {
  const text = parts.map((part) => (part.type === 'text' ? part.text : SHOWN_BELOW)).join(BLANK_LINE)
  return { role: 'tool', tool_call_id: call.id, content: hasFailed ? `Error: ${text}` : text }
}

function partsOfUser({ outputs, parts }: Extract<Turn, { side: 'user' }>): MessagePart[] {
  const shown = outputs.flatMap((output) => output.parts.filter(({ type }) => type !== 'text'))
  return [...shown, ...parts].map(messagePart)
}

function messagePart(part: InputPart): MessagePart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image': {
      const { url, detail } = part
      const look = detail === 'original' ? 'high' : detail
      return { type: 'image_url', image_url: { url, ...(look !== undefined && { detail: look }) } }
    }
    case 'file': {
      const { from, source, filename = 'document.pdf', at } = part
      if (from === 'file_data') return { type: 'file', file: { filename, file_data: source } }
      throw unsupportedField(
        `${at}.file_url`,
        "this model takes files as 'file_data'. Send the content itself, as a data URL",
      )
    }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
  }
}

/** A plain string if possible: many servers accept nothing else. */
function contentOf(parts: readonly MessagePart[]): string | MessagePart[] {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' ? [text as string] : []))
  return texts.length === parts.length ? texts.join(BLANK_LINE) : [...parts]
}
