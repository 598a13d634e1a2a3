// Conversations and their items: /v1/conversations. None of it costs anything. Another account's conversation must read
// exactly as one that does not exist.

import { Elysia } from 'elysia'
import { countFreeRequest } from '../../billing/ledger/limits'
import { apply, tryApply } from '../../db/db'
import type { Item } from '../../kept-responses/content'
import {
  type ConversationHead,
  deleteConversation,
  deleteItem,
  findItem,
  insertConversation,
  insertItems,
  itemsOnPage,
  updateMetadata,
} from '../../kept-responses/conversation-rows'
import {
  type ConversationWorld,
  checkLength,
  conversationNotFound,
  requireConversation,
  storedItems,
} from '../../kept-responses/conversations'
import { makeRoomForResponse } from '../../kept-responses/keep'
import { recall } from '../../kept-responses/recall'
import { GatewayError, invalidRequest } from '../../lib/errors'
import { parseBody, scanBody } from '../../lib/json/body'
import { isObject } from '../../lib/objects'
import type { BodyReader } from '../body'
import { exempt, type Listener, rest } from '../connection'
import { itemList, itemPageOf, noSuchPlace } from '../item-page'
import { tolerated } from '../paths'
import { queryOf } from '../target'
import { answerKeyed, type KeyedWorld } from '../with-key'

type Fields = Record<string, unknown>
type World = KeyedWorld & ConversationWorld & { randomBytes(count: number): Uint8Array }

const PATH = '/v1/conversations'
/** Items that one call adds at most. */
const MAX_ITEMS = 20
/** Most pairs of metadata, and their longest key and value, in characters. */
const METADATA = { pairs: 16, keyLength: 64, valueLength: 512 } as const
/** Random bytes of an id: nobody guesses one. */
const ID_BYTES = 16
/** Longest id that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

export function conversationRoutes(world: World, bodies: BodyReader, mark: Readonly<Record<string, string>>) {
  type Work = (account: string) => Promise<object>
  const answer = (request: Request, work: Work) =>
    answerKeyed(world, request, 'openai', async ({ account }, requestId) =>
      Response.json(await work(account), { headers: { 'x-request-id': requestId, ...mark } }),
    )

  /** Answers a request with a body. */
  const write = async (
    request: Request,
    listener: Listener | null,
    work: (account: string, body: Fields) => Promise<object>,
  ) => {
    rest(listener, request, world.config)
    const response = await answerKeyed(world, request, 'openai', async (key, requestId) => {
      const content = hasBody(request)
        ? await bodies.read(request, 'responses', () => exempt(listener, request))
        : undefined
      const body = content ? parseBody(scanBody(content)) : {}
      await countFreeRequest(world.db, key, world.now())
      const shown = await work(key.account, body)
      return Response.json(shown, { headers: { 'x-request-id': requestId, ...mark } })
    })
    rest(listener, request, world.config)
    return response.ok ? response : bodies.answer(request, response, listener)
  }

  const app = new Elysia({ name: 'conversations' })
  for (const path of tolerated(PATH)) {
    const raw = { parse: 'none' } as const
    app
      .post(
        path,
        ({ request, server }) => write(request, server, (account, body) => create(world, account, body)),
        raw,
      )
      .get(`${path}/:id`, ({ request, params }) =>
        answer(request, async (account) => shown(await requireConversation(world, account, params.id))),
      )
      .post(
        `${path}/:id`,
        ({ request, server, params }) =>
          write(request, server, (account, body) => update(world, account, params.id, body)),
        raw,
      )
      .delete(`${path}/:id`, ({ request, params }) =>
        answer(request, (account) => remove(world, account, params.id)),
      )
      .post(
        `${path}/:id/items`,
        ({ request, server, params }) =>
          write(request, server, (account, body) => append(world, account, params.id, body)),
        raw,
      )
      .get(`${path}/:id/items`, ({ request, params }) =>
        answer(request, (account) => list(world, account, params.id, queryOf(request))),
      )
      .get(`${path}/:id/items/:item`, ({ request, params }) =>
        answer(request, (account) => showItem(world, account, params.id, params.item)),
      )
      .delete(`${path}/:id/items/:item`, ({ request, params }) =>
        answer(request, (account) => removeItem(world, account, params.id, params.item)),
      )
  }
  return app
}

/** Creating needs no body. */
function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}

async function create(world: World, account: string, body: Fields): Promise<object> {
  const { db, now, randomBytes } = world
  const expiresAt = endOfKeeping(world)
  const metadata = metadataOf(body.metadata)
  const given = body.items === undefined || body.items === null ? [] : itemsIn(body.items)
  const items = storedItems(await whole(world, account, given), newId('items', randomBytes))
  const bytes = bytesOf(items)
  const id = newId('conv', randomBytes)
  const head = { id, account, metadata, itemCount: 0, bytes: 0, createdAt: now() }
  checkSize(world, head, items.length, bytes)
  await makeRoomForResponse(world, account, bytes)
  await apply(db, [
    ...insertConversation(db, head, expiresAt),
    ...insertItems(db, head, items, expiresAt, true),
  ])
  return shown(head)
}

async function update(world: World, account: string, id: string, body: Fields): Promise<object> {
  const head = await requireConversation(world, account, id)
  if (body.metadata === undefined) {
    throw invalidRequest('metadata', "Missing required parameter: 'metadata'.", 'missing_required_parameter')
  }
  const metadata = metadataOf(body.metadata)
  const changed = { id, account, metadata, createdAt: head.createdAt }
  if (!(await updateMetadata(world.db, changed, endOfKeeping(world)))) throw conversationNotFound(id)
  return shown(changed)
}

async function remove(world: World, account: string, id: string): Promise<object> {
  const head = await requireConversation(world, account, id)
  if (!(await deleteConversation(world.db, head))) throw conversationNotFound(id)
  return { id, object: 'conversation.deleted', deleted: true }
}

async function append(world: World, account: string, id: string, body: Fields): Promise<object> {
  const { db, randomBytes } = world
  const head = await requireConversation(world, account, id)
  const items = storedItems(await whole(world, account, itemsIn(body.items)), newId('items', randomBytes))
  for (const [place, item] of items.entries()) await checkNew(world, id, item.id, place)
  const bytes = bytesOf(items)
  checkSize(world, head, items.length, bytes)
  await makeRoomForResponse(world, account, bytes, id)
  const isThere = await tryApply(db, insertItems(db, head, items, endOfKeeping(world), true))
  if (!isThere) throw conversationNotFound(id)
  return itemList(
    items.map(({ item }) => shownItem(item)),
    false,
  )
}

async function list(world: World, account: string, id: string, query: URLSearchParams): Promise<object> {
  const page = itemPageOf(query)
  await requireConversation(world, account, id)
  // One more tells whether there is another page.
  const texts = await itemsOnPage(world.db, id, { ...page, limit: page.limit + 1 })
  if (!texts) throw noSuchPlace(page.after ?? '')
  const data = texts.slice(0, page.limit).map((text) => shownItem(JSON.parse(text)))
  return itemList(data, texts.length > page.limit)
}

async function showItem(world: World, account: string, id: string, itemId: string): Promise<object> {
  await requireConversation(world, account, id)
  const text = await findItem(world.db, id, itemId)
  if (text === undefined) throw itemNotFound(itemId)
  return shownItem(JSON.parse(text))
}

async function removeItem(world: World, account: string, id: string, itemId: string): Promise<object> {
  const head = await requireConversation(world, account, id)
  if (!(await deleteItem(world.db, head, itemId))) throw itemNotFound(itemId)
  return shown(head)
}

/** When a conversation that is used now will be forgotten. Throws 400 if nothing is kept here. */
function endOfKeeping({ keptResponses, now }: World): number {
  if (keptResponses.keepMs !== undefined) return now() + keptResponses.keepMs
  throw invalidRequest(
    null,
    "This gateway keeps no conversations: send the whole conversation in 'input' of each request. A repeat cannot help.",
    'unsupported_endpoint',
  )
}

/** Items with each reference replaced by the item that it names. */
async function whole(world: World, account: string, items: readonly Item[]): Promise<readonly Item[]> {
  return (await recall(world, account, { input: items })).input ?? items
}

async function checkNew({ db }: World, id: string, itemId: string, place: number): Promise<void> {
  if ((await findItem(db, id, itemId)) === undefined) return
  throw invalidRequest(
    `items[${place}].id`,
    `The item '${itemId.slice(0, MAX_SHOWN_LENGTH)}' is in the conversation already. Send only what is new.`,
    'duplicate_item',
  )
}

function checkSize(
  { keptResponses }: World,
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

function itemsIn(items: unknown): readonly Item[] {
  if (!Array.isArray(items)) throw invalidRequest('items', "Invalid 'items': expected a list of items.")
  if (items.length > MAX_ITEMS) {
    throw invalidRequest(
      'items',
      `Invalid 'items': at most ${MAX_ITEMS} items a call. Send the others after.`,
    )
  }
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
  return items
}

/** The metadata as JSON. Throws 400 for more than clients may send. */
function metadataOf(metadata: unknown): string {
  if (metadata === undefined || metadata === null) return '{}'
  const { pairs, keyLength, valueLength } = METADATA
  const entries = isObject(metadata) ? Object.entries(metadata) : undefined
  const isFit = entries?.every(
    ([key, value]) => key.length <= keyLength && typeof value === 'string' && value.length <= valueLength,
  )
  if (entries && isFit && entries.length <= pairs) return JSON.stringify(metadata)
  throw invalidRequest(
    'metadata',
    `Invalid 'metadata': at most ${pairs} texts of at most ${valueLength} characters, by names of at most ${keyLength}.`,
  )
}

function shown({ id, createdAt, metadata }: Pick<ConversationHead, 'id' | 'createdAt' | 'metadata'>): object {
  return {
    id,
    object: 'conversation',
    created_at: Math.floor(createdAt / 1000),
    metadata: JSON.parse(metadata),
  }
}

/** An item with what clients require of a message. */
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

function newId(prefix: string, randomBytes: World['randomBytes']): string {
  return `${prefix}_${Buffer.from(randomBytes(ID_BYTES)).toString('hex')}`
}
