// Responses of vendors that speak this API themselves (POST /v1/responses). The vendor stores nothing: ids, earlier answers and
// whether one is stored are up to the gateway. Items and events must pass as the vendor made them.

import type { MadeFamily, Model, ParsedRequest, Quantities } from '../../contract/family'
import { asObject } from '../../lib/objects'
import { countedTokens } from '../shared-schemas'
import { ignoredInResponses } from '../traits/ignored'
import { responsesEdit } from '../traits/responses'
import {
  checkResponses,
  outputOfResponses,
  plainResponses,
  quoteResponses,
  ResponsesBody,
  textsOfResponses,
} from './caller-side'
import { responsesFieldRules, responsesFields } from './fields'
import { callersResponse } from './native-answer'
import { createNativeEvents } from './native-events'
import { callWithoutReasoning, countCall, responsesCall } from './native-request'
import { readResponse, readResponseEvent } from './reading'
import { allTools, searchesIn, servedBody, unsentTools, withoutSearches } from './sent-tools'
import { needsResponses, needsResponsesForSome } from './tools-with-effort'

export const openaiResponses: MadeFamily<ResponsesBody> = {
  kind: 'made',
  name: 'openai-responses',
  operation: 'responses',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  body: ResponsesBody,
  ignoredFor: ignoredInResponses,
  fieldRules: responsesFieldRules,
  fields: responsesFields,
  ignored: unsentTools,
  withoutOffers: withoutSearches,
  takes: (body, model) =>
    needsResponses(model, allTools(body as ResponsesBody), asObject(body.reasoning).effort),
  takesSome: needsResponsesForSome,
  check(body, model) {
    checkResponses(body)
    responsesEdit(body, model)
  },
  quote: quoteNative,
  output: outputOfResponses,
  call: responsesCall,
  callAfter: callWithoutReasoning,
  reply: ([reply], parsed, model, usage) => callersResponse(reply, parsed, model, usage),
  read: readResponse,

  stream: {
    // The vendor closes the connection after the event that completes the answer.
    end: null,
    showsUsage: () => true,
    read: readResponseEvent,
    translate: createNativeEvents,
  },

  tokenCount: {
    call: countCall,
    read: countedTokens,
  },

  texts: textsOfResponses,
  plain: plainResponses,
}

/** Tokens held for input from outside the request, if the catalogue has no limit for the model. */
const OPEN_TOKENS = 65_536

function quoteNative(parsed: ParsedRequest<ResponsesBody>, model: Model): Quantities {
  const quantities = quoteResponses(parsed, model)
  const body = servedBody(parsed.body, model)
  const searches = searchesIn(body)
  const isOpen = searches !== undefined || allTools(parsed.body).some(({ type }) => type === 'mcp')
  if (isOpen) {
    // The model also reads what the vendor finds, which may fill its whole context.
    for (const unit of ['input_token', 'cache_write_token'] as const) {
      const most = quantities[unit]
      if (most !== undefined) quantities[unit] = model.contextTokens ?? most + OPEN_TOKENS
    }
  }
  if (searches) quantities.web_search = searches
  return quantities
}
