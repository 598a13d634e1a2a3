// The lists of vendors' models and prices that ship with the executable. A list is parsed when it is first needed.

import type { VendorList } from '../../src/config/models/vendor-lists'
import { readPriceLists } from './price-list-texts' with { type: 'macro' }

const texts: Readonly<Record<string, string>> = readPriceLists()
const lists = new Map<string, VendorList>()

/** The kinds of upstream that have a list. */
export const shippedKinds: readonly string[] = Object.keys(texts)

/** The list that ships for the vendor of a kind. Returns undefined if none does. */
export function shippedList(kind: string): VendorList | undefined {
  const text = Object.hasOwn(texts, kind) ? texts[kind] : undefined
  if (text === undefined) return undefined
  let list = lists.get(kind)
  if (!list) {
    list = JSON.parse(text) as VendorList
    lists.set(kind, list)
  }
  return list
}
