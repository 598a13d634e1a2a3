// A messages request as a chat request: its limits, tools and wishes in the other vocabulary.
// It must never promise what chat cannot keep: tools that the vendor of messages runs itself are refused, wishes without a
// counterpart, such as `top_k`, are left out.

import type { Model } from '../family'
import { invalidRequest } from '../lib/errors'
import { isObject } from '../lib/objects'
import type { MessagesBody } from './messages'
import { chatMessages } from './messages-to-turns'

/** Budgets of thinking as the efforts that come next to them. */
const LOW_EFFORT_TOKENS = 4_096
const MEDIUM_EFFORT_TOKENS = 16_384

/** Throws 400 for what chat has no form for. */
export function chatRequest(body: MessagesBody, model: Model): Record<string, unknown> {
  if (body.max_tokens < 1) {
    throw invalidRequest(
      'max_tokens',
      `Invalid 'max_tokens': integer below minimum value. ${model.id} writes at least 1 token, but got ${body.max_tokens}.`,
      'integer_below_min_value',
    )
  }
  return withoutGaps({
    model: model.upstreamModel,
    messages: chatMessages(body),
    ...wordingOf(body, model),
    ...toolsOf(body, model),
    response_format: responseFormat(body),
    user: userOf(body),
    stream: body.stream === true ? true : undefined,
    stream_options: body.stream && model.upstream.streamUsage ? { include_usage: true } : undefined,
  })
}

/** Reasoning models have another name for the limit, refuse the rest, and have an effort instead. */
function wordingOf(body: MessagesBody, { reasoning }: Model) {
  if (reasoning) return { max_completion_tokens: body.max_tokens, reasoning_effort: effortOf(body) }
  const { max_tokens, temperature, top_p, stop_sequences: stop } = body
  return { max_tokens, temperature, top_p, stop: stop && stop.length > 0 ? stop : undefined }
}

function effortOf(body: MessagesBody): string | undefined {
  const { thinking } = body
  const { effort } = outputConfigOf(body)
  if (thinking?.type === 'disabled') return 'none'
  if (typeof effort === 'string') return effort === 'max' ? 'xhigh' : effort
  const budget = (thinking as { budget_tokens?: unknown } | null | undefined)?.budget_tokens
  if (thinking?.type !== 'enabled' || typeof budget !== 'number') return undefined
  if (budget <= LOW_EFFORT_TOKENS) return 'low'
  return budget <= MEDIUM_EFFORT_TOKENS ? 'medium' : 'high'
}

function toolsOf({ tools, tool_choice: choice, mcp_servers: servers }: MessagesBody & Extras, model: Model) {
  if (Array.isArray(servers) && servers.length > 0) {
    throw unsupported('mcp_servers', 'These servers are called by the vendor of another model', model)
  }
  if (!tools || tools.length === 0) return {}
  return {
    tools: tools.map((tool, index) => chatTool(tool, `tools[${index}]`, model)),
    tool_choice: choice ? chatToolChoice(choice) : undefined,
    parallel_tool_calls:
      choice && 'disable_parallel_tool_use' in choice ? !choice.disable_parallel_tool_use : undefined,
  }
}

/** Fields that only this family reads. */
interface Extras {
  mcp_servers?: unknown
  output_config?: unknown
}

function chatTool(tool: object, at: string, model: Model) {
  const { type, name, description, input_schema: schema } = tool as Record<string, unknown>
  if (type !== undefined && type !== null && type !== 'custom') {
    throw unsupported(at, `A tool of type '${type}' is known to the vendor of another model only`, model)
  }
  if (typeof name !== 'string') throw invalidRequest(`${at}.name`, `Missing '${at}.name': expected a string.`)
  if (!isObject(schema)) {
    throw invalidRequest(`${at}.input_schema`, `Missing '${at}.input_schema': expected a JSON schema.`)
  }
  const parameters = plainSchema(schema)
  return { type: 'function', function: withoutGaps({ name, description, parameters }) }
}

function chatToolChoice(choice: { type: string }): unknown {
  if (choice.type === 'auto' || choice.type === 'none') return choice.type
  if (choice.type === 'any') return 'required'
  const { name } = choice as { name?: unknown }
  if (choice.type === 'tool' && typeof name === 'string') return { type: 'function', function: { name } }
  throw invalidRequest(
    'tool_choice',
    `Invalid value for 'tool_choice': its type is 'auto', 'any', 'none', or 'tool' with a 'name'.`,
  )
}

/** Where a schema holds values, not schemas. */
const VALUES = new Set(['default', 'const', 'enum', 'examples', 'required'])

/**
 * Without `$schema` and `format`, which some vendors refuse; both are hints only. A parameter of such a name stays: what it
 * stands for is a schema, and not a string.
 */
function plainSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(plainSchema)
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => !((key === '$schema' || key === 'format') && typeof value === 'string'))
      .map(([key, value]) => [key, VALUES.has(key) ? value : plainSchema(value)]),
  )
}

function responseFormat(body: MessagesBody) {
  const { format } = outputConfigOf(body)
  if (!isObject(format) || format.type !== 'json_schema') return undefined
  return { type: 'json_schema', json_schema: { name: 'output', schema: format.schema, strict: true } }
}

/** Vendors want to tell users apart, not to know them. */
function userOf({ metadata }: MessagesBody): string | undefined {
  const { user_id: id } = (metadata ?? {}) as { user_id?: unknown }
  return typeof id === 'string' ? new Bun.CryptoHasher('sha256').update(id).digest('hex') : undefined
}

function outputConfigOf({ output_config: config }: MessagesBody & Extras): Record<string, unknown> {
  return isObject(config) ? config : {}
}

function unsupported(at: string, why: string, model: Model) {
  return invalidRequest(
    at,
    `Unsupported value for '${at}': ${why}, and ${model.id} calls only tools that have an 'input_schema'. Leave it out, or choose another model.`,
    'unsupported_value',
  )
}

/** Absent and null mean the same in messages, and nothing is sent for them. */
function withoutGaps(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )
}
