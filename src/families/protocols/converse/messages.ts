// Writes the turns of a conversation as messages of Converse: texts, files, calls of tools and their results. Thinking is omitted.
// Anything that Converse cannot express is refused with its place.

import type { Model } from '../../../contract/family'
import { hasPrice } from '../../../contract/prices'
import { invalidRequest } from '../../../lib/errors'
import { callInput } from '../../chat/answer-parts'
import type {
  AssistantStep,
  CacheMark,
  Conversation,
  Part,
  ToolCall,
  ToolResult,
} from '../../conversation/conversation'
import { sidesOf } from '../../conversation/sides'
import { documentBlock, imageBlock } from './files'

type Block = Record<string, unknown>

interface Message {
  role: 'user' | 'assistant'
  content: Block[]
}

/** Maximum length of a call's id. */
const MAX_ID_LENGTH = 64

/** The messages. Calls and their results become texts if no tools are sent, because Converse refuses them then. */
export function converseMessages(conversation: Conversation, model: Model, hasTools: boolean): Message[] {
  const names = new Set<string>()
  const blocksOf = (part: Part) => [...partBlocks(part, names), ...cachePoint(part.cache, model)]
  const sides = sidesOf<Block>(conversation, model, {
    results: ({ results }) =>
      results.flatMap((result) => [
        ...(hasTools ? resultBlock(result, names) : resultAsText(result, names)),
        ...cachePoint(lastMarkIn(result), model),
      ]),
    user: ({ parts }) => parts.flatMap(blocksOf),
    instruction: (text, part) => [{ text }, ...cachePoint(part.cache, model)],
    assistant: ({ steps }) => steps.flatMap((step) => stepBlocks(step, model, hasTools)),
  })
  const messages = sides.map(({ isAssistant, blocks }): Message => {
    return { role: isAssistant ? 'assistant' : 'user', content: blocks }
  })
  messages.at(-1)?.content.push(...cachePoint(conversation.cache, model))
  return messages
}

/** The mark of the end of a cache, which is a separate block in Converse. Models without a price for caching do not get it. */
export function cachePoint(mark: CacheMark | undefined, { priceList }: Model): Block[] {
  if (!mark || !hasPrice(priceList, 'cached_input_token')) return []
  return [{ cachePoint: { type: 'default', ...(mark.ttl === '1h' && { ttl: mark.ttl }) } }]
}

function stepBlocks(step: AssistantStep, model: Model, hasTools: boolean): Block[] {
  if (step.kind === 'reasoning') return []
  if (step.kind === 'text') return [...textBlocks(step.text), ...cachePoint(step.cache, model)]
  const { call } = step
  return [hasTools ? callBlock(call) : callAsText(call), ...cachePoint(call.cache, model)]
}

function callBlock(call: ToolCall): Block {
  return { toolUse: { toolUseId: plainId(call.id), name: call.name, input: inputOf(call) } }
}

function callAsText(call: ToolCall): Block {
  return { text: `Call ${plainId(call.id)} of ${call.name}: ${JSON.stringify(inputOf(call))}` }
}

/** The input, which must be an object. A custom tool, in a conversation that began with another model, has a text as input. */
function inputOf({ form, input }: ToolCall): object {
  return form === 'custom' ? { input } : callInput(input)
}

function resultBlock({ call, parts, hasFailed }: ToolResult, names: Set<string>): Block[] {
  const content = parts.flatMap((part) => partBlocks(part, names))
  return [{ toolResult: { toolUseId: plainId(call.id), content, ...(hasFailed && { status: 'error' }) } }]
}

function resultAsText({ call, parts, hasFailed }: ToolResult, names: Set<string>): Block[] {
  const text = `Result of call ${plainId(call.id)}${hasFailed ? ', which failed' : ''}:`
  return [{ text }, ...parts.flatMap((part) => partBlocks(part, names))]
}

/** The last mark inside a result. Converse does not accept any there. */
function lastMarkIn({ parts, cache }: ToolResult): CacheMark | undefined {
  return cache ?? parts.findLast((part) => part.cache)?.cache
}

/** The id of a call. Ids of other vendors, in a conversation that began there, may contain letters that are refused here. */
function plainId(id: string): string {
  return id.replaceAll(/[^\w-]/g, '_').slice(0, MAX_ID_LENGTH)
}

function partBlocks(part: Part, names: Set<string>): Block[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text)
    case 'image':
      return [imageBlock(part)]
    case 'document':
      return [documentBlock(part, names)]
  }
  const at = `${part.at}.type`
  throw invalidRequest(at, `Invalid value for '${at}': this model takes texts, pictures and documents.`)
}

function textBlocks(text: string): Block[] {
  // The vendor refuses a blank text.
  return text.trim() === '' ? [] : [{ text }]
}
