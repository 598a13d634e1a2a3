// A request for a chat completion as one for a message: turns, blocks, tools and limits in the vocabulary of messages.
// What that form cannot say is left out where an answer without it is still an answer, and refused where it is not.

import type { Ask, Model } from '../family'
import { invalidRequest } from '../lib/errors'
import type { ChatBody } from './chat-completions'

type Block = Record<string, unknown>
interface Turn {
  role: 'user' | 'assistant'
  content: Block[]
}

/** The body for the vendor. Throws 400 for what cannot be translated, with the field named. */
export function messageRequest({ body }: Ask<ChatBody>, model: Model): Record<string, unknown> {
  const system = systemOf(body)
  const { stop, user, reasoning_effort: effort } = body
  return {
    model: model.upstreamModel,
    max_tokens: body.max_completion_tokens ?? body.max_tokens ?? model.reserveOutputTokens,
    ...(system !== '' && { system }),
    messages: turnsOf(body),
    ...toolsOf(body),
    ...given('temperature', body.temperature, (value) => Math.min(value, 1)),
    ...given('top_p', body.top_p, (value) => value),
    ...given('stop_sequences', stop, (value) => [value].flat().filter((text) => text.trim() !== '')),
    ...given('metadata', user, (value) => ({ user_id: value })),
    ...(effort === 'none' && { thinking: { type: 'disabled' } }),
    ...outputConfig(body),
    ...(body.stream && { stream: true }),
  }
}

function given<Value, Result>(
  name: string,
  value: Value | null | undefined,
  put: (value: Value) => Result,
): Record<string, Result> {
  return value === undefined || value === null ? {} : { [name]: put(value) }
}

const JSON_ONLY = 'Answer with one JSON object and nothing else.'

/** All that the operator of the conversation says, wherever it stands: messages have one place for it. */
function systemOf({ messages, response_format: format }: ChatBody): string {
  const texts = messages
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map(({ content }) => (typeof content === 'string' ? content : textsIn(content).join('\n\n')))
  if (format && (format as { type?: unknown }).type === 'json_object') texts.push(JSON_ONLY)
  return texts.filter((text) => text !== '').join('\n\n')
}

/** Turns of one side after another are one turn, with the results of tools in front. */
function turnsOf({ messages }: ChatBody): Turn[] {
  const turns: Turn[] = []
  messages.forEach((message, index) => {
    if (message.role === 'system' || message.role === 'developer') return
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = blocksOf(message, `messages[${index}]`)
    if (content.length === 0) return
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  })
  for (const { content } of turns) content.sort((a, b) => Number(isResult(b)) - Number(isResult(a)))
  if (turns.length === 0) {
    throw invalidRequest('messages', "Invalid 'messages': there is no message of role 'user'.")
  }
  return turns
}

function isResult({ type }: Block): boolean {
  return type === 'tool_result'
}

function blocksOf(message: ChatBody['messages'][number], field: string): Block[] {
  const { role, content, tool_call_id: id } = message
  if (role === 'function') {
    throw invalidRequest(`${field}.role`, "Messages of role 'function' are not taken here: use role 'tool'.")
  }
  const blocks = contentBlocks(content, `${field}.content`)
  if (role === 'tool') return [{ type: 'tool_result', tool_use_id: id, content: blocks }]
  if (role === 'user') return blocks
  const { tool_calls: calls, refusal } = message as { tool_calls?: unknown; refusal?: unknown }
  const refused = typeof refusal === 'string' && refusal !== '' ? [{ type: 'text', text: refusal }] : []
  return [...blocks, ...refused, ...(Array.isArray(calls) ? calls.map(toolUse) : [])]
}

function contentBlocks(content: unknown, field: string): Block[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.flatMap((part, index) => partBlocks(part as Block, `${field}[${index}]`))
}

function partBlocks(part: Block, field: string): Block[] {
  if (part.type === 'text' || part.type === 'refusal') {
    const text = part.text ?? part.refusal
    return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []
  }
  if (part.type === 'image_url') {
    const { image_url: image } = part
    const url = typeof image === 'string' ? image : (image as { url?: unknown } | undefined)?.url
    return [{ type: 'image', source: sourceOf(url, `${field}.image_url.url`) }]
  }
  if (part.type === 'file') {
    const { file_data: data } = (part.file ?? {}) as { file_data?: unknown }
    return [{ type: 'document', source: sourceOf(data, `${field}.file.file_data`) }]
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

function toolUse(call: unknown): Block {
  const { id, function: called } = (call ?? {}) as { id?: unknown; function?: Block }
  return { type: 'tool_use', id, name: called?.name, input: inputOf(called?.arguments) }
}

/** Arguments are a text there and an object here; what is no object is kept under a name of its own. */
function inputOf(text: unknown): unknown {
  if (typeof text !== 'string' || text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { _raw: text }
  } catch {
    return { _raw: text }
  }
}

function toolsOf(body: ChatBody): Record<string, unknown> {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body
  if (!tools || tools.length === 0) return {}
  const alone = parallel === false ? { disable_parallel_tool_use: true } : {}
  const chosen = choiceOf(choice)
  return {
    tools: tools.map((tool, index) => toolOf(tool, `tools[${index}]`)),
    ...((chosen || parallel === false) && { tool_choice: { ...(chosen ?? { type: 'auto' }), ...alone } }),
  }
}

function toolOf(tool: unknown, field: string): Block {
  const { type, function: called } = (tool ?? {}) as { type?: unknown; function?: Block }
  if (type !== 'function' || typeof called?.name !== 'string') {
    throw invalidRequest(field, `Invalid '${field}': this model takes tools of type 'function' with a name.`)
  }
  const { name, description, parameters, strict } = called
  return {
    name,
    ...given('description', description, (text) => text),
    input_schema: parameters ?? { type: 'object', properties: {} },
    ...(strict === true && { strict: true }),
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

function outputConfig(body: ChatBody): Record<string, unknown> {
  const { reasoning_effort: effort, response_format: format } = body
  const { type, json_schema: named } = (format ?? {}) as {
    type?: unknown
    json_schema?: { schema?: unknown }
  }
  const config = {
    ...(typeof effort === 'string' && effort !== 'none' && { effort: effort === 'minimal' ? 'low' : effort }),
    ...(type === 'json_schema' && named?.schema ? { format: { type, schema: named.schema } } : {}),
  }
  return Object.keys(config).length > 0 ? { output_config: config } : {}
}

function textsIn(content: unknown): string[] {
  const parts = Array.isArray(content) ? content : []
  return parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
}
