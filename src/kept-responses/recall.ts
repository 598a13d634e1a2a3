// Completes the input of a request with stored content: the responses that it continues, and items that it names by id. A model
// must never get less than the caller believes: missing content is an error. The vendor stores nothing, so it always gets
// everything.

import { GatewayError, invalidRequest } from '../lib/errors'
import { type ContentWorld, chainOf, contentsOf, type Item, isReference, itemsOf } from './content'
import { type KeptHead, MAX_CHAIN_LENGTH } from './rows'

/** The parts of a request that name stored content. */
interface Continued {
  input?: string | readonly Item[] | null
  previous_response_id?: string | null
}

interface Recalled {
  /** The whole conversation; undefined if the request names nothing stored. */
  input: readonly Item[] | undefined
  /** Bytes that were added, as text: an upper bound of their tokens. */
  addedBytes: number
}

/** The maximum that is read for one request, in bytes and items: as much as a request itself may have. */
export const MAX_CHAIN_BYTES = 32 * 1024 * 1024
export const MAX_CHAIN_ITEMS = 16_384
/** Maximum length of an id that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

const NOTHING: Recalled = { input: undefined, addedBytes: 0 }

/** The input as a list: a text is one message of the user. */
export function itemsOfInput(input: Continued['input']): readonly Item[] {
  if (typeof input !== 'string') return input ?? []
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/** Throws 400 for a response that is not stored, and 404 for an item: a missing one and another account's are treated the same. */
export async function recall(
  world: ContentWorld & { now(): number },
  account: string,
  { input, previous_response_id: previousId }: Continued,
): Promise<Recalled> {
  const own = itemsOfInput(input)
  if (!previousId) {
    const ids = referencesIn(own)
    if (ids.length === 0) return NOTHING
    return resolved(world, account, own, 0)
  }
  const chain = await chainOf(world, account, previousId)
  checkChain(chain, previousId)
  const ids = chain.map(({ id }) => id)
  const contents = await contentsOf(world, account, ids)
  const earlier = ids.flatMap((id) => {
    const content = contents.get(id)
    if (!content) throw notKept(id)
    return [...content.input, ...content.answer.output]
  })
  return resolved(world, account, [...earlier, ...own], sumOf(chain, 'bytes'))
}

function checkChain(chain: readonly KeptHead[], id: string): void {
  const [oldest] = chain
  if (!oldest) throw notKept(id)
  if (oldest.previousId !== null && chain.length <= MAX_CHAIN_LENGTH) throw notKept(oldest.previousId)
  const isTooLong =
    chain.length > MAX_CHAIN_LENGTH ||
    sumOf(chain, 'bytes') > MAX_CHAIN_BYTES ||
    sumOf(chain, 'itemCount') > MAX_CHAIN_ITEMS
  if (!isTooLong) return
  throw invalidRequest(
    'previous_response_id',
    `The conversation behind '${shown(id)}' is too long to be continued: at most ${MAX_CHAIN_LENGTH} responses, ${MAX_CHAIN_ITEMS} items and ${MAX_CHAIN_BYTES} bytes. Start a new one with a summary of it; a retry cannot help.`,
    'conversation_too_long',
  )
}

function sumOf(chain: readonly KeptHead[], field: 'bytes' | 'itemCount'): number {
  return chain.reduce((sum, head) => sum + head[field], 0)
}

/** The items with each reference replaced by the item that it names. */
async function resolved(
  world: ContentWorld,
  account: string,
  items: readonly Item[],
  chainBytes: number,
): Promise<Recalled> {
  const ids = referencesIn(items)
  if (ids.length === 0) return { input: items, addedBytes: chainBytes }
  const known = await itemsOf(world, account, ids)
  let addedBytes = chainBytes
  const input = items.map((item) => {
    if (!isReference(item)) return item
    const found = known.get(item.id)
    if (!found) throw itemNotKept(item.id)
    addedBytes += Buffer.byteLength(JSON.stringify(found))
    return found
  })
  if (addedBytes <= MAX_CHAIN_BYTES) return { input, addedBytes }
  throw invalidRequest(
    'input',
    `The items that this request names have more than ${MAX_CHAIN_BYTES} bytes together. Name fewer; a retry cannot help.`,
    'conversation_too_long',
  )
}

function referencesIn(items: readonly Item[]): string[] {
  const ids = new Set<string>()
  for (const item of items) if (isReference(item)) ids.add(item.id)
  return [...ids]
}

function notKept(id: string): GatewayError {
  return invalidRequest(
    'previous_response_id',
    `Previous response with id '${shown(id)}' not found. It was not kept, was deleted, or is too old: send the whole conversation in 'input' instead.`,
    'previous_response_not_found',
  )
}

/** The error for an item that a request names and that does not exist. */
export function itemNotKept(id: string): GatewayError {
  return new GatewayError(404, {
    code: 'item_not_found',
    message: `Item with id '${shown(id)}' not found. Items are not persisted when \`store\` is set to false, and go when their response is deleted or too old. Send the item itself; with the Vercel AI SDK set its provider option of that name to false.`,
    param: 'input',
  })
}

function shown(id: string): string {
  return id.slice(0, MAX_SHOWN_LENGTH)
}
