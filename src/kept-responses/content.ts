// The content of stored responses: items and answers as text in the database. Content that is read back must be complete and
// unchanged, or absent: an unreadable row must never become a shorter conversation.

import type { ResponseLimits } from '../config/responses'
import { DatabaseUnavailable, type Db } from '../db/db'
import { isObject } from '../lib/objects'
import { isResultId } from './results'
import { findChain, findItems, type KeptHead, readContents } from './rows'

/** An item of an input or output, as callers send it and get it back. */
export type Item = Readonly<Record<string, unknown>>

export interface ContentWorld {
  db: Db
  /** Ends of requests that the database has not accepted yet, with their responses. */
  pendingEnds: { readonly count: number }
  keptResponses: ResponseLimits
}

/** A response object as stored. */
export type KeptAnswer = Item & { output: readonly Item[] }

/** A kept response with its content. */
interface KeptContent {
  input: readonly Item[]
  answer: KeptAnswer
}

/**
 * A response object whose output is guaranteed to be a list of items. Rows of earlier versions may have something else there.
 */
export function keptAnswer(answer: object): KeptAnswer {
  const { output } = answer as Item
  return { ...answer, output: Array.isArray(output) ? output.filter(isObject) : [] }
}

/**
 * The response and everything that it continues, the oldest first; empty if it does not exist. Throws `DatabaseUnavailable` if it
 * may be among those that the database has not accepted yet: a caller that has read its end must not get 404.
 */
export async function chainOf(
  { db, now, pendingEnds }: ContentWorld & { now(): number },
  account: string,
  id: string,
): Promise<KeptHead[]> {
  if (isResultId(id)) return []
  const chain = await findChain(db, account, id, now())
  if (chain.length === 0 && pendingEnds.count > 0)
    throw new DatabaseUnavailable('responses wait for the database')
  return chain
}

/** The contents of responses by id; missing ones are absent. */
export async function contentsOf(
  { db }: ContentWorld,
  account: string,
  ids: readonly string[],
): Promise<Map<string, KeptContent>> {
  const rows = await readContents(db, account, ids)
  return new Map(
    rows.map(({ id, input, answer }) => [
      id,
      {
        input: JSON.parse(input),
        answer: keptAnswer(JSON.parse(answer)),
      },
    ]),
  )
}

/** Items by id; missing ones are absent. */
export async function itemsOf(
  world: ContentWorld,
  account: string,
  itemIds: readonly string[],
): Promise<Map<string, Item>> {
  const places = await findItems(world.db, account, itemIds)
  const contents = await contentsOf(world, account, [...new Set(places.values())])
  const wanted = new Set(itemIds)
  const items = new Map<string, Item>()
  for (const { input, answer } of contents.values()) {
    for (const item of [...input, ...answer.output]) {
      const { id } = item
      if (typeof id === 'string' && wanted.has(id) && !isReference(item)) items.set(id, item)
    }
  }
  return items
}

/** Whether an item only names another one. Its type may be absent: then it has only the id. */
export function isReference(item: unknown): item is { id: string } {
  if (!isObject(item) || typeof item.id !== 'string') return false
  if (item.type === 'item_reference') return true
  return (
    (item.type === undefined || item.type === null) && item.role === undefined && item.content === undefined
  )
}
