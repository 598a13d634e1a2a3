// Chat completions served by models that speak messages, so that clients of one form work with every model of the
// other. Request, reply and stream are translated in files of their own; no field must be lost without an entry in the
// table of fields.

import type { MadeFamily } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { quotedOutput } from '../../body'
import { leastOutput, quoteMessages, readMessage, readMessageEvent } from '../../messages/caller-side'
import { ChatBody, checkChat, plainChat, textsOfChat } from '../caller-side'
import { chatOnMessagesFieldRules, chatOnMessagesFields } from './fields'
import { completionOf } from './reply'
import { messageRequest } from './request'
import { createChunks } from './stream'

/** Candidates that are streamed at a time: each is a call of its own, held open as long as the longest. */
const MAX_STREAMS = 16

export const chatOnMessages: MadeFamily<ChatBody> = {
  kind: 'made',
  name: 'chat-on-messages',
  operation: 'chat',
  units: [['input_token', 'output_token']],
  dialect: 'openai',
  over: 'anthropic-messages',
  body: ChatBody,
  ignoredWhenReasoning: ['temperature', 'top_p'],
  fieldRules: chatOnMessagesFieldRules,
  bridge: chatOnMessagesFields,

  check(body, model) {
    checkChat(body)
    if (body.stream && (body.n ?? 1) > MAX_STREAMS) {
      throw invalidRequest(
        'n',
        `Invalid 'n': ${model.id} streams at most ${MAX_STREAMS} candidates at a time. Ask for fewer, or without stream.`,
      )
    }
    // The translation refuses what it cannot translate.
    messageRequest(body, model)
  },

  quote(parsed, model) {
    const candidates = parsed.body.n ?? 1
    // A limit of the model is not the caller's: the usual length of answers is held.
    const most = quotedOutput(limitOf(parsed.body), parsed, model)
    const each = quoteMessages(
      { ...parsed, body: { ...messageRequest(parsed.body, model), max_tokens: most } },
      model,
    )
    // Each candidate is a call of its own, and reads the prompt anew.
    return Object.fromEntries(Object.entries(each).map(([unit, count]) => [unit, count * candidates]))
  },

  output(body, model) {
    const request = messageRequest(body, model)
    return { most: request.max_tokens, least: leastOutput(request), candidates: body.n ?? 1 }
  },

  call(parsed, model) {
    const request = messageRequest(parsed.body, model)
    const most = Math.min(request.max_tokens, parsed.outputTokens ?? request.max_tokens)
    const call = {
      path: '/messages',
      protocol: 'native' as const,
      body: { json: most === request.max_tokens ? request : { ...request, max_tokens: most } },
      stream: parsed.body.stream === true,
    }
    return Array.from({ length: parsed.body.n ?? 1 }, () => call)
  },

  reply: completionOf,
  read: readMessage,

  stream: {
    end: '{"type":"message_stop"}',
    // The chunk with the figures is made only if the caller requested it.
    showsUsage: () => true,
    read: readMessageEvent,
    translate: createChunks,
  },

  texts: textsOfChat,
  plain: plainChat,
}

/** The caller's limit of each candidate, if any. */
function limitOf({ max_completion_tokens: limit, max_tokens: older }: ChatBody): number | undefined {
  return limit ?? older ?? undefined
}
