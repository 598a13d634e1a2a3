// Writes a conversation as a chat completion request: messages, tools, limits and formats. It must never drop anything silently:
// anything that chat cannot express is refused with its place.

import type { Call, Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { withReturned } from '../../chat/returned-reasoning'
import type { WriteOptions } from '../../conversation/bridge'
import type { Conversation, Settings, Tool } from '../../conversation/conversation'
import { callableTools, effortOf, forcedTool, pricedTier, withoutGaps } from '../../conversation/writing'
import { isHint, withoutKeywords } from '../../json-schema'
import { chatEdit } from '../../traits/chat'
import { edited } from '../../traits/edit'
import { chatMessagesOf } from './messages'

type Fields = Record<string, unknown>

/** The call. Vendors that require it get back the reasoning of earlier turns that they wrote. */
export function writeChat(conversation: Conversation, model: Model, options: WriteOptions): Call {
  const { settings, extra } = conversation
  const isOpenai = isOpenaiModel(model)
  // https://openrouter.ai/docs/features/multimodal/pdfs
  const vendor = { knowsDevelopers: isOpenai, readsAddresses: model.upstream.kind === 'openrouter' }
  const request = withoutGaps({
    model: model.upstreamModel,
    messages: withReturned(chatMessagesOf(conversation, vendor), options, model),
    max_tokens: limitOf(settings, options),
    ...samplingOf(settings),
    reasoning_effort: effortOf(settings, model),
    verbosity: isOpenai ? settings.verbosity : undefined,
    ...toolsOf(conversation, isOpenai),
    response_format: formatOf(settings),
    user: settings.user,
    prompt_cache_key: isOpenai ? settings.cacheKey : undefined,
    service_tier: pricedTier(settings, model),
    stream: settings.stream ? true : undefined,
    stream_options: settings.stream && model.upstream.streamUsage ? { include_usage: true } : undefined,
    ...extra?.chat,
  })
  return {
    path: '/chat/completions',
    protocol: 'openai',
    body: { json: edited(request, chatEdit(request, model)) },
    stream: settings.stream,
  }
}

/**
 * Models of OpenAI itself, which knows fields that others refuse. Its open-weight models are served by others. There, developer
 * messages have replaced system messages, and `prompt_cache_key` has replaced `user` as the cache key:
 * https://platform.openai.com/docs/api-reference/chat/create.
 */
function isOpenaiModel({ upstreamModel }: Model): boolean {
  return /^(?:openai\/)?(?:gpt-(?!oss)|o\d|chatgpt|codex)/i.test(upstreamModel)
}

/** The limit, in the field that the traits pass converts for the model. */
function limitOf({ limit }: Settings, { outputTokens }: WriteOptions): number | undefined {
  if (!limit || outputTokens === undefined) return limit?.tokens ?? outputTokens
  return Math.min(limit.tokens, outputTokens)
}

function samplingOf({ stop, logprobs, ...settings }: Settings): Fields {
  return {
    temperature: settings.temperature,
    top_p: settings.topP,
    stop: stop.length > 0 ? stop : undefined,
    seed: settings.seed,
    frequency_penalty: settings.frequencyPenalty,
    presence_penalty: settings.presencePenalty,
    ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs || undefined }),
  }
}

function toolsOf(conversation: Conversation, isOpenai: boolean): Fields {
  const { tools, choice, parallelCalls } = conversation
  const { mode, allowed } = choice ?? {}
  const forced = forcedTool(choice)
  // Other vendors do not support a list of allowed tools.
  const sent = isOpenai ? tools : callableTools(conversation)
  if (sent.length === 0) return {}
  return {
    tools: sent.map(toolOf),
    tool_choice:
      forced !== undefined
        ? named(forced)
        : allowed && isOpenai
          ? { type: 'allowed_tools', allowed_tools: { mode, tools: allowed.map(named) } }
          : mode,
    parallel_tool_calls: parallelCalls,
  }
}

function named(name: string): Fields {
  return { type: 'function', function: { name } }
}

/** A function. A tool that is strict by the rules of messages may have optional members, which vendors of chat refuse. */
function toolOf({ name, description, parameters, isStrict, strictBy, custom, at }: Tool): Fields {
  if (custom) throw invalidRequest(at, `Invalid '${at}': this model takes tools of type 'function'.`)
  const strict = isStrict && strictBy === undefined ? true : undefined
  const described = { name, description, parameters: withoutKeywords(parameters, isHint), strict }
  return { type: 'function', function: withoutGaps(described) }
}

function formatOf({ format }: Settings): Fields | undefined {
  if (format?.type !== 'json_schema') return format
  const { type, name, description, schema, isStrict } = format
  return { type, json_schema: withoutGaps({ name, description, schema, strict: isStrict || undefined }) }
}
