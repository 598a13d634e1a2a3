// Decides which tools of a response the model gets. A tool that the vendor runs is sent if it has a price; otherwise it is omitted
// if clients offer it by default, and a response header names it. It must never omit a tool that the answer depends on.

import type { Model } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { isObject } from '../../lib/objects'
import { OFFERED_TYPES, offeredIn } from '../client-defaults'
import { isWebSearch, OPEN_SEARCHES } from '../surcharges'
import { translatedOnce } from '../translation'
import type { ResponsesBody } from './caller-side'

type Fields = Record<string, unknown>

const TOOL_SEARCH = 'tool_search'

/**
 * The request without the tools that the model does not get, and without a tool choice if no tool is left. The same request if
 * there is nothing to omit.
 */
export const servedBody = translatedOnce((body: ResponsesBody, model): ResponsesBody => {
  if (!allTools(body).some((tool) => isLeftOut(tool, model))) return body
  const { tools, tool_choice: choice, input, ...rest } = body
  const left = sentTools(tools, model)
  return {
    ...rest,
    ...(Array.isArray(input) && { input: input.map((item) => withoutAdded(item, model)) }),
    ...(typeof input === 'string' && { input }),
    ...(left.length > 0 && { tools: left, ...(choice !== undefined && { tool_choice: choice }) }),
  }
})

function withoutAdded(item: object, model: Model): object {
  return 'tools' in item && Array.isArray(item.tools)
    ? { ...item, tools: sentTools(item.tools, model) }
    : item
}

/** The tools that the model gets, including those in namespaces. */
function sentTools(tools: unknown, model: Model): NonNullable<ResponsesBody['tools']> {
  return toolsIn(tools)
    .filter((tool) => !isLeftOut(tool, model))
    .map((tool) =>
      Array.isArray(tool.tools) ? { ...tool, tools: sentTools(tool.tools, model) } : tool,
    ) as NonNullable<ResponsesBody['tools']>
}

function isLeftOut(tool: Fields, { priceList, family }: Model): boolean {
  if (family.bridge) return isNeverBridged(tool)
  if (!isOffered(tool)) return false
  return isWebSearch(tool.type) ? !hasPrice(priceList, 'web_search') : !priceList.isFree
}

/**
 * Whether a tool is omitted for a model whose vendor speaks another protocol: one that clients offer by default, or the vendor's
 * tool search, because all tools are sent at once.
 */
export function isNeverBridged(tool: Fields): boolean {
  return isOffered(tool) || (tool.type === TOOL_SEARCH && tool.execution !== 'client')
}

function isOffered({ type }: Fields): boolean {
  return typeof type === 'string' && OFFERED_TYPES.test(type)
}

/** Names of the tools that a request offers but the model does not get. */
export function unsentTools(body: ResponsesBody, model: Model): string[] {
  const unsent = allTools(body).filter((tool) => isLeftOut(tool, model))
  const searchesTools = unsent.some(({ type }) => type === TOOL_SEARCH)
  return [...offeredIn(unsent), ...(searchesTools ? [TOOL_SEARCH] : [])]
}

/** The maximum of searches for a request that lets the vendor search; undefined for any other request. */
export function searchesIn(body: ResponsesBody): number | undefined {
  const searches = allTools(body).some(({ type }) => isWebSearch(type))
  return searches ? (body.max_tool_calls ?? OPEN_SEARCHES) : undefined
}

/**
 * The request without the searches that it offers among other tools, as Codex does in every request; undefined if it has none,
 * requires a certain tool, or offers nothing else, so that its caller wants to search.
 */
export function withoutSearches(
  body: ResponsesBody,
): { body: ResponsesBody; leftOut: readonly string[] } | undefined {
  const tools = toolsIn(body.tools)
  const others = tools.filter(({ type }) => !isWebSearch(type))
  const isForced = ![undefined, null, 'auto', 'none'].includes(body.tool_choice as string | null | undefined)
  if (isForced || others.length === 0 || others.length === tools.length) return undefined
  return { body: { ...body, tools: others } as ResponsesBody, leftOut: ['web_search'] }
}

/** All tools of a request, including those of its items and namespaces. */
export function allTools({ tools, input }: ResponsesBody): Fields[] {
  const added = Array.isArray(input) ? input.filter(isObject).flatMap(({ tools }) => toolsIn(tools)) : []
  return [...toolsIn(tools), ...added].flatMap((tool) => [tool, ...toolsIn(tool.tools)])
}

function toolsIn(tools: unknown): Fields[] {
  return Array.isArray(tools) ? tools.filter(isObject) : []
}
