// The answer of a vendor of responses for the caller: its own items, with the gateway's id, the id of the model, and
// every member that clients require. Items must stay as the vendor made them.

import type { Model, ParsedRequest } from '../../contract/family'
import { asObject, isObject } from '../../lib/objects'
import type { ResponsesBody } from './caller-side'
import { type Fields, type OutputItem, responseObject, withoutSecrets } from './response-object'

/** The whole response for the caller. Throws if the vendor sent none. */
export function callersResponse(reply: unknown, parsed: ParsedRequest<ResponsesBody>, model: Model): Fields {
  const { output } = asObject(reply)
  if (!Array.isArray(output)) throw new Error('the vendor sent no output')
  const items = output.map((item) => (isObject(item) ? wholeItem(item) : item))
  return renamedResponse(asObject(reply), items, parsed, model)
}

/** An item as it came, with arguments as text, which some servers send parsed and clients parse. */
export function wholeItem(item: Fields): Fields {
  return isObject(item.arguments) && item.type === 'function_call'
    ? { ...item, arguments: JSON.stringify(item.arguments) }
    : item
}

/** A vendor's response with the members that are the gateway's, and those that the vendor lacks. */
export function renamedResponse(
  reply: Fields,
  output: readonly unknown[],
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
): Fields {
  const own = responseObject(parsed, model.id, output as OutputItem[])
  const { id, object, model: name, store, background, previous_response_id: previous, metadata } = own
  const told = Object.fromEntries(
    Object.entries(reply).filter(([member, value]) => value !== null || !(member in own)),
  )
  const { conversation: _, tools, usage, ...rest } = told
  return {
    ...own,
    status: 'completed',
    ...rest,
    ...{ id, object, model: name, store, background, previous_response_id: previous, output },
    metadata: { ...asObject(told.metadata), ...asObject(metadata) },
    ...(Array.isArray(tools) && { tools: tools.filter(isObject).map(withoutSecrets) }),
    usage: isObject(usage) ? wholeUsage(usage) : null,
  }
}

/** The figures with every member that clients require. */
function wholeUsage(usage: Fields): Fields {
  return {
    ...usage,
    input_tokens_details: { cached_tokens: 0, ...asObject(usage.input_tokens_details) },
    output_tokens_details: { reasoning_tokens: 0, ...asObject(usage.output_tokens_details) },
  }
}
