// The answer of a vendor of the responses API for the caller: its own items, with the gateway's id, the id of the model, and every
// member that clients require. Items must stay as the vendor made them.

import type { Model, ParsedRequest, Quantities } from '../../contract/family'
import { inputTokensOf, outputTokensOf } from '../../contract/units'
import { asObject, isObject } from '../../lib/objects'
import type { ResponsesBody } from './caller-side'
import {
  type Fields,
  isItemId,
  itemId,
  type OutputItem,
  responseObject,
  responseUsage,
  textEcho,
  toolEcho,
  unixSeconds,
  usageObject,
} from './response-object'

/** The whole response for the caller; `usage` is its measured usage. Throws if the vendor sent none. */
export function callersResponse(
  reply: unknown,
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
  usage: Quantities,
): Fields {
  const { output } = asObject(reply)
  if (!Array.isArray(output)) throw new Error('the vendor sent no output')
  const items = itemsIn(output).map((item, place) => ({ ...wholeItem(item), id: idOf(item, parsed, place) }))
  return withUsage(renamedResponse(asObject(reply), items, parsed, model), usage)
}

/** Prefixes of ids for items without one. */
const PREFIXES: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    message: 'msg',
    reasoning: 'rs',
    function_call: 'fc',
    custom_tool_call: 'ctc',
  }),
)

/** The id of a vendor's item, or a new one if it has none that can be looked up. */
export function idOf({ id, type }: Fields, parsed: ParsedRequest, place: number): string {
  return isItemId(id) ? id : itemId(parsed, PREFIXES.get(type) ?? 'item', place)
}

/** The items of a vendor's output. No client could read an item without a type, such as null. */
export function itemsIn(output: unknown): Fields[] {
  if (!Array.isArray(output)) return []
  return output.filter((item) => isObject(item) && typeof item.type === 'string')
}

/**
 * The response with the charged usage. The vendor's own report stays if it has the same figures, and if nothing is charged; some
 * vendors leave thinking out of `output_tokens` and bill it.
 */
export function withUsage(response: Fields, paid: Quantities): Fields {
  const reported = asObject(response.usage)
  const { input_tokens: input, output_tokens: output } = reported
  const isPaid = Object.keys(paid).length > 0
  const isSame = input === inputTokensOf(paid) && output === outputTokensOf(paid)
  if (response.usage !== null && (!isPaid || isSame)) return response
  const { reasoning_tokens: thinking } = asObject(reported.output_tokens_details)
  const thinkingTokens = Number.isSafeInteger(thinking) ? (thinking as number) : 0
  return { ...response, usage: { ...reported, ...usageObject(responseUsage(paid, thinkingTokens)) } }
}

/**
 * Items that clients expect to have a status. OpenAI omits it in reasoning; the SDK of xAI refuses an answer without it
 * (`outputItemSchema` of `@ai-sdk/xai`), and in the SDK of OpenAI it is optional (`ResponseReasoningItem`).
 */
const WITH_STATUS: ReadonlySet<unknown> = new Set([
  'message',
  'reasoning',
  'function_call',
  'custom_tool_call',
])

/**
 * An item as it arrived, with members that clients need and some servers omit: a status, lists in text parts, and arguments as
 * text.
 */
export function wholeItem(item: Fields): Fields {
  const { type, status, arguments: called, content } = item
  const changes: Fields = {}
  if (type === 'reasoning' && !Array.isArray(item.summary)) changes.summary = []
  if (type === 'message' && !Array.isArray(content)) changes.content = []
  if (type === 'message' && typeof item.role !== 'string') changes.role = 'assistant'
  if (typeof status !== 'string' && WITH_STATUS.has(type)) changes.status = 'completed'
  if (type === 'function_call' && isObject(called)) changes.arguments = JSON.stringify(called)
  if (type === 'message' && Array.isArray(content) && content.some(isBareText)) {
    changes.content = content.map((part) => (isBareText(part) ? { ...LISTS, ...part } : part))
  }
  return Object.keys(changes).length > 0 ? { ...item, ...changes } : item
}

const LISTS = { annotations: [], logprobs: [] }

function isBareText(part: unknown): part is Fields {
  return isObject(part) && part.type === 'output_text' && !(part.annotations && part.logprobs)
}

/** A vendor's response with the members that the gateway sets, and those that the vendor lacks. */
export function renamedResponse(
  reply: Fields,
  output: readonly unknown[],
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
): Fields {
  const own = responseObject(parsed, model, output as OutputItem[])
  const { id, object, model: name, store, background, previous_response_id: previous, metadata } = own
  const { conversation } = own
  const shown = Object.fromEntries(
    Object.entries(reply).filter(([member, value]) => value !== null || !(member in own)),
  )
  const { conversation: _, tools, text, reasoning, usage, ...rest } = shown
  const { status = 'completed', completed_at: at = unixSeconds(parsed.answer?.now() ?? parsed.at) } = rest
  return {
    ...own,
    ...rest,
    status,
    completed_at: status === 'completed' ? at : null,
    ...{ id, object, model: name, store, background, previous_response_id: previous, output },
    ...(conversation !== undefined && { conversation }),
    metadata: { ...asObject(shown.metadata), ...asObject(metadata) },
    ...(Array.isArray(tools) && { tools: tools.filter(isObject).map(toolEcho) }),
    ...(isObject(text) && { text: textEcho(text) }),
    ...(isObject(reasoning) && { reasoning: { ...asObject(own.reasoning), ...reasoning } }),
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
