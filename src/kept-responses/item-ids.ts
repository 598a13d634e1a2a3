// Ids of items that callers send without one. The id of an item must show its type, because vendors check it.

import { isItemId } from '../families/responses/response-object'
import type { Item } from './content'

/** The prefixes of ids by type, as vendors check them when a conversation moves to them. */
const prefixes: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    message: 'msg',
    reasoning: 'rs',
    function_call: 'fc',
    function_call_output: 'fc',
    custom_tool_call: 'ctc',
    custom_tool_call_output: 'ctc',
  }),
)

/** Gives an item an id, by which the list of items names it. `responseId` makes it unique. */
export function withId(item: Item, responseId: string, place: number): Item {
  if (isItemId(item.id)) return item
  const prefix = prefixes.get(item.type ?? 'message') ?? 'item'
  // The items of the output count from 0 at the same length.
  return {
    ...item,
    id: `${prefix}_${responseId.replace(/^[a-z]+_/, '')}i${place.toString(16).padStart(4, '0')}`,
  }
}
