// Chat completions of OpenAI-compatible upstreams (POST /v1/chat/completions). The caller's text goes through with
// single fields edited; the vendor's bytes must never be changed.

import type { JsonFamily } from '../../contract/family'
import type { Edit } from '../../lib/json'
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
    const edit: Edit & { set: Record<string, string>; drop: string[] } = { set: {}, drop: [] }
    if (model.upstreamModel !== body.model) edit.set.model = JSON.stringify(model.upstreamModel)
    if (body.stream && model.upstream.streamUsage && !body.stream_options?.include_usage) {
      edit.set.stream_options = JSON.stringify({ ...body.stream_options, include_usage: true })
    }
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
