// Responses served by models that Amazon Bedrock serves by its Converse API only: a request becomes one of messages, and that
// one of Converse; answers take the same way back. It must never translate what one of the two translates already.

import type { MadeFamily, Model, ParsedRequest } from '../../../contract/family'
import { outputOfMessages, textsOfMessages } from '../../messages/caller-side'
import { conversed, readConverse } from '../../messages/converse/reply'
import { converseCall, converseRequest } from '../../messages/converse/request'
import { ConverseEvents, readConverseEvent } from '../../messages/converse/stream'
import { ignoredInResponses } from '../../traits/ignored'
import { checkResponses, plainResponses, ResponsesBody } from '../caller-side'
import { checkLabels } from '../settings'
import { ignoredTools } from '../tools'
import { responseOfMessage } from '../via-messages/reply'
import { quoteMessage, unthinkingMessage } from '../via-messages/request'
import { EventsOfMessages } from '../via-messages/stream'
import { responsesOnConverseFields } from './fields'

export const responsesOnConverse: MadeFamily<ResponsesBody> = {
  kind: 'made',
  name: 'responses-on-converse',
  operation: 'responses',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  over: 'bedrock-converse',
  body: ResponsesBody,
  ignoredFor: ignoredInResponses,
  bridge: responsesOnConverseFields,
  ignoresUnknown: true,
  ignored: ignoredTools,

  check(body, model) {
    checkResponses(body)
    checkLabels(body)
    // The translations refuse what they cannot translate.
    converseRequest(unthinkingMessage(body, model), model)
  },

  quote: (parsed, model) => quoteMessage(parsed, model, unthinkingMessage(parsed.body, model)),

  output: (body, model) => outputOfMessages(unthinkingMessage(body, model)),
  call: ({ body, outputTokens }, model) => converseCall(unthinkingMessage(body, model), model, outputTokens),
  reply: ([reply], parsed, model, usage) => responseOfMessage(conversed(reply), parsed, model, usage),
  // A response cannot ask for no output at all.
  read: (reply, parsed) => readConverse(reply, { ...parsed, body: {} }),

  stream: {
    // The event with the figures is the last.
    end: null,
    // The terminal event has the figures in it.
    showsUsage: () => true,
    read: readConverseEvent,
    translate: (parsed, model) => new EventsOfConverse(parsed, model),
  },

  texts: (body, model) => textsOfMessages(unthinkingMessage(body, model)),
  plain: plainResponses,
}

class EventsOfConverse extends EventsOfMessages {
  private readonly source: ConverseEvents

  constructor(parsed: ParsedRequest<ResponsesBody>, model: Model) {
    super(parsed, model)
    this.source = new ConverseEvents(model, {}, parsed)
  }

  protected override add(event: object): void {
    for (const each of this.source.push(event)) super.add(each)
  }
}
