// Pages of a list of items: the parameters of a request, and the form that clients read.

import { Type } from '@sinclair/typebox'
import { OneOf } from '../../api-operation/operation'
import { limitParameter, list, maybeText, named, text } from '../../api-operation/schemas'
import type { Item } from '../../kept-responses/content'
import { invalidRequest } from '../../lib/errors'

/** Maximum length of an id that an error repeats, in characters. */
export const MAX_SHOWN_LENGTH = 128

/** Newest first, unless requested otherwise. */
export const ItemPageQuery = Type.Object({
  limit: limitParameter(20, 100, 'Items on a page.'),
  order: OneOf(['desc', 'asc'], { default: 'desc', description: 'The newest first, or the oldest.' }),
  after: Type.Optional(Type.String({ description: 'The page after this item.' })),
})

export const InputItemList = named(
  'InputItemList',
  {
    object: Type.Literal('list'),
    data: list(Type.Unsafe<Item>(Type.Object({ id: text }))),
    first_id: maybeText,
    last_id: maybeText,
    has_more: Type.Boolean(),
  },
  {
    object: 'list',
    data: [{ id: 'msg_123', type: 'message', role: 'user', content: 'Hello' }],
    first_id: 'msg_123',
    last_id: 'msg_123',
    has_more: false,
  },
)

/** The error for a page after an item that is not in the list. */
export function noSuchPlace(after: string) {
  const shown = after.slice(0, MAX_SHOWN_LENGTH)
  return invalidRequest('after', `Invalid 'after': there is no item '${shown}' in the list.`)
}

/** A page in the form that clients read. */
export function itemList(data: readonly Item[], hasMore: boolean) {
  return {
    object: 'list' as const,
    data,
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: hasMore,
  }
}

function idOf(item: Item | undefined): string | null {
  return (item?.id as string | undefined) ?? null
}
