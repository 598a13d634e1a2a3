// Writes a conversation as a responses request: texts, calls and thoughts become items in order; tools and formats are flat. It
// must never drop anything silently: unsupported parts are refused with their place.

import type { Call, Model } from '../../../contract/family'
import { type GatewayError, invalidRequest } from '../../../lib/errors'
import { asObject } from '../../../lib/objects'
import type { WriteOptions } from '../../conversation/bridge'
import type { Conversation, Settings, Tool } from '../../conversation/conversation'
import { effortOf, forcedTool, withoutGaps } from '../../conversation/writing'
import { withoutReasoning } from '../../responses/native-request'
import { edited } from '../../traits/edit'
import { responsesEdit } from '../../traits/responses'
import { itemsOfTurns, leadingIn, textOfInstructions } from './items'

type Fields = Record<string, unknown>

const PROBABILITIES = 'message.output_text.logprobs'
const SEALED_REASONING = 'reasoning.encrypted_content'

/** Lowest limit of output tokens that vendors of the responses API accept. */
export const MIN_LIMIT = 16

/** The call. Throws 400, with the name of the field, for anything that cannot be expressed. */
export function writeResponses(conversation: Conversation, model: Model, options: WriteOptions): Call {
  const { settings, turns, extra } = conversation
  const leading = leadingIn(conversation)
  const request = withoutGaps({
    model: model.upstreamModel,
    store: false,
    instructions: leading.length > 0 ? textOfInstructions(leading) : undefined,
    input: itemsOfTurns(turns.slice(leading.length), conversation, model, options),
    stream: settings.stream ? true : undefined,
    max_output_tokens: limitOf(settings, model, options),
    temperature: settings.temperature,
    top_p: settings.topP,
    ...includedBy(settings),
    ...toolsOf(conversation),
    text: wordingOf(settings),
    reasoning: reasoningOf(settings, model),
    // Chat completions have a field for it that vendors know too.
    safety_identifier: extra?.responses?.user === undefined ? settings.user : undefined,
    prompt_cache_key: settings.cacheKey,
    service_tier: settings.serviceTier,
    ...extra?.responses,
  })
  return callOf(edited(request, responsesEdit(request, model)))
}

/** The call without the part that the vendor refused; undefined if it refused something else. */
export function writeAfterRefusal(refusal: GatewayError, { body }: Call): Call | undefined {
  const request = asObject(body && 'json' in body ? body.json : undefined)
  const input = withoutReasoning(refusal, request.input as Fields[])
  const rest = input ? { ...request, input } : withoutSummary(refusal, request)
  return rest && callOf(rest)
}

function callOf(request: Fields): Call {
  return {
    path: '/responses',
    protocol: 'openai',
    body: { json: request },
    stream: request.stream === true,
  }
}

/**
 * The limit of output tokens that is sent: clients that only test whether a model answers ask for one token. The answer may then be
 * longer than the caller's limit, and is held and charged as it is. Throws 400 if no output is allowed.
 */
function limitOf({ limit }: Settings, { id }: Model, { outputTokens }: WriteOptions): number | undefined {
  if (!limit) return outputTokens
  const { tokens, at } = limit
  if (tokens > 0) return Math.min(Math.max(tokens, MIN_LIMIT), outputTokens ?? Number.POSITIVE_INFINITY)
  throw invalidRequest(
    at,
    `Invalid '${at}': integer below minimum value. ${id} always writes: request 1 token or more.`,
    'integer_below_min_value',
  )
}

function includedBy({ logprobs, reasoning }: Settings): Fields {
  const include = [
    ...(logprobs === undefined ? [] : [PROBABILITIES]),
    ...(reasoning.isCarried ? [SEALED_REASONING] : []),
  ]
  return { include: include.length > 0 ? include : undefined, top_logprobs: logprobs }
}

function toolsOf({ tools, choice, parallelCalls }: Conversation): Fields {
  if (tools.length === 0) return {}
  return {
    tools: tools.map(toolOf),
    tool_choice: choice && choiceOf(choice, tools),
    parallel_tool_calls: parallelCalls,
  }
}

/**
 * A flat tool. Without `strict` the vendor would decide, and might refuse loose schemas. Tools that are strict by the rules of
 * messages may have optional members, which it refuses too.
 */
function toolOf({ name, description, parameters, isStrict, strictBy, custom }: Tool): Fields {
  if (custom) return withoutGaps({ type: 'custom', name, description, format: custom.format })
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    strict: isStrict && strictBy === undefined,
  }
}

function choiceOf(choice: NonNullable<Conversation['choice']>, tools: readonly Tool[]): unknown {
  const { mode, allowed } = choice
  if (!allowed) return mode
  const named = allowed.map((name) => {
    const isCustom = tools.some((tool) => tool.name === name && tool.custom)
    return { type: isCustom ? 'custom' : 'function', name }
  })
  return forcedTool(choice) !== undefined ? named[0] : { type: 'allowed_tools', mode, tools: named }
}

function wordingOf({ format, verbosity }: Settings): Fields | undefined {
  const text = withoutGaps({ format: format && formatOf(format), verbosity })
  return Object.keys(text).length > 0 ? text : undefined
}

function formatOf(format: NonNullable<Settings['format']>): Fields {
  if (format.type === 'json_object') return { type: format.type }
  const { type, name, description, schema, isStrict } = format
  return withoutGaps({ type, name, schema, strict: isStrict, description })
}

/**
 * How long to think. A summary is requested only for a caller that shows it: the vendor refuses it to unverified organizations
 * (home-assistant/core#160212, continuedev/continue#9607, January 2026).
 */
function reasoningOf(settings: Settings, model: Model): Fields | undefined {
  const effort = effortOf(settings, model)
  const summary = settings.reasoning.isShown && effort !== 'none' ? 'auto' : undefined
  return effort === undefined && summary === undefined ? undefined : withoutGaps({ effort, summary })
}

/** A request without the summary of reasoning; undefined if the vendor refused something else. */
function withoutSummary({ status, param }: GatewayError, request: Fields): Fields | undefined {
  if (status !== 400 || param !== 'reasoning.summary') return undefined
  const { summary, ...reasoning } = asObject(request.reasoning)
  return summary === undefined ? undefined : { ...request, reasoning }
}
