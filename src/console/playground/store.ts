// Conversations in this browser only, separately for each key: in IndexedDB, the newest of them, each up to a size. No conversation
// ever leaves the browser, except as a file that its reader requests.

import type { Conversation, ModelReply } from './conversation'

const NAME = 'gateway-playground'
const TABLE = 'conversations'
const MAX_CONVERSATIONS = 50
/** Maximum number of stored characters of a conversation; a larger one is stored without its files. */
const MAX_CHARACTERS = 24_000_000

interface Kept extends Conversation {
  owner: string
}

/** All conversations of an owner, the newest first. */
export async function keptConversations(owner: string): Promise<Conversation[]> {
  const all = await inTable<Kept[]>('readonly', (table) => table.getAll())
  return (all ?? [])
    .filter((each) => each.owner === owner)
    .sort((one, other) => other.changedAt - one.changedAt)
}

/** Stores a conversation, and drops the oldest of those beyond the limit. It is not an error if a browser stores nothing. */
export async function keep(owner: string, conversation: Conversation): Promise<void> {
  await inTable('readwrite', (table) => table.put({ ...bounded(conversation), owner }))
  for (const { id } of (await keptConversations(owner)).slice(MAX_CONVERSATIONS)) await drop(id)
}

export async function drop(id: string): Promise<void> {
  await inTable('readwrite', (table) => table.delete(id))
}

export async function dropAll(owner: string): Promise<void> {
  for (const { id } of await keptConversations(owner)) await drop(id)
}

function bounded(conversation: Conversation): Conversation {
  if (JSON.stringify(conversation).length <= MAX_CHARACTERS) return conversation
  const lean = (reply: ModelReply): ModelReply => ({ ...reply, pictures: [], sound: null, vectors: [] })
  const turns = conversation.turns.map((turn) => ({ ...turn, files: [], replies: turn.replies.map(lean) }))
  return { ...conversation, turns }
}

let opened: Promise<IDBDatabase | undefined> | undefined

/** The database; undefined in a browser that has none, as in some private windows. */
function open(): Promise<IDBDatabase | undefined> {
  opened ??= new Promise((resolve) => {
    const request = indexedDB.open(NAME, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(TABLE, { keyPath: 'id' })
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => resolve(undefined)
  })
  return opened
}

async function inTable<Result>(
  mode: IDBTransactionMode,
  ask: (table: IDBObjectStore) => IDBRequest,
): Promise<Result | undefined> {
  const database = await open().catch(() => undefined)
  if (!database) return undefined
  return new Promise((resolve) => {
    const request = ask(database.transaction(TABLE, mode).objectStore(TABLE))
    request.onsuccess = () => resolve(request.result as Result)
    request.onerror = () => resolve(undefined)
  })
}
