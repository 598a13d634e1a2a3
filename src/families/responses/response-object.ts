// The response object: the settings of the request, and the output with its usage. Bridges and streams create theirs here, so that
// each has every member that clients require. It must never repeat a secret of the request.

import type { Model, ParsedRequest, Quantities } from '../../contract/family'
import { inputTokensOf, outputTokensOf } from '../../contract/units'
import { asObject, isObject } from '../../lib/objects'
import type { ResponsesBody } from './caller-side'
import { servedBody } from './sent-tools'

export type Fields = Record<string, unknown>

/** An item of the output, such as a message, a piece of reasoning or a call of a tool. */
export interface OutputItem extends NewItem {
  id: string
}

/** An item before it has its index in the output, from which its id is derived. */
export interface NewItem extends Fields {
  type: string
}

/** The tokens of an answer. The input includes tokens read from a cache or written to it. */
interface ResponseUsage {
  inputTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  outputTokens: number
  reasoningTokens: number
}

/** The end of an answer. */
export interface ResponseEnd {
  status: 'completed' | 'incomplete' | 'failed'
  /** Why an incomplete answer ended: `max_output_tokens` or `content_filter`. */
  incompleteReason?: string | undefined
  error?: { code: string; message: string }
  usage?: ResponseUsage | undefined
  /** The tier that the vendor reports. */
  serviceTier?: string | undefined
  /** Members of the response and of its last event that no dialect knows. */
  note?: object
}

/** The measured usage in the terms of responses. `reasoningTokens` are part of the output, as the vendor reports them. */
export function responseUsage(usage: Quantities, reasoningTokens: number): ResponseUsage {
  const outputTokens = outputTokensOf(usage)
  return {
    inputTokens: inputTokensOf(usage),
    cachedTokens: (usage.cached_input_token ?? 0) + (usage.cached_input_audio_token ?? 0),
    cacheWriteTokens: (usage.cache_write_token ?? 0) + (usage.cache_write_1h_token ?? 0),
    outputTokens,
    reasoningTokens: Math.min(Math.max(0, reasoningTokens), outputTokens),
  }
}

/**
 * The response with its output; without an end, the answer is still in progress. Tools that the model did not get are left out.
 * `begun` is the same response at its beginning, if it was made.
 */
export function responseObject(
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
  output: readonly OutputItem[] = [],
  end?: ResponseEnd,
  begun?: Fields,
): Fields {
  const { body, at, answer } = parsed
  const createdAt = unixSeconds(at)
  const response = begun ?? {
    id: answer?.id ?? `resp_${at.toString(36)}`,
    object: 'response',
    created_at: createdAt,
    completed_at: null,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    model: model.id,
    output,
    ...(answer?.conversationId !== undefined && { conversation: { id: answer.conversationId } }),
    ...settingsOf(servedBody(body, model), answer?.isKept ?? false, answer?.isInBackground ?? false),
    usage: null,
  }
  if (!end) return response
  const { status, error = null, incompleteReason, usage, serviceTier, note } = end
  return {
    ...response,
    completed_at: status === 'completed' ? unixSeconds(answer?.now() ?? at) : null,
    status,
    error,
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    output,
    ...(serviceTier && { service_tier: tierOf(serviceTier) }),
    usage: usage ? usageObject(usage) : null,
    ...note,
  }
}

export function unixSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}

/** The name of a tier in the responses API. */
function tierOf(tier: string): string {
  return tier === 'standard' || tier === 'auto' ? 'default' : tier
}

/** The settings of the request as they were applied. */
function settingsOf(body: ResponsesBody, isKept: boolean, isInBackground: boolean): Fields {
  const { text, reasoning, tools = [], user, safety_identifier: identifier } = body
  return {
    instructions: body.instructions ?? null,
    previous_response_id: body.previous_response_id ?? null,
    tools: (tools ?? []).map(toolEcho),
    tool_choice: body.tool_choice ?? 'auto',
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    temperature: body.temperature ?? 1,
    top_p: body.top_p ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: body.top_logprobs ?? 0,
    truncation: 'disabled',
    text: textEcho(text),
    reasoning: { effort: null, summary: null, ...withoutNulls(reasoning) },
    background: isInBackground,
    store: isKept,
    service_tier: 'default',
    user: user ?? null,
    safety_identifier: identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    metadata: body.metadata ?? {},
  }
}

/** Members that strict clients require in a function and in a format, whether or not the caller sent them. */
const FUNCTION_MEMBERS = { description: null, parameters: null, strict: null }
const FORMAT_MEMBERS = { description: null, schema: null, strict: false }

/** Members in which a caller gives a remote server its secrets. */
const SECRETS = new Set(['authorization', 'headers'])

/** A tool with every member that clients require, and without the caller's secrets. */
export function toolEcho(tool: { type?: unknown }): object {
  return tool.type === 'function' ? { ...FUNCTION_MEMBERS, ...tool } : withoutSecrets(tool)
}

/** A tool without the caller's secrets. */
function withoutSecrets(tool: object): object {
  return Object.fromEntries(Object.entries(tool).filter(([name]) => !SECRETS.has(name)))
}

/** The settings of texts with every member that clients require. */
export function textEcho(text: unknown): Fields {
  const { format, ...rest } = withoutNulls(text)
  const { type = 'text' } = asObject(format)
  const members = type === 'json_schema' ? FORMAT_MEMBERS : {}
  return { format: { type, ...members, ...withoutNulls(format) }, ...rest }
}

/** The members that have a value; empty for anything but an object. */
export function withoutNulls(value: unknown): Fields {
  if (!isObject(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([, member]) => (member ?? null) !== null))
}

export function usageObject(usage: ResponseUsage): Fields {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.inputTokens + usage.outputTokens,
  }
}

/**
 * Id of an item: the prefix of its type (`msg`, `rs`, `fc`, `ctc`), the digits of the response's id, and its index in the output.
 */
export function itemId({ answer, at }: ParsedRequest, prefix: string, place: number): string {
  const digits = answer?.id.replace(/^[a-z]+_/, '') ?? at.toString(36)
  return `${prefix}_${digits}${place.toString(16).padStart(2, '0')}`
}

/** Valid ids for a look-up: every database accepts them, and they fit into an index. */
const ID = /^[\x20-\x7e]{1,512}$/

export function isItemId(id: unknown): id is string {
  return typeof id === 'string' && ID.test(id)
}
