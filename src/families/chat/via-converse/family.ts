// Chat completions served by models that Amazon Bedrock serves by its Converse API only: a request becomes one of messages, and
// that one of Converse; answers take the same way back. It must never translate what one of the two translates already.

import type { MadeFamily, Translator } from '../../../contract/family'
import { conversed, readConverse } from '../../messages/converse/reply'
import { converseCall, converseRequest } from '../../messages/converse/request'
import { ConverseEvents, readConverseEvent } from '../../messages/converse/stream'
import { ignoredInChat } from '../../traits/ignored'
import { ChatBody, plainChat, textsOfChat } from '../caller-side'
import { checkAsMessage, outputAsMessage, quoteAsMessage } from '../via-messages/quote'
import { completionOf } from '../via-messages/reply'
import { unfittedRequest } from '../via-messages/request'
import { createChunks } from '../via-messages/stream'
import { chatOnConverseFieldRules, chatOnConverseFields } from './fields'

export const chatOnConverse: MadeFamily<ChatBody> = {
  kind: 'made',
  name: 'chat-on-converse',
  operation: 'chat',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  over: 'bedrock-converse',
  body: ChatBody,
  ignoredFor: ignoredInChat,
  fieldRules: chatOnConverseFieldRules,
  bridge: chatOnConverseFields,

  check(body, model) {
    checkAsMessage(body, model)
    converseRequest(unfittedRequest(body, model), model)
  },

  quote: quoteAsMessage,
  output: outputAsMessage,

  call(parsed, model) {
    const call = converseCall(unfittedRequest(parsed.body, model), model, parsed.outputTokens)
    return Array.from({ length: parsed.body.n ?? 1 }, () => call)
  },

  reply: (replies, parsed, model, usage) => completionOf(replies.map(conversed), parsed, model, usage),
  read: readConverse,

  stream: {
    // The event with the figures is the last.
    end: null,
    showsUsage: () => true,
    read: readConverseEvent,

    translate(parsed, model): Translator {
      const chunks = createChunks(parsed, model)
      const sources = Array.from({ length: parsed.body.n ?? 1 }, () => new ConverseEvents(model, {}, parsed))
      return {
        push: (event, candidate, reading) =>
          (sources[candidate]?.push(event) ?? [])
            .map((each) => chunks.push(each, candidate, reading))
            .join(''),
        finish: (usage) => chunks.finish(usage),
        cut: (usage) => chunks.cut(usage),
      }
    },
  },

  texts: textsOfChat,
  plain: plainChat,
}
