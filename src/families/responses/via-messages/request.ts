// Translates a responses request to a messages request: turns, tools, limits, formats and thinking. It must never drop a
// field silently: what cannot be said is refused, and what is left out is in the table of fields.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { type MessagesBody, quoteMessages } from '../../messages/caller-side'
import { withOwnThinking } from '../../messages/own-thinking'
import { quotedOutput } from '../../shared-schemas'
import { edited } from '../../traits/edit'
import { messagesEdit } from '../../traits/messages'
import { translatedOnce } from '../../translation'
import type { ResponsesBody } from '../caller-side'
import { bodyForModel } from '../compaction'
import { addedBytes, formatOf, hashedUser, verbosityOf } from '../settings'
import { type FlatTool, flatChoiceOf, flatToolsOf } from '../tools'
import { type Conversation, conversationOf } from '../turns'
import { type DraftMessage, draftMessages, leadingInstructions } from './messages'
import { type ThinkingRequest, thinkingOf, withThinking } from './thinking'

type Fields = Record<string, unknown>

/** The request except for thinking of earlier turns, which only the account's own key opens. */
interface Draft {
  /** The body without thinking. */
  body: MessagesBody
  messages: readonly DraftMessage[]
  thinking: ThinkingRequest
}

const draftOf = translatedOnce((given: ResponsesBody, model): Draft => {
  const body = bodyForModel(given)
  const conversation = conversationOf(body)
  const messages = draftMessages(conversation)
  // This vendor requires a limit. Without the caller's, it is the model's own, so that the answer is not cut.
  const limit = body.max_output_tokens ?? model.maxOutputTokens ?? model.reserveOutputTokens
  const choice = flatChoiceOf(body)
  const { wish, effort } = thinkingOf(body, conversation, model)
  const user = hashedUser(body)
  const system = systemOf(body, conversation)
  // Checked here too: what nobody understands is no wish.
  verbosityOf(body)
  return {
    messages,
    thinking: wish,
    body: {
      model: model.upstreamModel,
      max_tokens: limit,
      ...(system !== '' && { system }),
      messages: messages.map(({ role, blocks }) => ({
        role,
        content: blocks.filter(({ type }) => type !== 'sealed'),
      })) as MessagesBody['messages'],
      ...samplingOf(body),
      ...toolsOf(body, choice),
      ...outputConfig(effort, formatOf(body, conversation)),
      ...(user !== undefined && { metadata: { user_id: user } }),
      // A caller who names a key wants the conversation cached; this vendor caches only what it is told to.
      ...(body.prompt_cache_key && { cache_control: { type: 'ephemeral' } }),
      ...(body.stream && { stream: true }),
    },
  }
})

/** The messages request without thinking of earlier turns. Throws 400 for what messages have no form for. */
export function draftedMessage(body: ResponsesBody, model: Model): MessagesBody {
  const drafted = unthinkingMessage(body, model)
  // Sealed thinking counts as thinking before it is opened.
  const messages = draftOf(body, model).messages.map(({ role, blocks }) => ({
    role,
    content: blocks.map((block) => (block.type === 'sealed' ? { type: 'thinking' } : block)),
  }))
  return edited(drafted, messagesEdit({ ...drafted, messages }, model))
}

/** The messages request as any model might take it, without thinking of earlier turns. */
export const unthinkingMessage = translatedOnce((body: ResponsesBody, model): MessagesBody => {
  const { body: drafted, thinking } = draftOf(body, model)
  return thinking ? { ...drafted, thinking } : drafted
})

/** The quote of a responses request that is asked as this message. */
export function quoteMessage(
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
  message: MessagesBody,
): Quantities {
  const { body, byteLength } = parsed
  // A limit of the model is not the caller's: the usual length of answers is held.
  const most = quotedOutput(body.max_output_tokens ?? undefined, parsed, model)
  const asked = {
    ...parsed,
    byteLength: byteLength + addedBytes(body),
    body: { ...message, max_tokens: most },
  }
  return quoteMessages(asked, model)
}

/** The messages request, with the thinking of earlier turns that this model wrote, as it was. */
export function messageRequestOf(parsed: ParsedRequest<ResponsesBody>, model: Model): MessagesBody {
  const drafted = unthinkingMessage(parsed.body, model)
  const opened = withThinking(draftOf(parsed.body, model).messages, parsed, model)
  const messages = withOwnThinking(opened as MessagesBody['messages'], model)
  const { outputTokens: most = drafted.max_tokens } = parsed
  const thought = { ...drafted, max_tokens: Math.min(drafted.max_tokens, most), messages } as MessagesBody
  const request = edited(thought, messagesEdit(thought, model))
  // Thinking of earlier turns is of no use to an answer without any.
  return request.thinking?.type === 'disabled' ? { ...request, messages: drafted.messages } : request
}

/** Sampling fields. Models refuse both at once: a value without effect is left out. */
function samplingOf({ temperature, top_p: share }: ResponsesBody): Fields {
  if (typeof temperature === 'number' && temperature < 1) return { temperature }
  return typeof share === 'number' && share < 1 ? { top_p: share } : {}
}

const JSON_ONLY = 'Answer with one JSON object and nothing else.'

/** The instructions of the conversation's operator: this request's own, then those that begin the input. */
function systemOf(body: ResponsesBody, conversation: Conversation): string {
  const hint = formatOf(body, conversation)?.type === 'json_object' ? JSON_ONLY : ''
  const texts = [body.instructions ?? '', ...leadingInstructions(conversation), hint]
  return texts.filter((text) => text !== '').join('\n\n')
}

function toolsOf(body: ResponsesBody, { mode, allowed }: ReturnType<typeof flatChoiceOf>): Fields {
  const { list } = flatToolsOf(body)
  const [forced] = allowed ?? []
  const isForced = mode === 'required' && forced !== undefined && allowed?.length === 1
  const sent = allowed && !isForced ? allowed : list
  if (sent.length === 0 || allowed?.length === 0) return {}
  const isAlone = body.parallel_tool_calls === false && mode !== 'none'
  if (!body.tool_choice && !isAlone) return { tools: sent.map(toolOf) }
  const choice = isForced ? { type: 'tool', name: forced.flatName } : { type: choiceTypes[mode] }
  return {
    tools: sent.map(toolOf),
    tool_choice: { ...choice, ...(isAlone && { disable_parallel_tool_use: true }) },
  }
}

const choiceTypes = { none: 'none', auto: 'auto', required: 'any' } as const

function toolOf({ flatName: name, description, parameters, strict }: FlatTool): Fields {
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: parameters.type === undefined ? { type: 'object', ...parameters } : parameters,
    ...(strict && { strict: true }),
  }
}

function outputConfig(effort: string | undefined, format: ReturnType<typeof formatOf>): Fields {
  const config = {
    ...(effort !== undefined && { effort }),
    ...(format?.type === 'json_schema' && { format: { type: 'json_schema', schema: format.schema } }),
  }
  return Object.keys(config).length > 0 ? { output_config: config } : {}
}
