// The request that a vendor of responses is sent: whole, never kept there, and without what only this gateway or
// another vendor can read. Items must go through as they are, reasoning above all: a vendor refuses it after any change.

import type { Call, Model, ParsedRequest } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import type { GatewayError } from '../../lib/errors'
import { isObject } from '../../lib/objects'
import { SEALED_PREFIX } from '../../lib/sealing'
import { edited } from '../traits/edit'
import { responsesEdit } from '../traits/responses'
import { translatedOnce } from '../translation'
import { OFFERED_TYPES, offeredIn } from '../unasked'
import type { ResponsesBody } from './caller-side'

type Fields = Record<string, unknown>

/** Searches that are allowed and held if the caller sets no limit. */
const OPEN_SEARCHES = 10
/** The word in `include` for reasoning in a form that can be sent back. */
const SEALED_REASONING = 'reasoning.encrypted_content'

/** Fields by which a vendor would keep or continue an answer. The vendor gets the whole input instead. */
const OWN_FIELDS = ['previous_response_id', 'conversation', 'background', 'generate'] as const
/** Fields besides the input that a vendor counts. */
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
    // A request that only fills a cache has no output, for which nothing would be paid.
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
 * The parts of an answer to include. Reasoning that can be sent back is always wanted of models that think; others
 * refuse the word, which coding clients send with every request.
 */
function includedBy({ include }: ResponsesBody, { traits }: Model): string[] | undefined {
  const others = (include ?? []).filter((part) => part !== SEALED_REASONING)
  if (traits.thinking !== 'never') return [...others, SEALED_REASONING]
  return include ? others : undefined
}

/**
 * The call of a request without its reasoning; undefined if the vendor refused something else. Another account of the
 * vendor, or another vendor, has sealed it then, and an answer without earlier thoughts is better than none.
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

/** The items besides reasoning; undefined if there is none, or the vendor refused something else. */
export function withoutReasoning<Item extends object>(
  { status, code, message }: GatewayError,
  items: readonly Item[],
): Item[] | undefined {
  if (status !== 400 || (code !== 'invalid_encrypted_content' && !UNVERIFIED.test(message))) return undefined
  const rest = items.filter((item) => (item as Fields).type !== 'reasoning')
  return rest.length === items.length ? undefined : rest
}

/** Words of a refusal that has no code. */
const UNVERIFIED = /encrypted[ _]content.*could not be (verified|decrypted)/is

/** Asks for the number of input tokens of a request. */
export function countCall(parsed: ParsedRequest<ResponsesBody>, model: Model): Call {
  const body = servedBody(parsed.body, model)
  const fields: Fields = body
  const sent: Fields = { model: model.upstreamModel, input: readableInput(body.input) }
  for (const name of COUNTED_FIELDS) if (name in fields) sent[name] = fields[name]
  return { path: '/responses/input_tokens', protocol: 'openai', body: { json: sent }, stream: false }
}

/**
 * The request without tools that clients offer unasked and that have no price, and without a choice between tools of which
 * none is left. The same request if there is nothing to leave out.
 */
export const servedBody = translatedOnce((body: ResponsesBody, model): ResponsesBody => {
  if (!allTools(body).some((tool) => isLeftOut(tool, model))) return body
  const { tools, tool_choice: choice, input, ...rest } = body
  const left = withoutOffered(tools, model)
  return {
    ...rest,
    ...(Array.isArray(input) && { input: input.map((item) => withoutAdded(item, model)) }),
    ...(typeof input === 'string' && { input }),
    ...(left.length > 0 && { tools: left, ...(choice !== undefined && { tool_choice: choice }) }),
  }
})

function withoutAdded(item: object, model: Model): object {
  return 'tools' in item && Array.isArray(item.tools)
    ? { ...item, tools: withoutOffered(item.tools, model) }
    : item
}

/** The tools that the vendor is sent, those in namespaces too. */
function withoutOffered(tools: unknown, model: Model): NonNullable<ResponsesBody['tools']> {
  return toolsIn(tools)
    .filter((tool) => !isLeftOut(tool, model))
    .map((tool) =>
      Array.isArray(tool.tools) ? { ...tool, tools: withoutOffered(tool.tools, model) } : tool,
    ) as NonNullable<ResponsesBody['tools']>
}

/** Whether a tool is one that clients offer unasked, and the model has no price for it. */
function isLeftOut({ type }: Fields, { priceList }: Model): boolean {
  if (typeof type !== 'string' || !OFFERED_TYPES.test(type)) return false
  return isSearch(type) ? !hasPrice(priceList, 'web_search') : !priceList.isFree
}

/** Names of the tools that a request offers and the vendor is not sent. */
export function unsentTools(body: ResponsesBody, model: Model): string[] {
  return offeredIn(allTools(body).filter((tool) => isLeftOut(tool, model)))
}

function isSearch(type: unknown): boolean {
  return typeof type === 'string' && type.startsWith('web_search')
}

/** The most searches of a request that lets the vendor search; undefined for any other. */
export function searchesIn(body: ResponsesBody): number | undefined {
  const searches = allTools(body).some(({ type }) => isSearch(type))
  return searches ? (body.max_tool_calls ?? OPEN_SEARCHES) : undefined
}

/** All tools of a request: those of its items and of namespaces too. */
export function allTools({ tools, input }: ResponsesBody): Fields[] {
  const added = Array.isArray(input) ? input.filter(isObject).flatMap(({ tools }) => toolsIn(tools)) : []
  return [...toolsIn(tools), ...added].flatMap((tool) => [tool, ...toolsIn(tool.tools)])
}

function toolsIn(tools: unknown): Fields[] {
  return Array.isArray(tools) ? tools.filter(isObject) : []
}

/**
 * The input without reasoning that this vendor cannot read: a summary alone, which it would look for among what it has
 * kept, and what was sealed here for another. The same list if there is none.
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
