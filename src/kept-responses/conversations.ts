// Conversations: items that requests continue and append to. The items that a request continues must be complete, and its own items
// must exist once its end can be read: they are written in the transaction that settles the charge.

import type { Statement } from '../db/db'
import { GatewayError, invalidRequest } from '../lib/errors'
import { isObject } from '../lib/objects'
import type { ContentWorld, Item, KeptAnswer } from './content'
import {
  allItems,
  type ConversationHead,
  type ConversationItem,
  findConversation,
  insertItems,
} from './conversation-rows'
import { withId } from './item-ids'
import { MAX_CHAIN_BYTES, MAX_CHAIN_ITEMS } from './recall'

export type ConversationWorld = ContentWorld & { now(): number }

/** A conversation, with the part of a request that is appended to it when the request ends. */
export interface ConversationToContinue {
  id: string
  /** Items of this request only, none of them a reference. */
  input: readonly Item[]
}

/** Maximum number of items that one request appends. */
const MAX_ADDED_ITEMS = 1_000
/** Maximum length of an id that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

/** The id of the conversation that a body names. Throws 400 for anything else in its place, and for two histories. */
export function conversationIn(body: Readonly<Record<string, unknown>>): string | undefined {
  const { conversation: named, previous_response_id: previousId } = body
  if (named === undefined || named === null) return undefined
  const id = isObject(named) ? named.id : named
  if (typeof id !== 'string') {
    throw invalidRequest(
      'conversation',
      "Invalid 'conversation': expected an id, or an object with it as 'id'.",
    )
  }
  if (previousId === undefined || previousId === null) return id
  throw invalidRequest(
    'conversation',
    "A request continues a conversation or a response: send 'conversation' or 'previous_response_id', not both.",
    'mutually_exclusive_parameters',
  )
}

/** Throws 404 for a conversation that does not exist or belongs to another account, which look the same. */
export async function requireConversation(
  { db, now }: ConversationWorld,
  account: string,
  id: string,
): Promise<ConversationHead> {
  const head = await findConversation(db, account, id, now())
  if (head) return head
  throw conversationNotFound(id)
}

/**
 * The items of a conversation, which precede a request's own. Throws 404 if it is not stored, and 400 if it is too long, or
 * contains one of the request's own items.
 */
export async function recallConversation(
  world: ConversationWorld,
  account: string,
  id: string,
  own: readonly Item[],
): Promise<{ items: readonly Item[]; bytes: number }> {
  const head = await requireConversation(world, account, id)
  checkLength(head, 0, 0)
  if (own.length > MAX_ADDED_ITEMS) {
    throw invalidRequest(
      'input',
      `A request adds at most ${MAX_ADDED_ITEMS} items to a conversation. Send fewer, or leave out 'conversation'.`,
    )
  }
  const texts = await allItems(world.db, id)
  const items = texts.map((text): Item => JSON.parse(text))
  const known = new Set(items.map((item) => item.id))
  const place = own.findIndex((item) => typeof item.id === 'string' && known.has(item.id))
  if (place === -1) return { items, bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) }
  throw invalidRequest(
    `input[${place}].id`,
    `The item '${shown(String(own[place]?.id))}' is already in the conversation. Send only new items.`,
    'duplicate_item',
  )
}

/** The statements that append the items of a request and of its answer; empty if the conversation is gone. */
export function continueStatements(
  { db, keptResponses, now }: ConversationWorld,
  { id, input }: ConversationToContinue,
  { id: responseId, account, answer }: { id: string; account: string; answer: KeptAnswer | undefined },
): Statement[] {
  if (!answer || keptResponses.keepMs === undefined) return []
  const items = storedItems([...input, ...answer.output], responseId)
  return insertItems(db, { id, account }, items, now() + keptResponses.keepMs, false)
}

/** Items in stored form: each with an id and a type. `base` makes the ids unique. */
export function storedItems(items: readonly Item[], base: string): (ConversationItem & { item: Item })[] {
  return items.map((item, place) => {
    const typed = typeof item.type === 'string' ? item : { ...item, type: 'message' }
    const whole = withId(typed, base, place)
    return { id: String(whole.id), content: JSON.stringify(whole), item: whole }
  })
}

/** Throws 400 if a conversation would be too long with these further items and bytes. */
export function checkLength(
  { id, itemCount, bytes }: Pick<ConversationHead, 'id' | 'itemCount' | 'bytes'>,
  addedItems: number,
  addedBytes: number,
): void {
  if (itemCount + addedItems <= MAX_CHAIN_ITEMS && bytes + addedBytes <= MAX_CHAIN_BYTES) return
  throw invalidRequest(
    'conversation',
    `The conversation '${shown(id)}' is too long: at most ${MAX_CHAIN_ITEMS} items and ${MAX_CHAIN_BYTES} bytes. Start a new one with a summary of it; a retry cannot help.`,
    'conversation_too_long',
  )
}

export function conversationNotFound(id: string): GatewayError {
  return new GatewayError(404, {
    code: 'conversation_not_found',
    message: `Conversation with id '${shown(id)}' not found. It was deleted, was unused for too long, or was removed to free space.`,
    param: 'conversation',
  })
}

function shown(id: string): string {
  return id.slice(0, MAX_SHOWN_LENGTH)
}
