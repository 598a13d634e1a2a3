// Places in errors about a request whose input begins with stored items: a caller counts only the items in the request itself. It
// must never change anything else in an error.

import { GatewayError } from '../lib/errors'

/** The beginning of a place in the input: its item. */
const ITEM = /^input\[(\d+)\]/

/**
 * The error with places in the caller's own request. `recalledItems` is the number of items before those of the caller, and `field`
 * is the field that named them. A fault among them is a fault of the continued conversation.
 */
export function inOwnPlaces(error: unknown, recalledItems: number, field: string): unknown {
  if (recalledItems === 0 || !(error instanceof GatewayError)) return error
  const [place, index] = ITEM.exec(error.param ?? '') ?? []
  if (place === undefined) return error
  const own = Number(index) - recalledItems
  const { status, code, type, details, relayed, headers } = error
  const rest = { code, type, details, relayed, headers, cause: error.cause }
  if (own >= 0) {
    const named = `input[${own}]`
    const param = named + (error.param ?? '').slice(place.length)
    return new GatewayError(status, { ...rest, param, message: error.message.replaceAll(place, named) })
  }
  return new GatewayError(status, {
    ...rest,
    param: field,
    message: `The conversation behind '${field}' cannot be continued by this model. Of its items: ${error.message}`,
  })
}
