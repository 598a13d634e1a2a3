// Reads a chat completion request into a conversation. It must never drop a field silently: fields that no vendor could serve are
// refused with their place, and omitted ones are in the table of fields.

import { type GatewayError, invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import { type ChatBody, checkChat } from '../../chat/caller-side'
import type {
  AnswerFormat,
  Conversation,
  ReasoningOptions,
  Settings,
  Tool,
  ToolChoice,
} from '../../conversation/conversation'
import { cacheMarkIn, missingParameter } from './parts'
import { turnsOfChat } from './turns'

type Fields = Record<string, unknown>

/** Fields of other vendors that callers write into a chat completion request. */
interface Extras {
  top_k?: unknown
  thinking?: unknown
  include_reasoning?: unknown
  safety_identifier?: string | null
}

export function readChat(body: ChatBody): Conversation {
  checkChat(body)
  const tools = (body.tools ?? []).map((tool, index) => toolOf(asObject(tool), `tools[${index}]`))
  const hasTools = tools.length > 0
  return {
    turns: turnsOfChat(body),
    instructionsHold: 'everywhere',
    tools,
    choice: hasTools ? choiceOf(body.tool_choice) : undefined,
    parallelCalls: hasTools ? (body.parallel_tool_calls ?? undefined) : undefined,
    settings: settingsOf(body),
    extra: { messages: fieldsOf(body, ['thinking']), responses: fieldsOf(body, OF_RESPONSES) },
  }
}

/** Fields that the responses API has under the same names. */
const OF_RESPONSES = ['user', 'safety_identifier', 'prompt_cache_options', 'prompt_cache_retention'] as const

function fieldsOf(body: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, body[name]]).filter(([, value]) => isGiven(value)))
}

/** Null means the same as no value. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function toolOf(tool: Fields, at: string): Tool {
  const { type, function: called, custom } = tool
  const { name, description, parameters, strict, format } = asObject(type === 'custom' ? custom : called)
  if ((type !== 'function' && type !== 'custom') || typeof name !== 'string') {
    throw invalidRequest(
      at,
      `Invalid '${at}': this model takes tools of type 'function' or 'custom' with a name.`,
    )
  }
  const described = {
    name,
    description: textOr(description, `${at}.${type}.description`),
    at,
    ...cacheMarkIn(tool),
  }
  if (type === 'custom') {
    return { ...described, parameters: undefined, isStrict: false, custom: { format: flatGrammar(format) } }
  }
  if (isGiven(parameters) && !isObject(parameters)) {
    throw wrongType(`${at}.function.parameters`, 'a JSON schema')
  }
  return {
    ...described,
    parameters: isObject(parameters) ? parameters : undefined,
    isStrict: strict === true,
  }
}

/** The format of a custom tool, whose grammar is one level deeper in chat than in responses. */
function flatGrammar(format: unknown): unknown {
  const { type, grammar } = asObject(format)
  return type === 'grammar' ? { type, ...asObject(grammar) } : format
}

const MODES = ['none', 'auto', 'required'] as const

function choiceOf(choice: ChatBody['tool_choice']): ToolChoice | undefined {
  if (choice === undefined || choice === null) return undefined
  if (typeof choice === 'string') return { mode: modeOf(choice) }
  const { type, allowed_tools: allowed } = choice as Fields
  if (type !== 'allowed_tools') return { mode: 'required', allowed: [nameIn(choice)] }
  const { mode, tools } = asObject(allowed)
  return { mode: modeOf(mode), allowed: (Array.isArray(tools) ? tools : []).map(nameIn) }
}

function modeOf(word: unknown): ToolChoice['mode'] {
  const mode = MODES.find((each) => each === word)
  if (mode !== undefined) return mode
  throw invalidRequest(
    'tool_choice',
    `Invalid value for 'tool_choice': '${String(word).slice(0, 64)}'. Supported are auto, none, required, or a tool.`,
  )
}

function nameIn(tool: unknown): string {
  const { type, function: called, custom } = asObject(tool)
  const { name } = asObject(type === 'custom' ? custom : called)
  if (typeof name === 'string') return name
  throw invalidRequest('tool_choice', "Invalid 'tool_choice': expected a function with its name.")
}

function settingsOf(body: ChatBody): Settings {
  const { max_completion_tokens: limit, max_tokens: older, stop } = body
  const { top_k: topK, safety_identifier: identifier } = body as Extras
  const tokens = limit ?? older
  return {
    stream: body.stream === true,
    candidates: body.n ?? 1,
    limit: tokens ? { tokens, at: limit ? 'max_completion_tokens' : 'max_tokens' } : undefined,
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    topK: numberOr(topK, 'top_k'),
    stop: stop ? [stop].flat() : [],
    seed: body.seed ?? undefined,
    frequencyPenalty: body.frequency_penalty ?? undefined,
    presencePenalty: body.presence_penalty ?? undefined,
    format: formatOf(body),
    reasoning: reasoningOf(body),
    verbosity: verbosityOf(body),
    logprobs: body.logprobs === true ? (body.top_logprobs ?? 0) : undefined,
    user: body.user ?? identifier ?? undefined,
    cacheKey: body.prompt_cache_key ?? undefined,
    serviceTier: (body as Fields & { service_tier?: string | null }).service_tier ?? undefined,
  }
}

function formatOf({ response_format: format }: ChatBody): AnswerFormat | undefined {
  const { type, json_schema: named } = asObject(format)
  if (type === 'json_object') return { type }
  if (type !== 'json_schema') return undefined
  const { name, description, schema, strict } = asObject(named)
  if (!isObject(schema)) throw missingParameter('response_format.json_schema.schema')
  return {
    type,
    name: textOr(name, 'response_format.json_schema.name') ?? 'output',
    description: textOr(description, 'response_format.json_schema.description'),
    schema,
    isStrict: strict === true,
  }
}

/** How long to think. An effort works for every vendor; without one, `thinking` is read, the field of messages. */
function reasoningOf(body: ChatBody): ReasoningOptions {
  const { reasoning_effort: effort } = body
  const { thinking, include_reasoning: isShown } = body as Extras
  if (isGiven(thinking) && !isObject(thinking)) throw wrongType('thinking', 'an object')
  const { type, budget_tokens: budget } = asObject(thinking)
  return {
    effort: effort ?? (type === 'disabled' ? 'none' : undefined),
    effortAt: isGiven(effort) ? 'reasoning_effort' : undefined,
    budgetTokens: type === 'enabled' && typeof budget === 'number' ? budget : undefined,
    isShown: typeof isShown === 'boolean' ? isShown : undefined,
  }
}

function verbosityOf({ verbosity }: ChatBody): Settings['verbosity'] {
  if (verbosity === undefined || verbosity === null) return undefined
  if (verbosity === 'low' || verbosity === 'medium' || verbosity === 'high') return verbosity
  throw invalidRequest('verbosity', "Invalid value for 'verbosity'. Supported are low, medium and high.")
}

function textOr(value: unknown, at: string): string | undefined {
  if (typeof value === 'string') return value
  if (isGiven(value)) throw wrongType(at, 'a string')
  return undefined
}

function numberOr(value: unknown, at: string): number | undefined {
  if (typeof value === 'number') return value
  if (isGiven(value)) throw wrongType(at, 'a number')
  return undefined
}

function wrongType(at: string, expected: string): GatewayError {
  return invalidRequest(at, `Invalid type for '${at}': expected ${expected}.`, 'invalid_type')
}
