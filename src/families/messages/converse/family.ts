// Messages of models that Amazon Bedrock serves by its Converse API only, such as Nova, Llama and Mistral. Request, reply and
// stream are translated in files of their own; no field must be lost without an entry in the table of fields.

import type { MadeFamily } from '../../../contract/family'
import { ignoredInMessages } from '../../traits/ignored'
import {
  MessagesBody,
  mediaTokensOfMessages,
  outputOfMessages,
  plainMessages,
  quoteMessages,
  textsOfMessages,
} from '../caller-side'
import { converseFieldRules, converseFields } from './fields'
import { messageOfConverse, readConverse } from './reply'
import { converseCall, converseRequest } from './request'
import { createEventsOfConverse, readConverseEvent } from './stream'

export const bedrockConverse: MadeFamily<MessagesBody> = {
  kind: 'made',
  name: 'bedrock-converse',
  operation: 'messages',
  units: [['input_token', 'output_token']],
  dialect: 'messages',
  body: MessagesBody,
  ignoredFor: ignoredInMessages,
  fieldRules: converseFieldRules,
  bridge: converseFields,

  // The translation refuses what it cannot translate.
  check(body, model) {
    converseRequest(body, model)
  },

  quote: quoteMessages,
  output: outputOfMessages,
  call: ({ body, outputTokens }, model) => converseCall(body, model, outputTokens),
  reply: ([reply], parsed, model, usage) => messageOfConverse(reply, parsed, model, usage),
  read: readConverse,

  stream: {
    // The event with the figures is the last.
    end: null,
    showsUsage: () => true,
    read: readConverseEvent,
    translate: createEventsOfConverse,
  },

  texts: textsOfMessages,
  mediaTokens: mediaTokensOfMessages,
  plain: plainMessages,
}
