// Responses served by models that speak messages, so that clients of one form work with every model of the other.
// Request, reply and stream are translated in files of their own; no field must be lost without an entry in the table
// of fields.

import type { MadeFamily } from '../../../contract/family'
import { outputOfMessages, readMessage, readMessageEvent, textsOfMessages } from '../../messages/caller-side'
import { ignoredInResponses } from '../../traits/ignored'
import { checkResponses, plainResponses, ResponsesBody } from '../caller-side'
import { checkLabels } from '../settings'
import { ignoredTools } from '../tools'
import { responsesOnMessagesFieldRules, responsesOnMessagesFields } from './fields'
import { responseOfMessage } from './reply'
import { draftedMessage, messageRequestOf, quoteMessage } from './request'
import { createEventsOfMessages } from './stream'

export const responsesOnMessages: MadeFamily<ResponsesBody> = {
  kind: 'made',
  name: 'responses-on-messages',
  operation: 'responses',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  over: 'anthropic-messages',
  body: ResponsesBody,
  ignoredFor: ignoredInResponses,
  fieldRules: responsesOnMessagesFieldRules,
  bridge: responsesOnMessagesFields,
  ignoresUnknown: true,
  ignored: ignoredTools,

  check(body, model) {
    checkResponses(body)
    checkLabels(body)
    // The translation refuses what it cannot translate.
    draftedMessage(body, model)
  },

  quote: (parsed, model) => quoteMessage(parsed, model, draftedMessage(parsed.body, model)),

  output: (body, model) => outputOfMessages(draftedMessage(body, model)),

  call: (parsed, model) => ({
    path: '/messages',
    protocol: 'native',
    body: { json: messageRequestOf(parsed, model) },
    stream: parsed.body.stream === true,
  }),

  reply: ([message], parsed, model, usage) => responseOfMessage(message, parsed, model, usage),
  // A response cannot ask for no output at all.
  read: (reply, parsed) => readMessage(reply, { ...parsed, body: {} }),

  stream: {
    end: '{"type":"message_stop"}',
    // The terminal event has the figures in it.
    showsUsage: () => true,
    read: readMessageEvent,
    translate: createEventsOfMessages,
  },

  texts: (body, model) => textsOfMessages(draftedMessage(body, model)),
  plain: plainResponses,
}
