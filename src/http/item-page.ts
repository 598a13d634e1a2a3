// Reads which page of a list of items a request asks for.

import type { Item } from '../kept-responses/content'
import type { ItemPage } from '../kept-responses/conversation-rows'
import { invalidRequest } from '../lib/errors'
import { limitOfQuery } from './query-limit'

/** Items on a page, and the most that may be requested. */
const LIMITS = { usual: 20, most: 100 }
/** Longest id that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

/** The newest come first unless asked otherwise. Throws 400 for what is no page. */
export function itemPageOf(query: URLSearchParams): ItemPage {
  const limit = limitOfQuery(query, LIMITS)
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') {
    throw invalidRequest('order', "Invalid value for 'order'. Supported are asc and desc.")
  }
  return { limit, order, after: query.get('after') }
}

/** The error for a page after an item that is not in the list. */
export function noSuchPlace(after: string) {
  const shown = after.slice(0, MAX_SHOWN_LENGTH)
  return invalidRequest('after', `Invalid 'after': there is no item '${shown}' in the list.`)
}

/** A page in the form that clients read. */
export function itemList(data: readonly Item[], hasMore: boolean): object {
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  }
}
