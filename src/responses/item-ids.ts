// Ids of items that callers send without one. The type of an item must show in its id, because vendors check it.

import type { Item } from './content'

/** The beginnings of ids by type, as vendors check them when a conversation moves to them. */
const prefixes: Record<string, string> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fc',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctc',
}

/** Gives an item an id, by which the list of items names it. `responseId` makes it unique. */
export function withId(item: Item, responseId: string, place: number): Item {
  if (typeof item.id === 'string') return item
  const prefix = prefixes[(item.type as string | undefined) ?? 'message'] ?? 'item'
  // The items of the output count from 0 at the same length.
  return {
    ...item,
    id: `${prefix}_${responseId.replace(/^[a-z]+_/, '')}i${place.toString(16).padStart(4, '0')}`,
  }
}
