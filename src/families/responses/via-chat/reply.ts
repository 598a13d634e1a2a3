// Translates a chat completion to a response: its texts, calls of tools, end and usage. It must give the same response
// as a stream that says the same.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { choiceOf } from '../../chat/answer-parts'
import type { ResponsesBody } from '../caller-side'
import type { Fields } from '../response-object'
import { EventsOfChat } from './stream'

/** The whole response; `usage` is its measured usage. Throws if the vendor sent none. */
export function responseOfCompletion(
  reply: unknown,
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
  usage: Quantities,
): Fields {
  const choice = choiceOf(reply)
  if (!choice) throw new Error('the vendor sent no choice')
  return new EventsOfChat(parsed, model, true).whole(choice, reply, usage)
}
