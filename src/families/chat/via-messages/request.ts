// Translates a chat completion request to a messages request: turns, blocks, tools and limits. It must never drop a
// field silently: what cannot be said is refused, and what is left out is in the table of fields.

import { invalidRequest } from '../../../lib/errors'
import { parseForeign } from '../../../lib/json/json'
import type { MessagesBody } from '../../messages/caller-side'
import { withOwnThinking } from '../../messages/own-thinking'
import { edited } from '../../traits/edit'
import { checkEffort } from '../../traits/efforts'
import { messagesEdit } from '../../traits/messages'
import { translatedOnce } from '../../translation'
import type { ChatBody } from '../caller-side'
import { demandsReasoning } from '../returned-reasoning'

type Fields = Record<string, unknown>
type Block = Fields & { type: string }
interface Turn {
  role: 'user' | 'assistant'
  content: Block[]
}

/** The body for the vendor. Throws 400 for what cannot be translated, with the field named. */
export const messageRequest = translatedOnce((body: ChatBody, model): MessagesBody => {
  const request = unfittedRequest(body, model)
  return edited(request, messagesEdit(request, model))
})

/** The body as any model of messages might take it, to be translated further. */
export const unfittedRequest = translatedOnce((body: ChatBody, model): MessagesBody => {
  const system = systemOf(body)
  const { stop, reasoning_effort: effort } = body
  if (typeof effort === 'string') checkEffort(model, effort, 'reasoning_effort')
  const { top_k: topK, thinking, safety_identifier: identifier } = body as Extras
  return {
    model: model.upstreamModel,
    // This vendor requires a limit. Without the caller's, it is the model's own, so that the answer is not cut.
    max_tokens:
      body.max_completion_tokens ?? body.max_tokens ?? model.maxOutputTokens ?? model.reserveOutputTokens,
    ...(system !== '' && { system }),
    messages: withOwnThinking(turnsOf(body, demandsReasoning(model)), model),
    ...toolsOf(body),
    ...samplingOf(body),
    ...given('stop_sequences', stop, (value) => [value].flat().filter((text) => text.trim() !== '')),
    ...given('metadata', body.user ?? identifier, (value) => ({ user_id: value })),
    ...(effort === 'none' && { thinking: { type: 'disabled' } }),
    ...given('thinking', thinking, (value) => value),
    ...given('top_k', topK, (value) => value),
    ...outputConfig(body),
    ...(body.stream && { stream: true }),
  }
})

/** Fields of this vendor that callers write into a chat completion request. */
interface Extras {
  top_k?: number | null
  thinking?: MessagesBody['thinking']
  safety_identifier?: string | null
}

function given<Value, Result>(
  name: string,
  value: Value | null | undefined,
  put: (value: Value) => Result,
): Record<string, Result> {
  return value === undefined || value === null ? {} : { [name]: put(value) }
}

/** Sampling fields. Models refuse both at once: a value without effect is left out. */
function samplingOf({ temperature, top_p: share }: ChatBody) {
  if (typeof temperature === 'number' && temperature < 1) return { temperature }
  return typeof share === 'number' && share < 1 ? { top_p: share } : {}
}

const JSON_ONLY = 'Answer with one JSON object and nothing else.'
const VERBOSITIES: Record<string, string> = {
  low: 'Keep the answer short.',
  medium: '',
  high: 'Answer at length, with all details.',
}

/** All instructions of the conversation's operator, wherever they stand: messages have one place for them. */
function systemOf({ messages, response_format: format, verbosity }: ChatBody): string {
  const texts = messages.flatMap(({ role, content }, index) =>
    role === 'system' || role === 'developer' ? textsIn(content, `messages[${index}].content`) : [],
  )
  if (format && (format as { type?: unknown }).type === 'json_object') texts.push(JSON_ONLY)
  if (verbosity !== undefined && verbosity !== null) texts.push(wishFor(verbosity))
  return texts.filter((text) => text !== '').join('\n\n')
}

function wishFor(verbosity: string): string {
  const wish = Object.hasOwn(VERBOSITIES, verbosity) ? VERBOSITIES[verbosity] : undefined
  if (wish !== undefined) return wish
  throw invalidRequest('verbosity', "Invalid value for 'verbosity'. Supported are low, medium and high.")
}

function textsIn(content: unknown, field: string): string[] {
  return contentBlocks(content, field).map(({ type, text }) => {
    if (type === 'text') return text as string
    throw invalidRequest(field, `Invalid '${field}': messages of the system are text only.`)
  })
}

/** The turns. Successive turns of one side are merged, with tool results first. `takesUnsigned` keeps reasoning. */
function turnsOf({ messages }: ChatBody, takesUnsigned: boolean): Turn[] {
  const turns: Turn[] = []
  messages.forEach((message, index) => {
    if (message.role === 'system' || message.role === 'developer') return
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const said = blocksOf(message, `messages[${index}]`)
    if (said.length === 0) return
    const content = takesUnsigned ? [...thinkingOf(message), ...said] : said
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  })
  for (const { content } of turns) content.sort((a, b) => Number(isResult(b)) - Number(isResult(a)))
  if (turns.length === 0) {
    throw invalidRequest(
      'messages',
      "Invalid 'messages': there is nothing to answer. Send a message of role 'user' that is not empty.",
    )
  }
  return turns
}

function isResult({ type }: Block): boolean {
  return type === 'tool_result'
}

function blocksOf(message: ChatBody['messages'][number], field: string): Block[] {
  const { role, content, tool_call_id: id } = message
  if (role === 'function') {
    const name = `${field}.role`
    throw invalidRequest(
      name,
      `Invalid value for '${name}': use 'tool' and 'tools' in the place of functions.`,
    )
  }
  const blocks = contentBlocks(content, `${field}.content`)
  if (role === 'tool') return [{ type: 'tool_result', tool_use_id: callId(id), content: blocks }]
  if (role === 'user') return message.name && blocks.length > 0 ? [speaker(message.name), ...blocks] : blocks
  const { tool_calls: calls, refusal } = message as { tool_calls?: unknown; refusal?: unknown }
  const refused = typeof refusal === 'string' && refusal !== '' ? [{ type: 'text', text: refusal }] : []
  const uses = (Array.isArray(calls) ? calls : []).map((call, index) =>
    toolUse(call, `${field}.tool_calls[${index}]`),
  )
  return [...blocks, ...refused, ...uses]
}

/** The reasoning of a message of the assistant, for vendors that take it without a signature. */
function thinkingOf(message: ChatBody['messages'][number]): Block[] {
  const { role, reasoning_content: text } = message as { role: string; reasoning_content?: unknown }
  return role === 'assistant' && typeof text === 'string' && text !== ''
    ? [{ type: 'thinking', thinking: text }]
    : []
}

/** A text that names which of several users is speaking. */
function speaker(name: string): Block {
  return { type: 'text', text: `${name}:` }
}

function contentBlocks(content: unknown, field: string): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.flatMap((part, index) =>
    partBlocks(part as Block, `${field}[${index}]`).map((block) => ({ ...block, ...cacheOf(part as Block) })),
  )
}

/** The cache mark, which callers write as this vendor does. */
function cacheOf({ cache_control: control }: Fields): Fields {
  return typeof control === 'object' && control !== null ? { cache_control: control } : {}
}

function partBlocks(part: Block, field: string): Block[] {
  if (part.type === 'text' || part.type === 'refusal') {
    const text = part[part.type]
    if (typeof text === 'string') return text === '' ? [] : [{ type: 'text', text }]
    const name = `${field}.${part.type}`
    throw invalidRequest(name, `Invalid type for '${name}': expected a string.`, 'invalid_type')
  }
  if (part.type === 'image_url') {
    const { image_url: image } = part
    const url = typeof image === 'string' ? image : (image as { url?: unknown } | undefined)?.url
    return [{ type: 'image', source: sourceOf(url, `${field}.image_url.url`) }]
  }
  if (part.type === 'file') {
    const { file_data: data, filename } = (part.file ?? {}) as { file_data?: unknown; filename?: unknown }
    const title = typeof filename === 'string' && filename !== '' && { title: filename }
    return [{ type: 'document', source: sourceOf(data, `${field}.file.file_data`), ...title }]
  }
  throw invalidRequest(
    `${field}.type`,
    `Invalid value for '${field}.type': this model takes text, image_url and file parts, not ${part.type}.`,
  )
}

const DATA_URL = /^data:([a-z0-9.+/-]+);base64,/i

function sourceOf(url: unknown, field: string): Block {
  if (typeof url !== 'string' || url === '') {
    throw invalidRequest(field, `Missing required parameter: '${field}'.`, 'missing_required_parameter')
  }
  const inline = DATA_URL.exec(url)
  if (inline) return { type: 'base64', media_type: inline[1], data: url.slice(inline[0].length) }
  if (/^https?:\/\//i.test(url)) return { type: 'url', url }
  throw invalidRequest(field, `Invalid '${field}': expected an http or https address, or a data URL.`)
}

function toolUse(call: unknown, field: string): Block {
  const { id, function: called } = (call ?? {}) as { id?: unknown; function?: Fields }
  if (typeof id !== 'string' || typeof called?.name !== 'string') {
    throw invalidRequest(field, `Invalid '${field}': expected an 'id', and a 'function' with its 'name'.`)
  }
  return { type: 'tool_use', id: callId(id), name: called.name, input: inputOf(called.arguments) }
}

/**
 * The id of a tool call. Ids of other vendors, in a conversation that began there, may have letters that are refused
 * here.
 */
function callId(id: unknown): string {
  return String(id).replaceAll(/[^\w-]/g, '_')
}

/**
 * The input of a tool call. Arguments are text in chat and an object here; other values are kept under a name of their
 * own.
 */
function inputOf(text: unknown): unknown {
  if (typeof text !== 'string' || text.trim() === '') return {}
  try {
    const value = parseForeign(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { _raw: text }
  } catch {
    return { _raw: text }
  }
}

function toolsOf(body: ChatBody) {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body
  if (!tools || tools.length === 0) return {}
  const chosen = choiceOf(choice) ?? (parallel === false ? { type: 'auto' } : undefined)
  const alone = parallel === false && chosen?.type !== 'none' && { disable_parallel_tool_use: true }
  return {
    tools: tools.map((tool, index) => toolOf(tool, `tools[${index}]`)),
    ...(chosen && { tool_choice: { ...chosen, ...alone } }),
  }
}

function toolOf(tool: unknown, field: string): Fields {
  const { type, function: called } = (tool ?? {}) as { type?: unknown; function?: Fields }
  if (type !== 'function' || typeof called?.name !== 'string') {
    throw invalidRequest(field, `Invalid '${field}': this model takes tools of type 'function' with a name.`)
  }
  const { name, description, parameters, strict } = called
  return {
    name,
    ...given('description', description, (text) => text),
    input_schema: parameters ?? { type: 'object', properties: {} },
    ...(strict === true && { strict: true }),
    ...cacheOf(tool as Fields),
  }
}

function choiceOf(choice: ChatBody['tool_choice']): Block | undefined {
  if (choice === undefined || choice === null) return undefined
  if (typeof choice === 'string') {
    const types: Record<string, string> = { auto: 'auto', none: 'none', required: 'any' }
    const type = types[choice]
    if (type) return { type }
    throw invalidRequest(
      'tool_choice',
      `Invalid value for 'tool_choice': '${choice}'. Supported are auto, none, required, or a tool.`,
    )
  }
  const { function: called } = choice as { function?: { name?: unknown } }
  if (typeof called?.name === 'string') return { type: 'tool', name: called.name }
  throw invalidRequest('tool_choice', "Invalid 'tool_choice': expected a function with its name.")
}

function outputConfig(body: ChatBody): Fields {
  const { reasoning_effort: effort } = body
  const schema = schemaOf(body)
  const config = {
    ...(typeof effort === 'string' && effort !== 'none' && { effort: effort === 'minimal' ? 'low' : effort }),
    ...(schema !== undefined && { format: { type: 'json_schema', schema } }),
  }
  return Object.keys(config).length > 0 ? { output_config: config } : {}
}

/** The schema that the answer must fit; undefined if none is wanted. */
function schemaOf({ response_format: format }: ChatBody): unknown {
  if (!format) return undefined
  const { type, json_schema: named } = format as { type?: unknown; json_schema?: { schema?: unknown } }
  if (type !== 'json_schema') return undefined
  if (typeof named?.schema === 'object' && named.schema !== null) return named.schema
  const field = 'response_format.json_schema.schema'
  throw invalidRequest(field, `Missing required parameter: '${field}'.`, 'missing_required_parameter')
}
