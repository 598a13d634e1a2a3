// Translates a responses request to a chat request: turns, tools, limits and formats. It must never drop a field
// silently: what chat cannot express is refused, and what is left out is in the table of fields.

import type { Model, ParsedRequest } from '../../../contract/family'
import type { ChatBody } from '../../chat/caller-side'
import { type SealedMessage, withReturned } from '../../chat/returned-reasoning'
import { isHint, withoutKeywords } from '../../json-schema'
import { chatEdit } from '../../traits/chat'
import { edited } from '../../traits/edit'
import { checkEffort } from '../../traits/efforts'
import { translatedOnce } from '../../translation'
import type { ResponsesBody } from '../caller-side'
import { bodyForModel } from '../compaction'
import { effortOf, formatOf, hashedUser, verbosityOf } from '../settings'
import { type FlatTool, flatChoiceOf, flatToolsOf } from '../tools'
import { conversationOf } from '../turns'
import { messagesOfTurns } from './messages'

type Fields = Record<string, unknown>

/** The request except for reasoning of earlier turns, which only the account's own key opens. */
interface Draft {
  body: ChatBody
  /** The messages of the body, with the sealed reasoning of each. */
  messages: readonly SealedMessage[]
}

const draftOf = translatedOnce((given: ResponsesBody, model): Draft => {
  const body = bodyForModel(given)
  const conversation = conversationOf(body)
  const messages = messagesOfTurns(body, conversation, isOpenaiModel(model))
  // Read for models that are not sent them too: what nobody understands is no wish.
  const effort = effortOf(body, conversation)
  if (effort) checkEffort(model, effort, 'reasoning.effort')
  const verbosity = verbosityOf(body)
  const draft = {
    model: model.upstreamModel,
    messages: messages.map(({ message }) => message),
    ...wordingOf(body),
    reasoning_effort: effort,
    verbosity: isOpenaiModel(model) ? verbosity : undefined,
    ...toolsOf(body, model),
    response_format: responseFormat(formatOf(body, conversation)),
    user: hashedUser(body),
    prompt_cache_key: isOpenaiModel(model) ? body.prompt_cache_key : undefined,
    service_tier: tierOf(body, model),
    stream: body.stream === true ? true : undefined,
    stream_options: body.stream && model.upstream.streamUsage ? { include_usage: true } : undefined,
  }
  const request = withoutGaps(draft)
  return { body: edited(request, chatEdit(request, model)) as ChatBody, messages }
})

/** The chat request without reasoning of earlier turns. Throws 400 for what chat has no form for. */
export function draftedChat(body: ResponsesBody, model: Model): ChatBody {
  return draftOf(body, model).body
}

/** The chat request. Vendors that ask for it get the reasoning of earlier turns that they wrote. */
export function chatRequestOf(parsed: ParsedRequest<ResponsesBody>, model: Model): ChatBody {
  const { body: drafted, messages } = draftOf(parsed.body, model)
  return {
    ...limited(drafted, model, parsed.outputTokens),
    messages: withReturned(messages, parsed, model),
  }
}

/** The request with a lower limit, in the field that the model has for it. */
function limited(body: ChatBody, { traits }: Model, outputTokens: number | undefined): ChatBody {
  if (outputTokens === undefined) return body
  const field = !traits.maxTokens ? 'max_completion_tokens' : 'max_tokens'
  return { ...body, [field]: Math.min(body[field] ?? outputTokens, outputTokens) }
}

/** Models of this API's own vendor, who knows fields that others refuse. Its open ones are served by others. */
function isOpenaiModel({ upstreamModel }: Model): boolean {
  return /^(?:openai\/)?(?:gpt-(?!oss)|o\d|chatgpt|codex)/i.test(upstreamModel)
}

/** Limits and sampling. */
function wordingOf(body: ResponsesBody): Fields {
  const { max_output_tokens: limit, temperature, top_p, top_logprobs: count, include } = body
  const wanted = (count ?? 0) > 0 || include?.includes('message.output_text.logprobs')
  const probabilities = wanted ? { logprobs: true, top_logprobs: count } : {}
  return { max_tokens: limit, temperature, top_p, ...probabilities }
}

/** A tier only if it has a price: the answer is the same without. */
function tierOf({ service_tier: tier }: ResponsesBody, { priceList }: Model): unknown {
  return priceList.tables.some((table) => table.tier === tier) ? tier : undefined
}

function toolsOf(body: ResponsesBody, model: Model): Fields {
  const { list } = flatToolsOf(body)
  const { mode, allowed } = flatChoiceOf(body)
  const [forced] = allowed ?? []
  const isForced = mode === 'required' && forced !== undefined && allowed?.length === 1
  const isListed = !isForced && isOpenaiModel(model)
  // Other vendors do not know a list of allowed tools.
  const sent = allowed && !isForced && !isListed ? allowed : list
  if (sent.length === 0 || allowed?.length === 0) return {}
  return {
    tools: sent.map(chatTool),
    tool_choice: isForced
      ? { type: 'function', function: { name: forced.flatName } }
      : allowed && isListed
        ? { type: 'allowed_tools', allowed_tools: { mode, tools: allowed.map(nameOfTool) } }
        : body.tool_choice && mode,
    parallel_tool_calls: body.parallel_tool_calls === false ? false : undefined,
  }
}

function chatTool({ flatName: name, description, parameters, strict }: FlatTool): Fields {
  const described = { name, description, parameters: withoutKeywords(parameters, isHint) }
  return { type: 'function', function: withoutGaps({ ...described, strict: strict || undefined }) }
}

function nameOfTool({ flatName: name }: FlatTool): Fields {
  return { type: 'function', function: { name } }
}

function responseFormat(format: ReturnType<typeof formatOf>): Fields | undefined {
  if (format?.type !== 'json_schema') return format
  const { type, name, description, schema, strict } = format
  return { type, json_schema: withoutGaps({ name, description, schema, strict: strict || undefined }) }
}

/** The fields without null: absent and null mean the same here. */
function withoutGaps(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )
}
