// Messages served by models that speak chat completions, so that clients of one form, such as coding command lines,
// work with every model of the other. Request, reply and stream are translated in files of their own; no field must be
// lost without an entry in the table of fields.

import type { MadeFamily } from '../../../contract/family'
import { CHAT_END, readChunk, readCompletion } from '../../chat/caller-side'
import { ignoredInMessages } from '../../traits/ignored'
import {
  MessagesBody,
  mediaTokensOfMessages,
  outputOfMessages,
  plainMessages,
  quoteMessages,
  textsOfMessages,
} from '../caller-side'
import { messagesOnChatFieldRules, messagesOnChatFields } from './fields'
import { messageOf } from './reply'
import { chatRequestOfMessages, draftOfMessages } from './request'
import { createMessageEvents } from './stream'

export const messagesOnChat: MadeFamily<MessagesBody> = {
  kind: 'made',
  name: 'messages-on-chat',
  operation: 'messages',
  units: [['input_token', 'output_token']],
  dialect: 'messages',
  over: 'openai-chat',
  seals: true,
  body: MessagesBody,
  ignoredFor: ignoredInMessages,
  fieldRules: messagesOnChatFieldRules,
  bridge: messagesOnChatFields,

  // The translation refuses what it cannot translate.
  check(body, model) {
    draftOfMessages(body, model)
  },

  quote: quoteMessages,
  output: outputOfMessages,

  call: (parsed, model) => ({
    path: '/chat/completions',
    protocol: 'openai',
    body: { json: limited(chatRequestOfMessages(parsed, model), parsed.body, parsed.outputTokens) },
    stream: parsed.body.stream === true,
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
  mediaTokens: mediaTokensOfMessages,
  plain: plainMessages,
}

/** The request with a lower limit, in the field that it has for it. */
function limited(
  request: Record<string, unknown>,
  body: MessagesBody,
  outputTokens = body.max_tokens,
): Record<string, unknown> {
  if (outputTokens >= body.max_tokens) return request
  const field = 'max_completion_tokens' in request ? 'max_completion_tokens' : 'max_tokens'
  return { ...request, [field]: outputTokens }
}
