// Responses served by models that speak chat completions, so that clients of the newer API work with every chat model.
// Request, reply and stream are translated in files of their own; no field must be lost without an entry in the table
// of fields.

import type { MadeFamily } from '../../../contract/family'
import {
  CHAT_END,
  outputOfChat,
  quoteChat,
  readChunk,
  readCompletion,
  textsOfChat,
} from '../../chat/caller-side'
import { checkParts } from '../../media-parts'
import { ignoredInResponses } from '../../traits/ignored'
import { checkResponses, plainResponses, ResponsesBody } from '../caller-side'
import { addedBytes, checkLabels } from '../settings'
import { ignoredTools } from '../tools'
import { responsesOnChatFieldRules, responsesOnChatFields } from './fields'
import { responseOfCompletion } from './reply'
import { chatRequestOf, draftedChat } from './request'
import { createEventsOfChat } from './stream'

export const responsesOnChat: MadeFamily<ResponsesBody> = {
  kind: 'made',
  name: 'responses-on-chat',
  operation: 'responses',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  over: 'openai-chat',
  body: ResponsesBody,
  ignoredFor: ignoredInResponses,
  fieldRules: responsesOnChatFieldRules,
  bridge: responsesOnChatFields,
  ignoresUnknown: true,
  ignored: ignoredTools,

  check(body, model) {
    checkResponses(body)
    checkLabels(body)
    checkParts(model, body.input, 'input', ['content', 'output'])
    // The translation refuses what it cannot translate.
    draftedChat(body, model)
  },

  quote: (parsed, model) =>
    quoteChat(
      {
        ...parsed,
        byteLength: parsed.byteLength + addedBytes(parsed.body),
        body: draftedChat(parsed.body, model),
      },
      model,
    ),

  output: (body, model) => outputOfChat(draftedChat(body, model), model),

  call: (parsed, model) => ({
    path: '/chat/completions',
    protocol: 'openai',
    body: { json: chatRequestOf(parsed, model) },
    stream: parsed.body.stream === true,
  }),

  reply: ([completion], parsed, model, usage) => responseOfCompletion(completion, parsed, model, usage),
  read: readCompletion,

  stream: {
    end: CHAT_END,
    // The terminal event has the figures in it.
    showsUsage: () => true,
    read: readChunk,
    translate: createEventsOfChat,
  },

  texts: (body, model) => textsOfChat(draftedChat(body, model)),
  plain: plainResponses,
}
