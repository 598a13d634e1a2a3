// Translates a message to a response: its blocks, end and usage. It must give the same response as a stream that says
// the same.

import type { Model, ParsedRequest, Quantities } from '../../../contract/family'
import { isObject } from '../../../lib/objects'
import type { ResponsesBody } from '../caller-side'
import type { Fields } from '../response-object'
import { EventsOfMessages } from './stream'

/** The whole response; `usage` is its measured usage. Throws if the vendor sent none. */
export function responseOfMessage(
  reply: unknown,
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
  usage: Quantities,
): Fields {
  if (!isObject(reply) || !Array.isArray(reply.content)) throw new Error('the vendor sent no content')
  return new EventsOfMessages(parsed, model, true).whole(reply, usage)
}
