// Writes the turns of a response's input as turns of messages: texts, pictures, documents, calls of tools and their
// results. Reasoning keeps its place, sealed: it is opened later. What messages have no form for is refused by its place.

import { invalidRequest } from '../../../lib/errors'
import { callInput } from '../../chat/answer-parts'
import type { InputPart } from '../parts'
import { unsupportedField, wrongValue } from '../refusals'
import type { AssistantStep, CallOutput, Conversation, Turn } from '../turns'

export type Block = { type: string; [field: string]: unknown }

export interface MessageTurn {
  role: 'user' | 'assistant'
  content: readonly Block[]
}

/** A turn in which blocks of type `sealed` stand for thinking. */
export interface DraftMessage {
  role: 'user' | 'assistant'
  blocks: Block[]
}

/** Texts of the operator that begin the input. */
export function leadingInstructions({ turns }: Conversation): string[] {
  const end = turns.findIndex(({ side }) => side !== 'system')
  return (end === -1 ? turns : turns.slice(0, end)).flatMap((turn) =>
    turn.side === 'system' ? [turn.text] : [],
  )
}

/** The turns after the leading instructions; later instructions become texts of the user, marked as such. */
export function draftMessages({ turns }: Conversation): DraftMessage[] {
  const begin = turns.findIndex(({ side }) => side !== 'system')
  const messages: DraftMessage[] = []
  for (const turn of begin === -1 ? [] : turns.slice(begin)) {
    const role = turn.side === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(turn)
    const last = messages.at(-1)
    if (last?.role === role) for (const block of blocks) last.blocks.push(block)
    else if (blocks.length > 0) messages.push({ role, blocks })
  }
  if (messages.length > 0) return messages
  throw invalidRequest('input', "Invalid 'input': there is nothing to answer. Send a message of role 'user'.")
}

function blocksOf(turn: Turn): Block[] {
  if (turn.side === 'system') return [{ type: 'text', text: `<system>\n${turn.text}\n</system>` }]
  if (turn.side === 'user') return [...turn.outputs.map(toolResult), ...turn.parts.map(partBlock)]
  // Thinking that led to nothing is of no use.
  const speaks = turn.sayings.some(({ kind }) => kind !== 'reasoning')
  return speaks ? turn.sayings.flatMap(sayingBlock) : []
}

function sayingBlock(saying: AssistantStep): Block[] {
  if (saying.kind === 'text') return [{ type: 'text', text: saying.text }]
  if (saying.kind === 'call') {
    const { id, flatName: name, arguments: text } = saying.call
    return [{ type: 'tool_use', id: plainId(id), name, input: callInput(text) }]
  }
  return saying.sealed === undefined ? [] : [{ type: 'sealed', sealed: saying.sealed }]
}

function toolResult({ call, parts, hasFailed }: CallOutput): Block {
  return {
    type: 'tool_result',
    tool_use_id: plainId(call.id),
    content: parts.map(partBlock),
    ...(hasFailed && { is_error: true }),
  }
}

/** The id of a call. Ids of other vendors may have letters that are refused here. */
function plainId(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_')
}

function partBlock(part: InputPart): Block {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'image':
      return { type: 'image', source: sourceOf(part.url, `${part.at}.image_url`) }
    case 'file': {
      const source = documentSource(part.source, `${part.at}.${part.from}`)
      return { type: 'document', source, ...(part.filename !== undefined && { title: part.filename }) }
    }
    case 'audio':
      throw wrongValue(`${part.at}.type`, 'input_audio', ['input_text', 'input_image', 'input_file'])
  }
}

const DATA_URL = /^data:([a-z0-9.+/-]+)(?:;[a-z0-9-]+=[^;,]*)*;base64,/i

function sourceOf(url: string, at: string): Block {
  const inline = DATA_URL.exec(url)
  if (inline) return { type: 'base64', media_type: inline[1], data: url.slice(inline[0].length) }
  if (/^https?:\/\//i.test(url)) return { type: 'url', url }
  throw invalidRequest(at, `Invalid '${at}': expected an http or https address, or a data URL.`)
}

/** The source of a document. Texts are sent as such: the vendor takes only PDF files as bytes. */
function documentSource(url: string, at: string): Block {
  const source = sourceOf(url, at)
  const { media_type: type, data } = source
  if (source.type === 'url' || type === 'application/pdf') return source
  if (typeof type === 'string' && /^(?:text\/|application\/(?:json|xml|x-yaml|yaml)$)/i.test(type)) {
    const text = Buffer.from(data as string, 'base64').toString('utf8')
    return { type: 'text', media_type: 'text/plain', data: text }
  }
  throw unsupportedField(at, 'this model reads PDF files and texts')
}
