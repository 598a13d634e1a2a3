// Writes a conversation as a messages request: turns, tools, limits, formats and thinking. It must never drop anything silently:
// unsupported parts are refused with their place.

import type { Call, Model } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { asObject } from '../../../lib/objects'
import type { WriteOptions } from '../../conversation/bridge'
import type { Conversation, Settings, Tool } from '../../conversation/conversation'
import { callableTools, forcedTool, outputLimit, systemPrompt } from '../../conversation/writing'
import type { MessagesBody } from '../../messages/caller-side'
import { withOwnThinking } from '../../messages/own-thinking'
import { edited } from '../../traits/edit'
import { checkEffort, effortOfBudget } from '../../traits/efforts'
import { messagesEdit } from '../../traits/messages'
import { marked, messagesOf, UNREAD } from './turns'

type Fields = Record<string, unknown>

export function writeMessages(conversation: Conversation, model: Model, options: WriteOptions): Call {
  const { settings, cache, extra } = conversation
  const system = systemPrompt(conversation)
  const { user, topK } = settings
  const stop = settings.stop.filter((text) => text.trim() !== '')
  const request = {
    model: model.upstreamModel,
    max_tokens: outputLimit(settings, model, options),
    ...(system !== '' && { system }),
    messages: withOwnThinking(messagesOf(conversation, model, options) as MessagesBody['messages'], model),
    ...samplingOf(settings),
    ...(stop.length > 0 && { stop_sequences: stop }),
    ...toolsOf(conversation),
    ...thinkingOf(settings, model),
    ...(user !== undefined && { metadata: { user_id: user } }),
    ...(topK !== undefined && { top_k: topK }),
    ...marked(cache),
    ...(settings.stream && { stream: true }),
    ...extra?.messages,
  } as MessagesBody
  return {
    path: '/messages',
    protocol: 'native',
    body: { json: withReadThinking(edited(request, messagesEdit(request, model)), conversation) },
    stream: settings.stream,
  }
}

/** The request without thinking that cannot be unsealed. Earlier thinking is useless if thinking is off. */
function withReadThinking(request: MessagesBody, { settings }: Conversation): MessagesBody {
  const isOff = settings.reasoning.isCarried && request.thinking?.type === 'disabled'
  const isKept = (block: { type: string }) =>
    block !== UNREAD && !(isOff && (block.type === 'thinking' || block.type === 'redacted_thinking'))
  const messages = request.messages.map(({ role, content }) => ({
    role,
    content: Array.isArray(content) ? content.filter(isKept) : content,
  }))
  return { ...request, messages }
}

/** Sampling fields. Models refuse both together: a value without effect is omitted. */
function samplingOf({ temperature, topP }: Settings): Fields {
  if (temperature !== undefined && temperature < 1) return { temperature }
  return topP !== undefined && topP < 1 ? { top_p: topP } : {}
}

const choiceTypes = { none: 'none', auto: 'auto', required: 'any' } as const

function toolsOf(conversation: Conversation): Fields {
  const { choice, parallelCalls } = conversation
  const forced = forcedTool(choice)
  const sent = callableTools(conversation)
  if (sent.length === 0) return {}
  const isAlone = parallelCalls === false && choice?.mode !== 'none'
  const chosen =
    forced === undefined ? { type: choiceTypes[choice?.mode ?? 'auto'] } : { type: 'tool', name: forced }
  const alone = isAlone && { disable_parallel_tool_use: true }
  return { tools: sent.map(toolOf), ...((choice || isAlone) && { tool_choice: { ...chosen, ...alone } }) }
}

function toolOf({ name, description, parameters, isStrict, cache, custom, at }: Tool): Fields {
  if (custom) throw invalidRequest(at, `Invalid '${at}': this model takes tools of type 'function'.`)
  const schema = parameters ?? { properties: {} }
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: schema.type === undefined ? { type: 'object', ...schema } : schema,
    ...(isStrict && { strict: true }),
    ...marked(cache),
  }
}

/** How to think, and the format of the answer. The traits pass converts it for the model. */
function thinkingOf({ reasoning, format }: Settings, model: Model): Fields {
  const { effortAt, isShown, isCarried, budgetTokens } = reasoning
  // Callers that cannot keep thinking write a budget in this protocol's own form.
  const budgeted = isCarried && budgetTokens !== undefined ? effortOfBudget(budgetTokens) : undefined
  const effort = reasoning.effort ?? budgeted
  if (effort !== undefined && effortAt !== undefined) checkEffort(model, effort, effortAt)
  const sent = effort === 'minimal' ? 'low' : effort === 'none' ? undefined : effort
  const config = {
    ...(sent !== undefined && { effort: sent }),
    ...(format?.type === 'json_schema' && { format: { type: 'json_schema', schema: format.schema } }),
  }
  // A caller that cannot send thinking with the next request sees all there is.
  const isSent = isCarried && (sent !== undefined || (isShown && model.traits.thinksByDefault))
  const thinking = { type: 'adaptive', display: isShown ? 'summarized' : 'omitted' }
  return {
    ...(effort === 'none' && { thinking: { type: 'disabled' } }),
    ...(effort !== 'none' && isSent && { thinking }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
  }
}

/** Tokens that a written request reserves for thinking. */
export function thinkingTokensOf({ body }: Call): number {
  const { type, budget_tokens: budget } = asObject(
    asObject(body && 'json' in body ? body.json : undefined).thinking,
  )
  return type === 'enabled' && Number.isSafeInteger(budget) ? (budget as number) : 0
}
