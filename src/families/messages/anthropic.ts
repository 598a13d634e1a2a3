// Messages of Anthropic-format upstreams (POST /v1/messages). The caller's text and beta headers pass through; only the
// model is replaced. Unknown fields, blocks and events must never be refused: clients and models know more of them than
// the gateway.

import { nativeCall } from '../../contract/call'
import type { Call, JsonFamily, Model, ParsedRequest } from '../../contract/family'
import { countedTokens } from '../shared-schemas'
import { isWebSearch, OPEN_SEARCHES } from '../surcharges'
import { addEdit, edited, openEdit } from '../traits/edit'
import { ignoredInMessages } from '../traits/ignored'
import { messagesEdit } from '../traits/messages'
import {
  MessagesBody,
  mediaTokensOfMessages,
  outputOfMessages,
  plainMessages,
  quoteMessages,
  readMessage,
  readMessageEvent,
  textsOfMessages,
} from './caller-side'
import { messagesFieldRules, messagesFields } from './fields'
import { followMessage } from './follower'
import { withOwnThinking } from './own-thinking'
import { messageUsage } from './usage'

export const anthropicMessages: JsonFamily<MessagesBody> = {
  kind: 'json',
  name: 'anthropic-messages',
  operation: 'messages',
  units: [['input_token', 'output_token']],
  dialect: 'messages',
  body: MessagesBody,
  ignoredFor: ignoredInMessages,
  fieldRules: messagesFieldRules,
  fields: messagesFields,

  check(body, model) {
    messagesEdit(body, model)
  },

  quote: quoteMessages,
  output: (body, model) => outputOfMessages(edited(body, messagesEdit(body, model))),

  call: (parsed, model) => ({
    ...callOf('/messages', parsed, model, []),
    stream: parsed.body.stream === true,
  }),

  read: readMessage,

  stream: {
    end: '{"type":"message_stop"}',
    // The figures are in events that callers need for other reasons too.
    showsUsage: () => true,
    read: readMessageEvent,
    follow: followMessage,
  },

  tokenCount: {
    call: (parsed, model) => callOf('/messages/count_tokens', parsed, model, NOT_COUNTED),
    read: countedTokens,
  },

  usage: (figures, reported) => reported ?? messageUsage(figures),
  texts: textsOfMessages,
  mediaTokens: mediaTokensOfMessages,
  plain: plainMessages,
}

/** Fields that concern only the answer: the vendor refuses them when it counts tokens. */
const NOT_COUNTED = [
  'max_tokens',
  'stream',
  'metadata',
  'service_tier',
  'stop_sequences',
  'temperature',
  'top_k',
  'top_p',
]

function callOf(
  path: string,
  { body, headers, outputTokens }: ParsedRequest<MessagesBody>,
  model: Model,
  drop: readonly string[],
): Call {
  const edit = openEdit()
  const { upstreamModel } = model
  if (upstreamModel !== body.model) edit.set.model = JSON.stringify(upstreamModel)
  const limit = Math.min(body.max_tokens, outputTokens ?? body.max_tokens)
  if (limit < body.max_tokens) edit.set.max_tokens = String(limit)
  const messages = withOwnThinking(body.messages, model)
  if (messages !== body.messages) edit.set.messages = JSON.stringify(messages)
  const tools = boundedTools(body.tools)
  if (tools !== body.tools) edit.set.tools = JSON.stringify(tools)
  edit.drop.push(...drop)
  addEdit(edit, messagesEdit({ ...body, messages, tools, max_tokens: limit }, model))
  return nativeCall(path, { edit }, { ...(headers && { headers }) })
}

/**
 * The tools, each search with a limit, so that no more searches than that are held or charged. The same list if each search has
 * one.
 */
function boundedTools(tools: MessagesBody['tools']): MessagesBody['tools'] {
  const isOpen = (tool: object) => {
    const { type, max_uses: most } = tool as { type?: unknown; max_uses?: unknown }
    return isWebSearch(type) && (most === undefined || most === null)
  }
  if (!tools?.some(isOpen)) return tools
  return tools.map((tool) => (isOpen(tool) ? { ...tool, max_uses: OPEN_SEARCHES } : tool))
}
