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
  ignored: (body, model) => [
    ...emptyListsIn(body),
    ...(withAcceptedNames(body.messages, model) === body.messages ? [] : ['messages[].name']),
  ],
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
    edit.drop.push(...emptyListsIn(body))
    const named = withAcceptedNames(body.messages, model)
    const messages = acceptable(named, model) ?? named
    if (messages !== body.messages) edit.set.messages = JSON.stringify(messages)
    const { max_completion_tokens: limit, max_tokens: older } = limitsOf(body, outputTokens)
    setLimit(edit, body, 'max_completion_tokens', limit)
    setLimit(edit, body, 'max_tokens', older)
    addEdit(edit, chatEdit({ ...body, max_tokens: older, max_completion_tokens: limit }, model))
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

interface Limits {
  max_completion_tokens?: ChatBody['max_completion_tokens'] | undefined
  max_tokens?: ChatBody['max_tokens'] | undefined
}

/** The limits of the request, none above `outputTokens`; if the request has none, the one that most servers know is added. */
function limitsOf(body: ChatBody, outputTokens: number | undefined): Limits {
  const { max_completion_tokens: limit, max_tokens: older } = body
  if (outputTokens === undefined) return body
  if (!limit && !older) return { max_tokens: outputTokens }
  return {
    max_completion_tokens: limit && Math.min(limit, outputTokens),
    max_tokens: older && Math.min(older, outputTokens),
  }
}

function setLimit(
  { set }: { set: Record<string, string> },
  body: ChatBody,
  field: keyof Limits,
  limit: number | null | undefined,
): void {
  if (limit && limit !== body[field]) set[field] = String(limit)
}
