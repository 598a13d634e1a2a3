// Messages served by models that speak chat completions, so that clients of one form, such as coding command lines,
// work with every model of the other. Request, reply and stream are translated in files of their own; no field must be
// lost without an entry in the table of fields.

import type { MadeFamily } from '../../../contract/family'
import { CHAT_END, readChunk, readCompletion } from '../../chat/caller-side'
import { MessagesBody, plainMessages, quoteMessages, textsOfMessages } from '../caller-side'
import { messagesOnChatFieldRules, messagesOnChatFields } from './fields'
import { messageOf } from './reply'
import { chatRequest } from './request'
import { createMessageEvents } from './stream'

export const messagesOnChat: MadeFamily<MessagesBody> = {
  kind: 'made',
  name: 'messages-on-chat',
  operation: 'messages',
  units: [['input_token', 'output_token']],
  dialect: 'messages',
  over: 'openai-chat',
  body: MessagesBody,
  ignoredWhenReasoning: ['temperature', 'top_p', 'stop_sequences'],
  fieldRules: messagesOnChatFieldRules,
  bridge: messagesOnChatFields,

  // The translation refuses what it cannot translate.
  check(body, model) {
    chatRequest(body, model)
  },

  quote: quoteMessages,

  call: ({ body }, model) => ({
    path: '/chat/completions',
    protocol: 'openai',
    body: { json: chatRequest(body, model) },
    stream: body.stream === true,
  }),

  reply: ([completion], parsed, model, usage) => messageOf(completion, parsed, model, usage),
  read: readCompletion,

  stream: {
    end: CHAT_END,
    // The closing events have the figures in them.
    showsUsage: () => true,
    read: readChunk,
    translate: createMessageEvents,
  },

  texts: textsOfMessages,
  plain: plainMessages,
}
