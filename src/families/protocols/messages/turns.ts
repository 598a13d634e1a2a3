// Writes the turns of a conversation as messages. Thinking goes back only to the vendor that wrote it. Anything that messages
// cannot express is refused with its place.

import type { Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { callInput } from '../../chat/answer-parts'
import { demandsReasoning } from '../../chat/returned-reasoning'
import type { WriteOptions } from '../../conversation/bridge'
import type {
  AssistantStep,
  CacheMark,
  Conversation,
  DocumentPart,
  ImagePart,
  Part,
  ReasoningStep,
  ToolResult,
} from '../../conversation/conversation'
import { inlineFile, textOfFile } from '../../conversation/inline-file'
import { sidesOf } from '../../conversation/sides'
import { unsupportedField } from '../../responses/refusals'
import { openReasoning, type ThinkingBlock } from '../../sealed-reasoning'

export type Block = { type: string; [field: string]: unknown }

export interface Message {
  role: 'user' | 'assistant'
  content: Block[]
}

/** Placeholder for thinking while a request is only checked: it is counted, but nobody reads it. */
export const UNREAD: Block = { type: 'thinking' }

/** The turns of both sides, those of one side merged with results first. */
export function messagesOf(conversation: Conversation, model: Model, options: WriteOptions): Message[] {
  const isCarried = conversation.settings.reasoning.isCarried === true
  const sides = sidesOf<Block>(conversation, model, {
    results: ({ results }) => results.map(resultBlock),
    user: ({ parts }) => parts.map(partBlock),
    instruction: (text) => [{ type: 'text', text }],
    assistant({ steps }) {
      // Thinking without a following text or call is useless.
      const speaks = steps.some(({ kind }) => kind !== 'reasoning')
      const think = (step: ReasoningStep) => thinkingOf(step, isCarried, model, options)
      return speaks ? steps.flatMap((step) => stepBlocks(step, think)) : []
    },
  })
  return sides.map(({ isAssistant, blocks }) => ({
    role: isAssistant ? 'assistant' : 'user',
    content: blocks,
  }))
}

function stepBlocks(step: AssistantStep, think: (step: ReasoningStep) => Block[]): Block[] {
  if (step.kind === 'reasoning') return think(step)
  if (step.kind === 'text') return [{ type: 'text', text: step.text, ...marked(step.cache) }]
  const { id, name, input, cache, form, at } = step.call
  if (form === 'custom') {
    throw invalidRequest(at, `Invalid '${at}': this model calls functions, and no custom tools.`)
  }
  return [{ type: 'tool_use', id: plainId(id), name, input: callInput(input), ...marked(cache) }]
}

/** The thinking in a step. Unsealed text goes to vendors that require it, from callers who cannot keep sealed thinking. */
function thinkingOf(
  { text, sealed }: ReasoningStep,
  isCarried: boolean,
  model: Model,
  { answer }: WriteOptions,
): Block[] {
  if (sealed === undefined) {
    return !isCarried && text !== '' && demandsReasoning(model) ? [{ type: 'thinking', thinking: text }] : []
  }
  if (!answer) return [UNREAD]
  const opened = openReasoning({ answer }, model, sealed)
  const blocks = opened?.kind === 'messages' ? opened.blocks : []
  return blocks.filter((block) => isTaken(block, model)).map(thinkingBlock)
}

/** Vendors refuse unsigned thinking, except those that require all of it back. */
function isTaken(block: ThinkingBlock, model: Model): boolean {
  return 'redacted' in block || block.signature !== '' || demandsReasoning(model)
}

function thinkingBlock(block: ThinkingBlock): Block {
  if ('redacted' in block) return { type: 'redacted_thinking', data: block.redacted }
  return { type: 'thinking', thinking: block.thinking, signature: block.signature }
}

function resultBlock({ call, parts, hasFailed, cache }: ToolResult): Block {
  return {
    type: 'tool_result',
    tool_use_id: plainId(call.id),
    content: parts.map(partBlock),
    ...(hasFailed && { is_error: true }),
    ...marked(cache),
  }
}

/** The id of a call. Ids of other vendors, in a conversation that began there, may contain letters that are refused here. */
function plainId(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_')
}

function partBlock(part: Part): Block {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, ...marked(part.cache) }
    case 'image':
      return { type: 'image', source: sourceOf(part), ...marked(part.cache) }
    case 'document': {
      const title = part.filename !== undefined && { title: part.filename }
      return {
        type: 'document',
        source: documentSource(part),
        ...title,
        ...marked(part.cache),
      }
    }
  }
  const at = `${part.at}.type`
  throw invalidRequest(at, `Invalid value for '${at}': this model takes texts, pictures and documents.`)
}

/** The mark, which callers write as this vendor does. */
export function marked(cache: CacheMark | undefined): { cache_control?: object } {
  return cache ? { cache_control: { type: 'ephemeral', ...cache } } : {}
}

function sourceOf(part: ImagePart | DocumentPart): Block {
  const { url, urlAt } = part
  const file = inlineFile(part)
  if (file) return { type: 'base64', media_type: file.type, data: file.data }
  if (/^https?:\/\//i.test(url)) return { type: 'url', url }
  throw invalidRequest(urlAt, `Invalid '${urlAt}': expected an http or https address, or a data URL.`)
}

/** The source of a document. Texts are sent as text: the vendor accepts only PDF files as bytes. */
function documentSource(part: DocumentPart): Block {
  const file = inlineFile(part)
  if (!file || file.type === 'application/pdf') return sourceOf(part)
  const text = textOfFile(file)
  if (text !== undefined) return { type: 'text', media_type: 'text/plain', data: text }
  throw unsupportedField(part.urlAt, 'this model reads PDF files and texts')
}
