// Messages served by models that exist only behind responses, so that coding command lines work with them and their loops
// of tools keep thinking. Request, reply and stream are translated in files of their own; no field must be lost without
// an entry in the table of fields.

import type { Call, MadeFamily, Model, ParsedRequest } from '../../../contract/family'
import { servedLimit, withoutSummary } from '../../responses/input'
import { withoutReasoning } from '../../responses/native-request'
import { readResponse, readResponseEvent } from '../../responses/reading'
import { needsResponses, needsResponsesForSome } from '../../responses/tools-beside-effort'
import { ignoredInMessages } from '../../traits/ignored'
import {
  MessagesBody,
  mediaTokensOfMessages,
  outputOfMessages,
  plainMessages,
  quoteMessages,
  textsOfMessages,
} from '../caller-side'
import { messagesOnChatFieldRules } from '../via-chat/fields'
import { effortIn } from '../via-chat/request'
import { messagesOnResponsesFields } from './fields'
import { messageOfResponse } from './reply'
import { requestOfMessages } from './request'
import { createEventsOfResponse } from './stream'

export const messagesOnResponses: MadeFamily<MessagesBody> = {
  kind: 'made',
  name: 'messages-on-responses',
  operation: 'messages',
  units: [['input_token', 'output_token']],
  dialect: 'messages',
  over: 'openai-responses',
  takes: (body, model) => needsResponses(model, body.tools, effortIn(body as MessagesBody)),
  takesSome: needsResponsesForSome,
  seals: true,
  body: MessagesBody,
  ignoredFor: ignoredInMessages,
  fieldRules: messagesOnChatFieldRules,
  bridge: messagesOnResponsesFields,

  // The translation refuses what it cannot translate.
  check(body, model) {
    requestOfMessages(body, model, undefined)
  },

  quote: (parsed, model) => quoteMessages({ ...parsed, body: served(parsed.body, model) }, model),
  output: (body, model) => outputOfMessages(served(body, model)),

  call: (parsed, model) => callOf(parsed, requestOfMessages(parsed.body, model, parsed.answer)),

  callAfter(refusal, parsed, model) {
    const request = requestOfMessages(parsed.body, model, parsed.answer)
    const input = withoutReasoning(refusal, request.input)
    const other = input ? { ...request, input } : withoutSummary(refusal, request)
    return other && callOf(parsed, other)
  },

  reply: ([response], parsed, model, usage) => messageOfResponse(response, parsed, model, usage),
  read: readResponse,

  stream: {
    // The vendor closes after the event that completes the answer.
    end: null,
    // The closing events have the figures in them.
    showsUsage: () => true,
    read: readResponseEvent,
    translate: createEventsOfResponse,
  },

  texts: textsOfMessages,
  mediaTokens: mediaTokensOfMessages,
  plain: plainMessages,
}

/** The body with the limit that is asked for. */
function served(body: MessagesBody, model: Model): MessagesBody {
  return { ...body, max_tokens: servedLimit(body.max_tokens, 'max_tokens', model) }
}

function callOf(
  { body, outputTokens = body.max_tokens }: ParsedRequest<MessagesBody>,
  request: object,
): Call {
  const json = outputTokens >= body.max_tokens ? request : { ...request, max_output_tokens: outputTokens }
  return { path: '/responses', protocol: 'openai', body: { json }, stream: body.stream === true }
}
