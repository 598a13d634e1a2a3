// Conversations and their items: /v1/conversations. None of this costs anything. Another account's conversation must look exactly
// like one that does not exist.

import { type Static, Type } from '@sinclair/typebox'
import { Nullable } from '../../../api-operation/operation'
import { count, named, text } from '../../../api-operation/schemas'
import { refusing } from '../../../api-operation/values'
import { apply, tryApply } from '../../../db/db'
import type { Item } from '../../../kept-responses/content'
import {
  type ConversationHead,
  deleteConversation,
  deleteItem,
  findItem,
  insertConversation,
  insertItems,
  itemsOnPage,
  updateMetadata,
} from '../../../kept-responses/conversation-rows'
import {
  checkLength,
  conversationNotFound,
  requireConversation,
  storedItems,
} from '../../../kept-responses/conversations'
import { makeRoomForResponse } from '../../../kept-responses/keep'
import { itemNotKept, recall } from '../../../kept-responses/recall'
import { GatewayError, invalidRequest } from '../../../lib/errors'
import { isObject } from '../../../lib/objects'
import { InputItemList, ItemPageQuery, itemList, MAX_SHOWN_LENGTH, noSuchPlace } from '../item-list'
import { type CallerWorld, callerOperation } from '../operation'

/** Maximum number of items per call. */
const MAX_ITEMS = 20
/** Maximum number of metadata pairs, and maximum length of keys and values, in characters. */
const METADATA = { pairs: 16, keyLength: 64, valueLength: 512 } as const
/** Random bytes of an id: it cannot be guessed. */
const ID_BYTES = 16

const Metadata = Type.Record(
  Type.String({ pattern: `^[\\s\\S]{0,${METADATA.keyLength}}$` }),
  Type.String({ maxLength: METADATA.valueLength }),
  { maxProperties: METADATA.pairs, additionalProperties: false },
)
const MetadataField = refusing(Nullable(Metadata), metadataRefused)
const ItemsField = Type.Array(Type.Object({}), { maxItems: MAX_ITEMS })

const Conversation = named(
  'Conversation',
  { id: text, object: Type.Literal('conversation'), created_at: count, metadata: Type.Object({}) },
  { id: 'conv_123', object: 'conversation', created_at: 1_767_225_600, metadata: { topic: 'travel' } },
)
const ConversationItem = named(
  'ConversationItem',
  { id: text, type: text },
  { id: 'msg_123', type: 'message', role: 'user', status: 'completed', content: [] },
)
const hello = { type: 'message', role: 'user', content: 'Hello' }

const ofConversation = {
  tag: 'Text',
  isMarked: true,
  params: { id: 'The id of a conversation of this account.', item: 'The id of an item.' },
  missing: conversationNotFound('conv_1'),
}
const written = {
  ...ofConversation,
  entrance: 'responses',
  isBodyOptional: true,
  isCounted: true,
} as const

const create = callerOperation(Conversation)({
  ...written,
  id: 'createConversation',
  endpoint: 'POST /v1/conversations',
  summary: 'Begin a conversation',
  body: Type.Object(
    {
      items: refusing(Type.Optional(Nullable(ItemsField)), itemsRefused),
      metadata: Type.Optional(MetadataField),
    },
    { examples: [{ metadata: { topic: 'travel' }, items: [hello] }] },
  ),
  answers: 'It is empty, or has these items.',
  missing: itemNotKept('msg_1'),
  async run({ world, key: { account } }, _query, { items: given, metadata }) {
    const { db, now, randomBytes } = world
    const expiresAt = endOfKeeping(world)
    checkItems(given ?? [])
    const items = storedItems(await whole(world, account, given ?? []), newId('items', randomBytes))
    const bytes = bytesOf(items)
    const id = newId('conv', randomBytes)
    const head = { id, account, metadata: jsonOf(metadata), itemCount: 0, bytes: 0, createdAt: now() }
    checkSize(world, head, items.length, bytes)
    await makeRoomForResponse(world, account, bytes)
    // A conversation that was created after all is harmless: nobody knows its id.
    await apply(
      db,
      [...insertConversation(db, head, expiresAt), ...insertItems(db, head, items, expiresAt, true)],
      { mayBeLate: true },
    )
    return shown(head)
  },
})

const show = callerOperation(Conversation)({
  ...ofConversation,
  id: 'getConversation',
  endpoint: 'GET /v1/conversations/{id}',
  summary: 'A conversation',
  answers: 'The conversation without its items.',
  run: async ({ world, key, params: { id = '' } }) =>
    shown(await requireConversation(world, key.account, id)),
})

const update = callerOperation(Conversation)({
  ...written,
  id: 'updateConversation',
  endpoint: 'POST /v1/conversations/{id}',
  summary: 'Replace the metadata of a conversation',
  body: Type.Object({ metadata: MetadataField }, { examples: [{ metadata: { topic: 'food' } }] }),
  answers: 'The conversation.',
  async run({ world, key: { account }, params: { id = '' } }, _query, { metadata }) {
    const { createdAt } = await requireConversation(world, account, id)
    const changed = { id, account, metadata: jsonOf(metadata), createdAt }
    if (!(await updateMetadata(world.db, changed, endOfKeeping(world)))) throw conversationNotFound(id)
    return shown(changed)
  },
})

const remove = callerOperation(
  named(
    'DeletedConversation',
    { id: text, object: Type.Literal('conversation.deleted'), deleted: Type.Literal(true) },
    { id: 'conv_123', object: 'conversation.deleted', deleted: true },
  ),
)({
  ...ofConversation,
  id: 'deleteConversation',
  endpoint: 'DELETE /v1/conversations/{id}',
  summary: 'Delete a conversation with its items',
  answers: 'It is gone.',
  async run({ world, key: { account }, params: { id = '' } }) {
    const head = await requireConversation(world, account, id)
    if (!(await deleteConversation(world.db, head))) throw conversationNotFound(id)
    return { id, object: 'conversation.deleted', deleted: true }
  },
})

const append = callerOperation(InputItemList)({
  ...written,
  id: 'addItems',
  endpoint: 'POST /v1/conversations/{id}/items',
  summary: 'Append items to a conversation',
  description: `At most ${MAX_ITEMS}.`,
  body: Type.Object({ items: refusing(ItemsField, itemsRefused) }, { examples: [{ items: [hello] }] }),
  answers: 'These items.',
  async run({ world, key: { account }, params: { id = '' } }, _query, { items: given }) {
    const { db, randomBytes, lateAppends } = world
    const head = await requireConversation(world, account, id)
    checkItems(given)
    const sent = await whole(world, account, given)
    const items = storedItems(sent, newId('items', randomBytes))
    for (const [place, item] of items.entries()) await checkNew(world, id, item.id, place)
    const bytes = bytesOf(items)
    checkSize(world, head, items.length, bytes)
    await makeRoomForResponse(world, account, bytes, id)
    const statements = insertItems(db, head, items, endOfKeeping(world), true)
    const isThere = await tryApply(db, statements, { mayBeLate: true }).catch((error) => {
      // If the items were added after all, a repeat would add them twice, unless the caller's own ids show it.
      const itemIds = items.map((item) => item.id)
      if (itemIds.every((itemId, place) => itemId !== sent[place]?.id)) lateAppends.takeBack(head, itemIds)
      throw error
    })
    if (!isThere) throw conversationNotFound(id)
    return itemList(
      items.map(({ item }) => shownItem(item)),
      false,
    )
  },
})

const listItems = callerOperation(InputItemList)({
  ...ofConversation,
  id: 'listItems',
  endpoint: 'GET /v1/conversations/{id}/items',
  summary: 'The items of a conversation',
  query: ItemPageQuery,
  answers: 'A page of items.',
  async run({ world, key: { account }, params: { id = '' } }, { limit, order, after = null }) {
    await requireConversation(world, account, id)
    // One additional item shows whether there is another page.
    const texts = await itemsOnPage(world.db, id, { order, after, limit: limit + 1 })
    if (!texts) throw noSuchPlace(after ?? '')
    const data = texts.slice(0, limit).map((text) => shownItem(JSON.parse(text)))
    return itemList(data, texts.length > limit)
  },
})

const showItem = callerOperation(ConversationItem)({
  ...ofConversation,
  id: 'getItem',
  endpoint: 'GET /v1/conversations/{id}/items/{item}',
  summary: 'One item of a conversation',
  answers: 'The item.',
  async run({ world, key: { account }, params: { id = '', item = '' } }) {
    await requireConversation(world, account, id)
    const text = await findItem(world.db, id, item)
    if (text === undefined) throw itemNotFound(item)
    return shownItem(JSON.parse(text)) as Static<typeof ConversationItem>
  },
})

const removeItem = callerOperation(Conversation)({
  ...ofConversation,
  id: 'deleteItem',
  endpoint: 'DELETE /v1/conversations/{id}/items/{item}',
  summary: 'Delete an item of a conversation',
  answers: 'The conversation without it.',
  async run({ world, key: { account }, params: { id = '', item = '' } }) {
    const head = await requireConversation(world, account, id)
    if (!(await deleteItem(world.db, head, item))) throw itemNotFound(item)
    return shown(head)
  },
})

/** When a conversation that is used now will expire. Throws 400 if nothing is stored here. */
function endOfKeeping({ keptResponses, now }: CallerWorld): number {
  if (keptResponses.keepMs !== undefined) return now() + keptResponses.keepMs
  throw invalidRequest(
    null,
    "This gateway keeps no conversations: send the whole conversation in 'input' of each request. A repeat cannot help.",
    'unsupported_endpoint',
  )
}

/** Items with each reference replaced by the item that it names. */
async function whole(world: CallerWorld, account: string, items: readonly Item[]): Promise<readonly Item[]> {
  return (await recall(world, account, { input: items })).input ?? items
}

async function checkNew({ db }: CallerWorld, id: string, itemId: string, place: number): Promise<void> {
  if ((await findItem(db, id, itemId)) === undefined) return
  throw invalidRequest(
    `items[${place}].id`,
    `The item '${itemId.slice(0, MAX_SHOWN_LENGTH)}' is already in the conversation. Send only new items.`,
    'duplicate_item',
  )
}

function checkSize(
  { keptResponses }: CallerWorld,
  head: Pick<ConversationHead, 'id' | 'itemCount' | 'bytes'>,
  count: number,
  bytes: number,
): void {
  checkLength(head, count, bytes)
  const { maxResponseBytes } = keptResponses
  if (bytes <= maxResponseBytes) return
  throw invalidRequest(
    'items',
    `The items have more than ${maxResponseBytes} bytes together. Send fewer or smaller ones.`,
  )
}

function itemsRefused(items: unknown): GatewayError {
  if (Array.isArray(items) && items.length <= MAX_ITEMS) checkItems(items)
  const why = Array.isArray(items)
    ? `at most ${MAX_ITEMS} items a call. Send the others after.`
    : 'expected a list of items.'
  return invalidRequest('items', `Invalid 'items': ${why}`)
}

/** Throws 400 for an invalid item, and for one whose id is already used. */
function checkItems(items: readonly unknown[]): asserts items is readonly Item[] {
  const ids = new Set<string>()
  for (const [place, item] of items.entries()) {
    const field = `items[${place}]`
    if (!isObject(item)) throw invalidRequest(field, `Invalid '${field}': expected an object.`)
    const { id, type, role } = item
    if (typeof (type ?? role ?? id) !== 'string' || (id !== undefined && typeof id !== 'string')) {
      throw invalidRequest(
        field,
        `Invalid '${field}': expected an item with a type, or a message with a role.`,
      )
    }
    if (id !== undefined && ids.size === ids.add(id as string).size) {
      throw invalidRequest(`${field}.id`, `Invalid '${field}.id': another item has it too.`, 'duplicate_item')
    }
  }
}

function metadataRefused(metadata: unknown): GatewayError {
  if (metadata === undefined)
    return invalidRequest('metadata', "Missing required parameter: 'metadata'.", 'missing_required_parameter')
  const { pairs, keyLength, valueLength } = METADATA
  return invalidRequest(
    'metadata',
    `Invalid 'metadata': at most ${pairs} texts of at most ${valueLength} characters, by names of at most ${keyLength}.`,
  )
}

function jsonOf(metadata: Static<typeof Metadata> | null | undefined): string {
  return JSON.stringify(metadata ?? {})
}

function shown({
  id,
  createdAt,
  metadata,
}: Pick<ConversationHead, 'id' | 'createdAt' | 'metadata'>): Static<typeof Conversation> {
  return {
    id,
    object: 'conversation',
    created_at: Math.floor(createdAt / 1000),
    metadata: JSON.parse(metadata),
  }
}

/** An item with the members that clients require in a message. */
function shownItem(item: Item): Item {
  if (item.type !== 'message') return item
  const { role, status = 'completed', content } = item
  if (typeof content !== 'string') return { ...item, status }
  const part =
    role === 'assistant'
      ? { type: 'output_text', text: content, annotations: [] }
      : { type: 'input_text', text: content }
  return { ...item, status, content: [part] }
}

function itemNotFound(id: string): GatewayError {
  return new GatewayError(404, {
    code: 'item_not_found',
    message: `Item with id '${id.slice(0, MAX_SHOWN_LENGTH)}' not found in this conversation.`,
    param: 'item_id',
  })
}

function bytesOf(items: readonly { content: string }[]): number {
  return items.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0)
}

function newId(prefix: string, randomBytes: CallerWorld['randomBytes']): string {
  return `${prefix}_${Buffer.from(randomBytes(ID_BYTES)).toString('hex')}`
}

export const conversationOperations = [create, show, update, remove, append, listItems, showItem, removeItem]
