// Translates a messages request to a chat request: limits, tools and options. It must never drop a field silently: what
// chat cannot express is refused, and what is left out is in the table of fields.

import type { Model, ParsedRequest } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { isObject } from '../../../lib/objects'
import { type SealedMessage, withReturned } from '../../chat/returned-reasoning'
import { isHint, withoutKeywords } from '../../json-schema'
import { chatEdit } from '../../traits/chat'
import { edited } from '../../traits/edit'
import { checkEffort, effortOfBudget } from '../../traits/efforts'
import { translatedOnce } from '../../translation'
import type { MessagesBody } from '../caller-side'
import { chatMessages } from './turns'

/** The request, and its messages with the reasoning of each, which only the account's own key opens. */
interface Draft {
  request: Record<string, unknown>
  messages: readonly SealedMessage[]
}

/** The request without the reasoning of earlier turns. Throws 400 for what chat has no form for. */
export const draftOfMessages = translatedOnce((body: MessagesBody, model): Draft => {
  if (body.max_tokens < 1) {
    throw invalidRequest(
      'max_tokens',
      `Invalid 'max_tokens': integer below minimum value. ${model.id} writes at least 1 token, but got ${body.max_tokens}.`,
      'integer_below_min_value',
    )
  }
  const messages = chatMessages(body)
  const request = withoutGaps({
    model: model.upstreamModel,
    messages: messages.map(({ message }) => message),
    ...wordingOf(body, model),
    ...toolsOf(body),
    response_format: responseFormat(body),
    user: userOf(body),
    stream: body.stream === true ? true : undefined,
    stream_options: body.stream && model.upstream.streamUsage ? { include_usage: true } : undefined,
  })
  return { request: edited(request, chatEdit(request, model)), messages }
})

/** The chat request. Its vendor gets the reasoning of earlier turns that it wrote. */
export function chatRequestOfMessages(
  parsed: ParsedRequest<MessagesBody>,
  model: Model,
): Record<string, unknown> {
  const { request, messages } = draftOfMessages(parsed.body, model)
  return { ...request, messages: withReturned(messages, parsed, model) }
}

/** Limits, sampling, and how much the model is to think. */
function wordingOf(body: MessagesBody, model: Model) {
  const { max_tokens, temperature, top_p, stop_sequences: stop } = body
  return {
    max_tokens,
    temperature,
    top_p,
    stop: stop && stop.length > 0 ? stop : undefined,
    reasoning_effort: effortOfThinking(body, model),
  }
}

/** The effort that a request of messages asks for; `none` if it wants no thinking. */
export function effortOfThinking(body: MessagesBody, model: Model): string | undefined {
  const effort = effortIn(body)
  const isWritten = body.thinking?.type !== 'disabled' && typeof outputConfigOf(body).effort === 'string'
  if (effort === undefined || !isWritten) return effort
  // Other vendors rarely have a word for it.
  const word = effort === 'max' && !model.traits.efforts?.includes(effort) ? 'xhigh' : effort
  checkEffort(model, word, 'output_config.effort')
  return word
}

/** The effort that a request means, as its caller words it; undefined if it means none. It may not be checked yet. */
export function effortIn(body: MessagesBody & MessagesExtras): string | undefined {
  const { thinking } = body
  const { effort } = outputConfigOf(body)
  if (thinking?.type === 'disabled') return 'none'
  if (typeof effort === 'string') return effort
  const budget = (thinking as { budget_tokens?: unknown } | null | undefined)?.budget_tokens
  return thinking?.type === 'enabled' && typeof budget === 'number' ? effortOfBudget(budget) : undefined
}

function toolsOf({ tools, tool_choice: choice }: MessagesBody) {
  if (!tools || tools.length === 0) return {}
  return {
    tools: tools.map((tool, index) => chatTool(tool, `tools[${index}]`)),
    tool_choice: choice ? chatToolChoice(choice) : undefined,
    parallel_tool_calls:
      choice && 'disable_parallel_tool_use' in choice ? !choice.disable_parallel_tool_use : undefined,
  }
}

/** Fields that only this family reads. */
export interface MessagesExtras {
  output_config?: unknown
  output_format?: unknown
}

function chatTool(tool: object, at: string) {
  const {
    name,
    description,
    input_schema: schema,
    input_examples: examples,
  } = tool as Record<string, unknown>
  if (typeof name !== 'string') throw invalidRequest(`${at}.name`, `Missing '${at}.name': expected a string.`)
  if (!isObject(schema)) {
    throw invalidRequest(`${at}.input_schema`, `Missing '${at}.input_schema': expected a JSON schema.`)
  }
  const parameters = withoutKeywords(schema, isHint)
  const described = { name, description: withExamples(description, examples), parameters }
  return { type: 'function', function: withoutGaps(described) }
}

export function withExamples(description: unknown, examples: unknown): unknown {
  if (!Array.isArray(examples) || examples.length === 0) return description
  const lines = examples.map((example) => JSON.stringify(example))
  const texts = typeof description === 'string' ? [description] : []
  return [...texts, ['Examples of its input:', ...lines].join('\n')].join('\n\n')
}

export function chatToolChoice(choice: { type: string }): unknown {
  if (choice.type === 'auto' || choice.type === 'none') return choice.type
  if (choice.type === 'any') return 'required'
  const { name } = choice as { name?: unknown }
  if (choice.type === 'tool' && typeof name === 'string') return { type: 'function', function: { name } }
  throw invalidRequest(
    'tool_choice',
    `Invalid value for 'tool_choice': its type is 'auto', 'any', 'none', or 'tool' with a 'name'.`,
  )
}

function responseFormat(body: MessagesBody & MessagesExtras) {
  const format = outputConfigOf(body).format ?? body.output_format
  if (!isObject(format)) return undefined
  return { type: 'json_schema', json_schema: { name: 'output', schema: format.schema, strict: true } }
}

/** The user's id: vendors want to distinguish users, not to know them. */
export function userOf({ metadata }: MessagesBody): string | undefined {
  const { user_id: id } = (metadata ?? {}) as { user_id?: unknown }
  return typeof id === 'string' ? new Bun.CryptoHasher('sha256').update(id).digest('hex') : undefined
}

export function outputConfigOf({
  output_config: config,
}: MessagesBody & MessagesExtras): Record<string, unknown> {
  return isObject(config) ? config : {}
}

/** The fields without null: absent and null mean the same in messages. */
export function withoutGaps(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )
}
