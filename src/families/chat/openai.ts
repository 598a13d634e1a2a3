// Chat completions of OpenAI-compatible upstreams (POST /v1/chat/completions). The caller's text passes through with single
// fields edited; the vendor's bytes must never be changed.

import type { JsonFamily } from '../../contract/family'
import { emptyListsIn } from '../client-defaults'
import { completionEdit } from '../completion-edit'
import { checkParts } from '../media-parts'
import { canUseBoth } from '../responses/tools-with-effort'
import { chatEdit } from '../traits/chat'
import { addEdit } from '../traits/edit'
import { ignoredInChat } from '../traits/ignored'
import {
  CHAT_END,
  ChatBody,
  checkChat,
  outputOfChat,
  plainChat,
  quoteChat,
  readChunk,
  readCompletion,
  textsOfChat,
} from './caller-side'
import { chatFieldRules, chatFields } from './fields'
import { followChat } from './follower'
import { withAcceptedNames } from './names'
import { plainCompletion } from './plain-completion'
import { acceptable } from './returned-reasoning'
import { shownChatUsage } from './usage'

export const openaiChat: JsonFamily<ChatBody> = {
  kind: 'json',
  name: 'openai-chat',
  operation: 'chat',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  body: ChatBody,
  ignoredFor: ignoredInChat,
  fieldRules: chatFieldRules,
  fields: chatFields,
  ignored(body, model) {
    const ignored = emptyListsIn(body)
    if (withAcceptedNames(body.messages, model) !== body.messages) ignored.push('messages[].name')
    return ignored
  },
  additional: { family: 'openai-responses', isNeeded: canUseBoth },
  check(body, model) {
    checkChat(body)
    checkParts(model, body.messages, 'messages', ['content'])
    chatEdit(body, model)
  },
  quote: quoteChat,
  output: outputOfChat,

  call({ body, outputTokens }, model) {
    const edit = completionEdit(body, model)
    edit.drop = emptyListsIn(body)
    const named = withAcceptedNames(body.messages, model)
    const messages = acceptable(named, model) ?? named
    if (messages !== body.messages) edit.set.messages = JSON.stringify(messages)
    const limited = withLimit(body, outputTokens)
    setLimit(edit, body, 'max_completion_tokens', limited)
    setLimit(edit, body, 'max_tokens', limited)
    addEdit(edit, chatEdit(limited, model))
    return { path: '/chat/completions', protocol: 'openai', body: { edit }, stream: body.stream === true }
  },

  read: readCompletion,

  stream: {
    end: CHAT_END,
    showsUsage: (body) => body.stream_options?.include_usage === true,
    read: readChunk,
    follow: followChat,
  },

  usage: shownChatUsage,
  plainAnswer: plainCompletion,
  texts: textsOfChat,
  plain: plainChat,
}

/** The request with no limit above `outputTokens`; if it has none, the one that most servers know is added. */
function withLimit(body: ChatBody, outputTokens: number | undefined): ChatBody {
  const { max_completion_tokens: limit, max_tokens: older } = body
  if (outputTokens === undefined) return body
  if (!limit && !older) return { ...body, max_tokens: outputTokens }
  const limited = { ...body }
  if (limit) limited.max_completion_tokens = Math.min(limit, outputTokens)
  if (older) limited.max_tokens = Math.min(older, outputTokens)
  return limited
}

function setLimit(
  { set }: { set: Record<string, string> },
  body: ChatBody,
  field: 'max_completion_tokens' | 'max_tokens',
  { [field]: limit }: ChatBody,
): void {
  if (limit && limit !== body[field]) set[field] = String(limit)
}
