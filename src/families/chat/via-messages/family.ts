// Chat completions served by models that speak messages, so that clients of one form work with every model of the
// other. Request, reply and stream are translated in files of their own; no field must be lost without an entry in the
// table of fields.

import type { MadeFamily } from '../../../contract/family'
import { readMessage, readMessageEvent } from '../../messages/caller-side'
import { ignoredInChat } from '../../traits/ignored'
import { ChatBody, plainChat, textsOfChat } from '../caller-side'
import { chatOnMessagesFieldRules, chatOnMessagesFields } from './fields'
import { checkAsMessage, outputAsMessage, quoteAsMessage } from './quote'
import { completionOf } from './reply'
import { messageRequest } from './request'
import { createChunks } from './stream'

export const chatOnMessages: MadeFamily<ChatBody> = {
  kind: 'made',
  name: 'chat-on-messages',
  operation: 'chat',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  over: 'anthropic-messages',
  body: ChatBody,
  ignoredFor: ignoredInChat,
  fieldRules: chatOnMessagesFieldRules,
  bridge: chatOnMessagesFields,

  check: checkAsMessage,
  quote: quoteAsMessage,
  output: outputAsMessage,

  call(parsed, model) {
    const request = messageRequest(parsed.body, model)
    const most = Math.min(request.max_tokens, parsed.outputTokens ?? request.max_tokens)
    const call = {
      path: '/messages',
      protocol: 'native' as const,
      body: { json: most === request.max_tokens ? request : { ...request, max_tokens: most } },
      stream: parsed.body.stream === true,
    }
    return Array.from({ length: parsed.body.n ?? 1 }, () => call)
  },

  reply: completionOf,
  read: readMessage,

  stream: {
    end: '{"type":"message_stop"}',
    // The chunk with the figures is made only if the caller requested it.
    showsUsage: () => true,
    read: readMessageEvent,
    translate: createChunks,
  },

  texts: textsOfChat,
  plain: plainChat,
}
