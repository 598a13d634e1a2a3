// The request for a vendor of the responses API: complete, never stored there, and without parts that only this gateway or another
// vendor can read. Items must pass unchanged, reasoning above all: a vendor refuses it after any change.

import { compatibleCall } from '../../contract/call'
import type { Call, Model, ParsedRequest } from '../../contract/family'
import type { GatewayError } from '../../lib/errors'
import { isObject } from '../../lib/objects'
import { SEALED_PREFIX } from '../../lib/sealing'
import { edited } from '../traits/edit'
import { responsesEdit } from '../traits/responses'
import type { ResponsesBody } from './caller-side'
import { searchesIn, servedBody } from './sent-tools'

type Fields = Record<string, unknown>

/** The value of `include` for reasoning in a form that can be sent back. */
const SEALED_REASONING = 'reasoning.encrypted_content'

/** Fields that would make a vendor store or continue an answer. The vendor gets the complete input instead. */
const OWN_FIELDS = ['previous_response_id', 'conversation', 'background', 'generate'] as const
/** Fields other than the input that a vendor counts. */
const COUNTED_FIELDS = [
  'instructions',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'tool_choice',
  'tools',
  'truncation',
] as const

export function responsesCall(parsed: ParsedRequest<ResponsesBody>, model: Model): Call {
  const { outputTokens } = parsed
  const body = servedBody(parsed.body, model)
  const sent: Fields = { ...body, model: model.upstreamModel, store: false }
  for (const name of OWN_FIELDS) delete sent[name]
  const input = readableInput(body.input)
  if (input !== body.input) sent.input = input
  const include = includedBy(body, model)
  if (include) sent.include = include
  if (outputTokens !== undefined) {
    sent.max_output_tokens = Math.min(outputTokens, body.max_output_tokens ?? outputTokens)
  }
  const searches = searchesIn(body)
  if (searches !== undefined) sent.max_tool_calls = searches
  if (isObject(sent.prompt_cache_options)) {
    // A request that only fills a cache has no output and would be free.
    const { prewarm: _, ...options } = sent.prompt_cache_options
    sent.prompt_cache_options = options
  }
  return {
    path: '/responses',
    protocol: 'openai',
    body: { json: edited(sent, responsesEdit(sent, model)) },
    stream: sent.stream === true,
  }
}

/**
 * The parts of an answer to include. Reasoning that can be sent back is always requested from models that think; others refuse the
 * value, which coding clients send with every request.
 */
function includedBy({ include }: ResponsesBody, { traits }: Model): string[] | undefined {
  const others = (include ?? []).filter((part) => part !== SEALED_REASONING)
  if (traits.thinking !== 'never') return [...others, SEALED_REASONING]
  return include ? others : undefined
}

/**
 * The call of a request without its reasoning; undefined if the vendor refused something else. In that case another account of the
 * vendor, or another vendor, has sealed it, and an answer without earlier thoughts is better than none.
 */
export function callWithoutReasoning(
  refusal: GatewayError,
  parsed: ParsedRequest<ResponsesBody>,
  model: Model,
): Call | undefined {
  const { input } = parsed.body
  const rest = Array.isArray(input) ? withoutReasoning(refusal, input) : undefined
  return rest && responsesCall({ ...parsed, body: { ...parsed.body, input: rest } }, model)
}

/** The items other than reasoning; undefined if there is no reasoning, or the vendor refused something else. */
export function withoutReasoning<Item extends object>(
  { status, code, message }: GatewayError,
  items: readonly Item[],
): Item[] | undefined {
  if (status !== 400 || (code !== 'invalid_encrypted_content' && !UNVERIFIED.test(message))) return undefined
  const rest = items.filter((item) => (item as Fields).type !== 'reasoning')
  return rest.length === items.length ? undefined : rest
}

/** Texts of a refusal that has no code. */
const UNVERIFIED = /encrypted[ _]content.*could not be (verified|decrypted)/is

/** Requests the number of input tokens of a request. */
export function countCall(parsed: ParsedRequest<ResponsesBody>, model: Model): Call {
  const body = servedBody(parsed.body, model)
  const fields: Fields = body
  const sent: Fields = { model: model.upstreamModel, input: readableInput(body.input) }
  for (const name of COUNTED_FIELDS) if (name in fields) sent[name] = fields[name]
  return compatibleCall('/responses/input_tokens', { json: sent })
}

/**
 * The input without reasoning that this vendor cannot read: a bare summary, which it would look for among its stored items, and
 * reasoning that was sealed here for another vendor. The same list if there is no such reasoning.
 */
function readableInput(input: ResponsesBody['input']): ResponsesBody['input'] {
  if (!Array.isArray(input) || !input.some(isUnreadable)) return input
  return input.filter((item) => !isUnreadable(item))
}

function isUnreadable(item: object): boolean {
  const { type, encrypted_content: sealed } = item as Fields
  if (type !== 'reasoning' && type !== 'compaction') return false
  return typeof sealed !== 'string' || sealed === '' || sealed.startsWith(SEALED_PREFIX)
}
