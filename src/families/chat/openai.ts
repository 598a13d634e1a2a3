// Chat completions of OpenAI-compatible upstreams (POST /v1/chat/completions). The caller's text goes through with
// single fields edited; the vendor's bytes must never be changed.

import type { JsonFamily } from '../../contract/family'
import { completionEdit } from '../completion-edit'
import {
  CHAT_END,
  ChatBody,
  checkChat,
  plainChat,
  quoteChat,
  readChunk,
  readCompletion,
  textsOfChat,
} from './caller-side'
import { chatFieldRules, chatFields, IGNORED_WHEN_REASONING } from './fields'

export const openaiChat: JsonFamily<ChatBody> = {
  kind: 'json',
  name: 'openai-chat',
  operation: 'chat',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  body: ChatBody,
  ignoredWhenReasoning: IGNORED_WHEN_REASONING,
  fieldRules: chatFieldRules,
  fields: chatFields,
  check: checkChat,
  quote: quoteChat,

  call({ body }, model) {
    const edit = completionEdit(body, model)
    if (model.reasoning) {
      edit.drop.push(...IGNORED_WHEN_REASONING, 'max_tokens')
      const limit = body.max_completion_tokens ?? body.max_tokens
      if (limit && limit !== body.max_completion_tokens) edit.set.max_completion_tokens = String(limit)
    }
    return { path: '/chat/completions', protocol: 'openai', body: { edit }, stream: body.stream === true }
  },

  read: readCompletion,

  stream: {
    end: CHAT_END,
    showsUsage: (body) => body.stream_options?.include_usage === true,
    read: readChunk,
  },

  texts: textsOfChat,
  plain: plainChat,
}
