// The rows of conversations and of their items. The bytes of an account must be counted exactly while several requests append:
// every change locks the row of the account's total first, and the statements after it see the others' changes.

import { type BatchOptions, type Db, type Row, type Statement, tryApply } from '../db/db'
import type { EncodedTable } from '../db/encryption/reencryption'
import { addBytes } from './rows'

/** A conversation without its items. */
export type ConversationHead = ReturnType<typeof headOf>

function headOf(db: Db, row: Row) {
  const id = row.id as string
  return {
    id,
    account: row.account as string,
    itemCount: row.items as number,
    bytes: row.bytes as number,
    createdAt: row.created_at as number,
    /** JSON object. Decoded on use: an unreadable row must still be removable. */
    get metadata() {
      return db.codec.decode(row.metadata as string, metadataPlace(id))
    },
  }
}

/** An item as text. */
export interface ConversationItem {
  id: string
  /** JSON of the item. */
  content: string
}

export interface ItemPage {
  order: 'asc' | 'desc'
  /** Id of the item before the page; null for the first page. */
  after: string | null
  limit: number
}

/** Bytes counted for a conversation in addition to its texts, so that the number of empty ones is limited too. */
const ROW_BYTES = 512

const metadataPlace = (id: string) => `conversations.metadata ${id}`
const itemPlace = (conversation: string) => `conversation_items.content ${conversation}`

export const conversationTexts: readonly EncodedTable[] = [
  { table: 'conversations', primaryKey: ['id'], columns: ['metadata'], id: 'id', placeOf: metadataPlace },
  {
    table: 'conversation_items',
    primaryKey: ['conversation', 'position'],
    columns: ['content'],
    id: 'conversation',
    placeOf: itemPlace,
  },
]

/** Writes an empty conversation. */
export function insertConversation(
  { codec }: Pick<Db, 'codec'>,
  { id, account, metadata, createdAt }: Pick<ConversationHead, 'id' | 'account' | 'metadata' | 'createdAt'>,
  expiresAt: number,
): Statement[] {
  const metadataBytes = Buffer.byteLength(metadata)
  const bytes = ROW_BYTES + metadataBytes
  return [
    addBytes(account, bytes),
    {
      sql: `insert into conversations
        (id, account, metadata, metadata_bytes, items, bytes, next_position, created_at, expires_at)
        values ($1, $2, $3, $4, 0, $5, 0, $6, $7)`,
      parameters: [
        id,
        account,
        codec.encode(metadata, metadataPlace(id)),
        metadataBytes,
        bytes,
        createdAt,
        expiresAt,
      ],
    },
  ]
}

/**
 * Appends items after all existing ones. Changes nothing if the conversation is gone; with `isGuarded` the whole batch is then
 * undone.
 */
export function insertItems(
  { codec }: Pick<Db, 'codec'>,
  { id, account }: Pick<ConversationHead, 'id' | 'account'>,
  items: readonly ConversationItem[],
  expiresAt: number,
  isGuarded: boolean,
): Statement[] {
  const sizes = items.map(({ content }) => Buffer.byteLength(content))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return [
    addBytes(account, 0),
    {
      sql: `update response_totals set bytes = bytes + $2
        where account = $1 and exists (select 1 from conversations where id = $3 and account = $1)`,
      parameters: [account, bytes, id],
    },
    ...items.map((item, place) => ({
      sql: `insert into conversation_items (conversation, position, id, content, bytes)
        select id, next_position + $3, cast($4 as text), cast($5 as text), cast($6 as bigint)
        from conversations where id = $1 and account = $2`,
      parameters: [id, account, place, item.id, codec.encode(item.content, itemPlace(id)), sizes[place] ?? 0],
    })),
    {
      sql: `update conversations set next_position = next_position + $3, items = items + $3,
        bytes = bytes + $4, expires_at = $5 where id = $1 and account = $2`,
      parameters: [id, account, items.length, bytes, expiresAt],
      guard: isGuarded,
    },
  ]
}

export async function findConversation(
  db: Db,
  account: string,
  id: string,
  now: number,
): Promise<ConversationHead | undefined> {
  const [row] = await db.query({
    sql: 'select * from conversations where id = $1 and account = $2 and expires_at > $3',
    parameters: [id, account, now],
  })
  return row && headOf(db, row)
}

/** Changes that are harmless to repeat: a hanging database is not waited for. */
const REPEATABLE: BatchOptions = { mayBeLate: true }

/** Replaces the metadata. False if the conversation is gone. */
export function updateMetadata(
  db: Db,
  { id, account, metadata }: Pick<ConversationHead, 'id' | 'account' | 'metadata'>,
  expiresAt: number,
): Promise<boolean> {
  const bytes = Buffer.byteLength(metadata)
  return tryApply(
    db,
    [
      addBytes(account, bytes),
      {
        sql: `update response_totals set bytes = bytes - coalesce(
        (select metadata_bytes from conversations where id = $2 and account = $1), 0) where account = $1`,
        parameters: [account, id],
      },
      {
        sql: `update conversations set bytes = bytes - metadata_bytes + $3, metadata_bytes = $3, metadata = $4,
        expires_at = $5 where id = $1 and account = $2`,
        parameters: [id, account, bytes, db.codec.encode(metadata, metadataPlace(id)), expiresAt],
        guard: true,
      },
    ],
    REPEATABLE,
  )
}

/** Deletes a conversation with its items. False if it was gone. */
export function deleteConversation(
  db: Db,
  { id, account }: Pick<ConversationHead, 'id' | 'account'>,
): Promise<boolean> {
  return tryApply(
    db,
    [
      addBytes(account, 0),
      {
        sql: `update response_totals set bytes = bytes - coalesce(
        (select bytes from conversations where id = $2 and account = $1), 0) where account = $1`,
        parameters: [account, id],
      },
      {
        sql: 'delete from conversations where id = $1 and account = $2',
        parameters: [id, account],
        guard: true,
      },
      { sql: 'delete from conversation_items where conversation = $1', parameters: [id] },
    ],
    REPEATABLE,
  )
}

/** Deletes the item with an id, however often it occurs. False if it was gone. */
export function deleteItem(
  db: Db,
  { id, account }: Pick<ConversationHead, 'id' | 'account'>,
  itemId: string,
): Promise<boolean> {
  const removed = 'from conversation_items where conversation = $2 and id = $3'
  const parameters = [account, id, itemId]
  return tryApply(
    db,
    [
      addBytes(account, 0),
      {
        sql: `update response_totals set bytes = bytes - (select coalesce(sum(bytes), 0) ${removed})
        where account = $1`,
        parameters,
      },
      {
        sql: `update conversations set bytes = bytes - (select coalesce(sum(bytes), 0) ${removed}),
        items = items - (select count(*) ${removed}) where id = $2 and account = $1`,
        parameters,
      },
      {
        sql: 'delete from conversation_items where conversation = $1 and id = $2',
        parameters: [id, itemId],
        guard: true,
      },
    ],
    REPEATABLE,
  )
}

/** All items of a conversation in order, as text. */
export async function allItems(db: Db, conversation: string): Promise<string[]> {
  const rows = await db.query({
    sql: 'select content from conversation_items where conversation = $1 order by position',
    parameters: [conversation],
  })
  return rows.map((row) => contentOf(db, conversation, row))
}

/** The newest item with an id. */
export async function findItem(db: Db, conversation: string, itemId: string): Promise<string | undefined> {
  const [row] = await db.query({
    sql: `select content from conversation_items where conversation = $1 and id = $2
      order by position desc limit 1`,
    parameters: [conversation, itemId],
  })
  return row && contentOf(db, conversation, row)
}

/** The items of a page; undefined if the item before it does not exist. */
export async function itemsOnPage(
  db: Db,
  conversation: string,
  { order, after, limit }: ItemPage,
): Promise<string[] | undefined> {
  const isForward = order === 'asc'
  let from = isForward ? -1 : Number.MAX_SAFE_INTEGER
  if (after !== null) {
    // The last of equal ids, so that pages always advance.
    const [row] = await db.query({
      sql: `select ${isForward ? 'max' : 'min'}(position) as position from conversation_items
        where conversation = $1 and id = $2`,
      parameters: [conversation, after],
    })
    if (typeof row?.position !== 'number') return undefined
    from = row.position
  }
  const rows = await db.query({
    sql: `select content from conversation_items
      where conversation = $1 and position ${isForward ? '>' : '<'} $2
      order by position ${order} limit $3`,
    parameters: [conversation, from, limit],
  })
  return rows.map((row) => contentOf(db, conversation, row))
}

/** The least recently used conversations of an account. */
export async function idlestConversations(
  db: Db,
  account: string,
  count: number,
): Promise<ConversationHead[]> {
  const rows = await db.query({
    sql: 'select * from conversations where account = $1 order by expires_at, id limit $2',
    parameters: [account, count],
  })
  return rows.map((row) => headOf(db, row))
}

export async function expiredConversations(db: Db, now: number, count: number): Promise<ConversationHead[]> {
  const rows = await db.query({
    sql: 'select * from conversations where expires_at <= $1 order by expires_at limit $2',
    parameters: [now, count],
  })
  return rows.map((row) => headOf(db, row))
}

function contentOf(db: Db, conversation: string, row: Row): string {
  return db.codec.decode(row.content as string, itemPlace(conversation))
}
