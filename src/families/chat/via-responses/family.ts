// Chat completions served by models that exist only behind responses, so that clients of the older form work with them.
// Request, reply and stream are translated in files of their own; no field must be lost without an entry in the table of
// fields.

import type { Call, MadeFamily, Model, ParsedRequest } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { servedLimit, withoutSummary } from '../../responses/input'
import { readResponse, readResponseEvent } from '../../responses/reading'
import { needsResponses, needsResponsesForSome } from '../../responses/tools-beside-effort'
import { ignoredInChat } from '../../traits/ignored'
import { ChatBody, checkChat, outputOfChat, plainChat, quoteChat, textsOfChat } from '../caller-side'
import { chatOnResponsesFieldRules, chatOnResponsesFields } from './fields'
import { completionOfResponses } from './reply'
import { responsesRequest } from './request'
import { createChunksOfResponse } from './stream'

/** Candidates that are streamed at a time: each is a call of its own, held open as long as the longest. */
const MOST_STREAMS = 16

export const chatOnResponses: MadeFamily<ChatBody> = {
  kind: 'made',
  name: 'chat-on-responses',
  operation: 'chat',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  over: 'openai-responses',
  takes: ({ tools, reasoning_effort: effort }, model) => needsResponses(model, tools, effort),
  takesSome: needsResponsesForSome,
  body: ChatBody,
  ignoredFor: ignoredInChat,
  fieldRules: chatOnResponsesFieldRules,
  bridge: chatOnResponsesFields,

  check(body, model) {
    checkChat(body)
    if (body.stream && (body.n ?? 1) > MOST_STREAMS) {
      throw invalidRequest(
        'n',
        `Invalid 'n': ${model.id} streams at most ${MOST_STREAMS} candidates at a time. Ask for fewer, or without stream.`,
      )
    }
    // The translation refuses what it cannot translate.
    responsesRequest(body, model)
  },

  quote(parsed, model) {
    const { n } = parsed.body
    const each = quoteChat({ ...parsed, body: { ...served(parsed.body, model), n: 1 } }, model)
    // Each candidate is a call of its own, and reads the prompt anew.
    return Object.fromEntries(Object.entries(each).map(([unit, count]) => [unit, count * (n ?? 1)]))
  },

  output: (body, model) => outputOfChat(served(body, model), model),

  call(parsed, model) {
    const call = callOf(parsed, responsesRequest(parsed.body, model))
    return Array.from({ length: parsed.body.n ?? 1 }, () => call)
  },

  callAfter(refusal, parsed, model) {
    const request = withoutSummary(refusal, responsesRequest(parsed.body, model))
    return request && callOf(parsed, request)
  },

  reply: completionOfResponses,
  read: readResponse,

  stream: {
    // The vendor closes after the event that completes the answer.
    end: null,
    // The chunk with the figures is made only if the caller requested it.
    showsUsage: () => true,
    read: readResponseEvent,
    translate: createChunksOfResponse,
  },

  texts: textsOfChat,
  plain: plainChat,
}

function callOf(
  { body, outputTokens }: ParsedRequest<ChatBody>,
  request: { max_output_tokens?: number },
): Call {
  const { max_output_tokens: limit = outputTokens } = request
  const most = outputTokens === undefined ? undefined : Math.min(outputTokens, limit ?? outputTokens)
  const json = most === undefined ? request : { ...request, max_output_tokens: most }
  return { path: '/responses', protocol: 'openai', body: { json }, stream: body.stream === true }
}

/** The body with the limits that are asked for. */
function served(body: ChatBody, model: Model): ChatBody {
  const { max_tokens: older, max_completion_tokens: limit } = body
  return {
    ...body,
    ...(older && { max_tokens: servedLimit(older, 'max_tokens', model) }),
    ...(limit && { max_completion_tokens: servedLimit(limit, 'max_completion_tokens', model) }),
  }
}
