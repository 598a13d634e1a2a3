// Reads responses, whole and as events: the output, its figures, and how it ended. It must never throw on unknown kinds of items,
// parts and events.

import { HIDDEN, type Made, type Reading, SHOWN, shownText } from '../../contract/reading'
import type { Quantities } from '../../contract/units'
import { isErrorShape, isUntypedError } from '../../lib/error-shapes'
import { asObject, holdsText, isObject } from '../../lib/objects'
import { ABSURD_FIGURE, outputWithSeparateCache, reportedCount } from '../shared-schemas'

type Fields = Record<string, unknown>

/** Reads a whole response. */
export function readResponse(reply: unknown): Reading {
  const response = asObject(reply)
  const { status, output } = response
  const isWhole = Array.isArray(output) && (status === 'completed' || status === 'incomplete')
  const searches = searchesAmong(output)
  const isUnmarked = Array.isArray(output) && status === undefined && !isErrorShape(response)
  return {
    output: madeBy(response, true),
    ...factsOf(response),
    ...(searches > 0 && { calls: { web_search: searches } }),
    end: isWhole || isUnmarked ? 'finished' : 'failed',
    ...(isFiltered(response) && FILTERED),
  }
}

/** Reads one event of a stream. */
export function readResponseEvent(event: unknown): Reading {
  const fields = event as Fields
  const { type, delta, response } = fields
  if (typeof delta === 'string') return delta === '' ? {} : { output: { kind: 'shown', text: delta } }
  switch (type) {
    case 'response.output_item.added':
    case 'response.output_item.done': {
      const item = asObject(fields.item)
      const output = item.type === 'reasoning' ? HIDDEN : holdsText(item, 'status') ? SHOWN : undefined
      if (type === 'response.output_item.added') return { output }
      return {
        output,
        whole: textOfItem(item),
        ...(isSearch(item) && { calls: { web_search: 1 } }),
      }
    }
    case 'response.completed':
    case 'response.incomplete':
      return {
        output: madeBy(asObject(response), false),
        ...factsOf(asObject(response)),
        end: 'finished',
        ...(isFiltered(asObject(response)) && FILTERED),
      }
    case 'response.failed':
      return { ...factsOf(asObject(response)), end: 'failed-disguised' }
    case 'error':
      return { end: 'failed-disguised' }
  }
  return isUntypedError(event) ? { end: 'failed-disguised' } : {}
}

const FILTERED = { isFiltered: true }

/** https://developers.openai.com/api/reference/resources/responses: the reason is `max_output_tokens` or `content_filter`. */
function isFiltered({ incomplete_details: details }: Fields): boolean {
  return asObject(details).reason === 'content_filter'
}

/** The output of a whole response. With `counts` its text is counted if the vendor reports no usage. */
function madeBy({ output, usage, incomplete_details: details }: Fields, counts: boolean): Made | undefined {
  const items = Array.isArray(output) ? output.filter(isObject) : []
  const shown = items.filter(({ type }) => type !== 'reasoning')
  const isOfWorth = shown.some((item) => holdsText(item, 'status'))
  const made = counts ? shownText(items.map(textOfItem).join(''), isOfWorth) : isOfWorth ? SHOWN : undefined
  if (made) return made
  // The model may have spent the whole limit on thinking.
  const isUnseen = isObject(details) || items.length > 0 || (asObject(usage).output_tokens as number) > 0
  return isUnseen ? HIDDEN : undefined
}

/** The text of an item: its words, its thoughts, or the arguments of a call. */
function textOfItem({ content, summary, name, arguments: called, input }: Fields): string {
  const parts = [content, summary].flatMap((list) => (Array.isArray(list) ? list.map(asObject) : []))
  const texts = [name, called, input, ...parts.flatMap(({ text, refusal }) => [text, refusal])]
  return texts.filter((text) => typeof text === 'string').join('')
}

/** The vendor's figures, and the tier that decides their prices. */
function factsOf(response: Fields): Pick<Reading, 'usage' | 'serviceTier'> {
  const { usage, service_tier: tier } = response
  const figures = responseFigures(response)
  return {
    usage: figures && { kind: 'total', figures, reported: usage },
    serviceTier: typeof tier === 'string' ? tier : undefined,
  }
}

/**
 * The figures in our units. Tokens read from a cache or written to it are part of the input, or reported in addition if more are
 * read than the input has; thinking is part of the output, but some vendors include it only in the total.
 */
export function responseFigures(response: Fields): Quantities | 'invalid' | undefined {
  const { usage } = response
  if (!isObject(usage)) return undefined
  const details = asObject(usage.input_tokens_details)
  const lifetimes = asObject(usage.cache_write_tokens_details ?? details.cache_write_tokens_details)
  const input = reportedCount(usage.input_tokens)
  const reported = reportedCount(usage.output_tokens)
  const cached = reportedCount(details.cached_tokens)
  const rest = reportedCount(usage.total_tokens) - input
  const isBeside = cached > input
  const output = isBeside
    ? outputWithSeparateCache(
        { rest, output: reported, cached },
        asObject(usage.output_tokens_details).reasoning_tokens,
      )
    : Math.max(reported, rest)
  const written = reportedCount(details.cache_write_tokens)
  const long = reportedCount(lifetimes.ttl_12h_tokens)
  const { searches, isReported } = searchesOf(response)
  // NaN, which stands for an invalid count, fails these comparisons.
  const isSane = Math.max(input, reported, output, cached, written, long, searches) <= ABSURD_FIGURE
  const fresh = input - written - (isBeside ? 0 : cached)
  if (!isSane || fresh < 0 || long > written) return 'invalid'
  if (usage.input_tokens === undefined || usage.output_tokens === undefined) return 'invalid'
  const quantities: Quantities = { input_token: fresh, output_token: output }
  if (cached > 0) quantities.cached_input_token = cached
  if (written > long) quantities.cache_write_token = written - long
  if (long > 0) quantities.cache_write_1h_token = long
  // Zero counts too, if a stream has items of searches that were not made.
  if (searches > 0 || isReported) quantities.web_search = searches
  return quantities
}

/**
 * The searches that the vendor reports, otherwise those among the items. xAI reports them in its own member: successful calls,
 * which are the billed ones (docs.x.ai/developers/tools/tool-usage-details, 2026-11).
 */
function searchesOf({ tool_usage: used, usage, output }: Fields): { searches: number; isReported: boolean } {
  const { web_search_calls: ofXai } = asObject(asObject(usage).server_side_tool_usage_details)
  const reported = asObject(asObject(used).web_search).num_requests ?? ofXai
  if (reported !== undefined && reported !== null) {
    return { searches: reportedCount(reported), isReported: true }
  }
  return { searches: searchesAmong(output), isReported: false }
}

function searchesAmong(output: unknown): number {
  return Array.isArray(output) ? output.filter((item) => isSearch(asObject(item))).length : 0
}

/**
 * Whether an item is a web search. OpenAI's guide to web search has a price for actions of the type `search` only, not for
 * `open_page` and `find_in_page` (quoted in community.openai.com/t/1365861, read 2026-11-24). Older items have no action.
 */
function isSearch({ type, action }: Fields): boolean {
  const { type: kind = 'search' } = asObject(action)
  return type === 'web_search_call' && kind !== 'open_page' && kind !== 'find_in_page'
}
