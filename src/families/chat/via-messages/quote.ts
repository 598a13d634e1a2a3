// The most that a chat completion can use where it is asked for as a message, and the checks before. Each candidate is a call of
// its own.

import type { Model, OutputTokens, ParsedRequest, Quantities } from '../../../contract/family'
import { invalidRequest } from '../../../lib/errors'
import { leastOutput, quoteMessages } from '../../messages/caller-side'
import { quotedOutput } from '../../shared-schemas'
import { type ChatBody, checkChat } from '../caller-side'
import { messageRequest } from './request'

/** Candidates that are streamed at a time: each is a call of its own, held open as long as the longest. */
const MAX_STREAMS = 16

export function checkAsMessage(body: ChatBody, model: Model): void {
  checkChat(body)
  if (body.stream && (body.n ?? 1) > MAX_STREAMS) {
    throw invalidRequest(
      'n',
      `Invalid 'n': ${model.id} streams at most ${MAX_STREAMS} candidates at a time. Ask for fewer, or without stream.`,
    )
  }
  // The translation refuses what it cannot translate.
  messageRequest(body, model)
}

export function quoteAsMessage(parsed: ParsedRequest<ChatBody>, model: Model): Quantities {
  const candidates = parsed.body.n ?? 1
  // A limit of the model is not the caller's: the usual length of answers is held.
  const most = quotedOutput(limitOf(parsed.body), parsed, model)
  const each = quoteMessages(
    { ...parsed, body: { ...messageRequest(parsed.body, model), max_tokens: most } },
    model,
  )
  // Each candidate reads the prompt anew.
  return Object.fromEntries(Object.entries(each).map(([unit, count]) => [unit, count * candidates]))
}

export function outputAsMessage(body: ChatBody, model: Model): OutputTokens {
  const request = messageRequest(body, model)
  return { most: request.max_tokens, least: leastOutput(request), candidates: body.n ?? 1 }
}

/** The caller's limit of each candidate, if any. */
function limitOf({ max_completion_tokens: limit, max_tokens: older }: ChatBody): number | undefined {
  return limit ?? older ?? undefined
}
