// Translates the turns of a messages request to chat messages: texts, pictures, documents, tool calls and their
// results. Thinking that was sealed here is kept next to its message, to be opened later; what only the vendor of messages
// can read is left out. What chat cannot express is refused by the name of its field.

import { type GatewayError, invalidRequest } from '../../../lib/errors'
import { isObject } from '../../../lib/objects'
import { SEALED_PREFIX } from '../../../lib/sealing'
import type { SealedMessage } from '../../chat/returned-reasoning'
import type { MessagesBody } from '../caller-side'

export type ChatPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string } }
  | { type: 'file'; file: { filename: string; file_data: string } }

/** A block and its place in the request. */
export interface Placed {
  block: Record<string, unknown>
  at: string
}

interface Turn {
  isAssistant: boolean
  blocks: Placed[]
}

/**
 * A coding client's note to its vendor: it changes with each session and would spoil the cache of every other session.
 */
const ATTRIBUTION = 'x-anthropic-billing-header:'
const BLANK_LINE = '\n\n'
/** A placeholder in a tool's result, where chat takes text only. */
const SHOWN_BELOW = '(Shown in the next message.)'

/** The chat messages, each with the reasoning that was sealed for it. Throws 400 for a block that chat has no form for. */
export function chatMessages({ system, messages }: MessagesBody): SealedMessage[] {
  const prompt = instructionsOf(system)
  return [
    ...(prompt === '' ? [] : [plain({ role: 'system', content: prompt })]),
    ...turnsOf(messages.map(withoutLoneThinking), isKept).flatMap(({ isAssistant, blocks }) =>
      isAssistant ? assistantMessage(blocks) : userMessages(blocks).map(plain),
    ),
  ]
}

function plain(message: Message): SealedMessage {
  return { message, sealed: NOTHING_SEALED }
}

type Message = SealedMessage['message']
const NOTHING_SEALED: readonly string[] = []

/** A message of the assistant with nothing but thinking says nothing: it must not stand between what a user says. */
function withoutLoneThinking(message: MessagesBody['messages'][number]): MessagesBody['messages'][number] {
  const { role, content } = message
  if (role !== 'assistant' || !Array.isArray(content) || content.some(({ type }) => !UNREADABLE.has(type))) {
    return message
  }
  return { ...message, content: [] }
}

function isKept(placed: Placed): boolean {
  return isReadable(placed) || sealedIn(placed) !== undefined
}

/** The text that was sealed here in a block of thinking; undefined for any other block. */
function sealedIn({ block }: Placed): string | undefined {
  const sealed = block.type === 'redacted_thinking' ? block.data : block.signature
  const isThinking = block.type === 'thinking' || block.type === 'redacted_thinking'
  return isThinking && typeof sealed === 'string' && sealed.startsWith(SEALED_PREFIX) ? sealed : undefined
}

/** The text of the system prompt. */
export function instructionsOf(system: MessagesBody['system']): string {
  const texts = placed(system ?? [], 'system').map(({ block, at }, index) => {
    const text = stringAt(block, 'text', at)
    return index === 0 && text.startsWith(ATTRIBUTION) ? '' : text
  })
  return joined(texts)
}

/**
 * The turns, with the blocks of the assistant that are kept. Successive messages of one side are one turn, as for the vendor of messages. System messages among them
 * become texts of the user's side: the templates of many models accept them only at the beginning.
 */
export function turnsOf(messages: MessagesBody['messages'], isKept: (placed: Placed) => boolean): Turn[] {
  const turns: Turn[] = []
  for (const [index, { role, content }] of messages.entries()) {
    const isAssistant = role === 'assistant'
    const all = placed(content, `messages[${index}].content`)
    const blocks = isAssistant ? all.filter(isKept) : role === 'system' ? all.map(asInstruction) : all
    const last = turns.at(-1)
    if (last?.isAssistant === isAssistant) for (const block of blocks) last.blocks.push(block)
    else if (blocks.length > 0) turns.push({ isAssistant, blocks })
  }
  return turns
}

/**
 * Blocks that mean nothing to another vendor: thinking, which is for the vendor that signed it, and marks of which
 * model answered.
 */
const UNREADABLE = new Set<unknown>(['thinking', 'redacted_thinking', 'fallback'])

export function isReadable({ block }: Placed): boolean {
  return block.type === 'text' ? block.text !== '' : !UNREADABLE.has(block.type)
}

function asInstruction({ block, at }: Placed): Placed {
  const text = `<system>\n${stringAt(block, 'text', at)}\n</system>`
  return { block: { type: 'text', text }, at }
}

/** Blocks of a model's turns that are kept. */
const KEPT = new Set<unknown>(['text', 'tool_use', 'compaction'])

/** A text, or the summary of earlier turns. */
export function wordsOf({ block, at }: Placed): string {
  return stringAt(block, block.type === 'compaction' ? 'content' : 'text', at)
}

function assistantMessage(placedBlocks: readonly Placed[]): SealedMessage[] {
  const sealed = placedBlocks.map(sealedIn).filter((each) => each !== undefined)
  const blocks = placedBlocks.filter((each) => sealedIn(each) === undefined)
  for (const { block, at } of blocks) {
    if (!KEPT.has(block.type)) throw unsupported(at, `a block of type '${block.type}' of the assistant`)
  }
  const texts = blocks.filter(({ block }) => block.type !== 'tool_use')
  const calls = blocks
    .filter(({ block }) => block.type === 'tool_use')
    .map(({ block, at }) => {
      const call = { name: stringAt(block, 'name', at), arguments: JSON.stringify(block.input ?? {}) }
      return { id: stringAt(block, 'id', at), type: 'function', function: call }
    })
  const message = {
    role: 'assistant' as const,
    content: joined(texts.map(wordsOf)) || null,
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  return blocks.length > 0 ? [{ message, sealed }] : []
}

/**
 * The messages of a user's turn. Tool results come first, because chat wants them right after the calls. Their pictures
 * follow, because results can only be text there.
 */
function userMessages(blocks: readonly Placed[]): Message[] {
  const isResult = ({ block }: Placed) => block.type === 'tool_result'
  const results = blocks.filter(isResult).map(({ block, at }) => ({
    id: stringAt(block, 'tool_use_id', at),
    isError: block.is_error === true,
    parts: placed(block.content ?? [], `${at}.content`).flatMap(chatParts),
  }))
  const parts = [
    ...results.flatMap((result) => result.parts.filter(({ type }) => type !== 'text')),
    ...blocks.filter((block) => !isResult(block)).flatMap(chatParts),
  ]
  return [
    ...results.map(({ id, isError, parts }): Message => {
      const text = joined(parts.map((part) => (part.type === 'text' ? part.text : SHOWN_BELOW)))
      return { role: 'tool', tool_call_id: id, content: isError ? `Error: ${text}` : text }
    }),
    ...(parts.length > 0 ? [{ role: 'user' as const, content: contentOf(parts) }] : []),
  ]
}

/** A plain string if possible: many servers accept nothing else. */
function contentOf(parts: ChatPart[]): string | ChatPart[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.length === parts.length ? joined(texts) : parts
}

export function chatParts({ block, at }: Placed): ChatPart[] {
  switch (block.type) {
    case 'text':
    case 'compaction':
      return textPart(wordsOf({ block, at }))
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(objectAt(block, 'source', at), at) } }]
    case 'document':
      return documentParts(block, objectAt(block, 'source', at), at)
    case 'search_result':
      return textPart(
        joined([
          titleOf(block),
          ...placed(block.content, `${at}.content`).map((inner) => stringAt(inner.block, 'text', inner.at)),
        ]),
      )
    // The tool that a search for tools has found; all tools are sent to this model anyway.
    case 'tool_reference':
      return textPart(stringAt(block, 'tool_name', at))
    default:
      throw unsupported(at, `a block of type '${block.type}'`)
  }
}

function imageUrl(source: Record<string, unknown>, at: string): string {
  if (source.type === 'url') return stringAt(source, 'url', `${at}.source`)
  if (source.type === 'base64') return dataUrl(source, at)
  throw unsupported(`${at}.source`, `a picture by '${source.type}'; send it as base64 or by its URL`)
}

function documentParts(
  block: Record<string, unknown>,
  source: Record<string, unknown>,
  at: string,
): ChatPart[] {
  const title = titleOf(block)
  const context = typeof block.context === 'string' ? block.context : ''
  const inside = `${at}.source`
  if (source.type === 'text') return textPart(joined([title, context, stringAt(source, 'data', inside)]))
  if (source.type === 'content') {
    return [
      ...textPart(joined([title, context])),
      ...placed(source.content, `${inside}.content`).flatMap(chatParts),
    ]
  }
  if (source.type === 'base64') {
    const file = { filename: title || 'document.pdf', file_data: dataUrl(source, at) }
    return [...textPart(context), { type: 'file', file }]
  }
  throw unsupported(inside, `a document by '${source.type}'; send it as base64 or as text`)
}

function dataUrl(source: Record<string, unknown>, at: string): string {
  const inside = `${at}.source`
  return `data:${stringAt(source, 'media_type', inside)};base64,${stringAt(source, 'data', inside)}`
}

function titleOf({ title }: Record<string, unknown>): string {
  return typeof title === 'string' ? title : ''
}

function textPart(text: string): ChatPart[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

export function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(BLANK_LINE)
}

/** A content as blocks: a string is one block of text. */
export function placed(content: unknown, at: string): Placed[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, at }]
  if (!Array.isArray(content)) throw wrongType(at, 'a string or an array of blocks')
  return content.map((block, index) => {
    if (!isObject(block)) throw wrongType(`${at}[${index}]`, 'a block')
    return { block, at: `${at}[${index}]` }
  })
}

export function stringAt(holder: Record<string, unknown>, field: string, at: string): string {
  const value = holder[field]
  if (typeof value !== 'string') throw wrongType(`${at}.${field}`, 'a string')
  return value
}

function objectAt(holder: Record<string, unknown>, field: string, at: string): Record<string, unknown> {
  const value = holder[field]
  if (!isObject(value)) throw wrongType(`${at}.${field}`, 'an object')
  return value
}

function wrongType(at: string, expected: string): GatewayError {
  return invalidRequest(at, `Invalid type for '${at}': expected ${expected}.`, 'invalid_type')
}

export function unsupported(at: string, what: string): GatewayError {
  const message = `Unsupported value: '${at}' is ${what}. This model is served through another API, which has no form for it: leave it out, or choose another model.`
  return invalidRequest(at, message, 'unsupported_value')
}
