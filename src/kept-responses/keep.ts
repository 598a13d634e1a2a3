// Stores responses and removes them again: expired ones, and the oldest of an account with too many bytes. Cached answers are
// removed first. A response must be stored in the transaction that settles its charge, so that a caller that has read its end can
// continue it.

import type { Statement } from '../db/db'
import { isItemId } from '../families/responses/response-object'
import { makeRoomAmongCached, sweepCachedAnswers } from './cached-answers'
import { type ContentWorld, type Item, isReference, type KeptAnswer } from './content'
import { deleteConversation, expiredConversations, idlestConversations } from './conversation-rows'
import { type ConversationToContinue, continueStatements } from './conversations'
import { withId } from './item-ids'
import { accountsAbove, deleteResponse, expiredResponses, insertResponse, oldestResponses } from './rows'

/** A response in progress that will be stored. */
export interface ResponseToKeep {
  id: string
  account: string
  previousId: string | null
  /** Items of this request only. */
  input: readonly Item[]
  /** The response object, once it has ended. */
  answer: KeptAnswer | undefined
  /** Absent unless the response continues a conversation. */
  conversation?: ConversationToContinue
}

type KeepWorld = ContentWorld & { now(): number }

/** Number of rows per read. */
const PAGE = 100

/** The statements for the end of a response: it is stored and, once complete, appended to its conversation. */
export function endStatements(world: KeepWorld, response: ResponseToKeep, isWhole: boolean): Statement[] {
  const statements = keepStatements(world, response)
  const { conversation } = response
  if (conversation && isWhole) statements.push(...continueStatements(world, conversation, response))
  return statements
}

/** The statements that store an ended response; empty if it is too large. */
export function keepStatements(world: KeepWorld, response: ResponseToKeep): Statement[] {
  const { now } = world
  const { keepMs, maxResponseBytes } = world.keptResponses
  const { id, account, previousId, answer } = response
  if (!answer || keepMs === undefined) return []
  const items = response.input.map((item, place) => withId(item, id, place))
  const { output } = answer
  const input = JSON.stringify(items)
  const text = JSON.stringify(answer)
  if (input.length + text.length > maxResponseBytes) return []
  const createdAt = now()
  return insertResponse(world.db, {
    id,
    account,
    previousId,
    input,
    answer: text,
    itemCount: items.length + output.length,
    itemIds: [...new Set([...response.input, ...output].flatMap(idOf))],
    createdAt,
    expiresAt: createdAt + keepMs,
  })
}

function idOf(item: Item): string[] {
  return isItemId(item.id) && !isReference(item) ? [item.id] : []
}

/**
 * Removes the oldest cached answers of an account until a number of additional bytes fit, then the oldest responses, and then the
 * least recently used conversations, but never the one in use.
 */
export async function makeRoomForResponse(
  world: KeepWorld,
  account: string,
  bytes: number,
  usedConversation?: string,
): Promise<void> {
  const { db, keptResponses } = world
  let excess = await makeRoomAmongCached(db, account, bytes, keptResponses.maxBytes)
  while (excess > 0) {
    const oldest = await oldestResponses(db, account, PAGE)
    if (oldest.length === 0) break
    for (const response of oldest) {
      if (excess <= 0) return
      if (await deleteResponse(db, response)) excess -= response.bytes
    }
  }
  while (excess > 0) {
    const idlest = await idlestConversations(db, account, PAGE)
    const removable = idlest.filter(({ id }) => id !== usedConversation)
    if (removable.length === 0) return
    for (const conversation of removable) {
      if (excess <= 0) return
      if (await deleteConversation(db, conversation)) excess -= conversation.bytes
    }
  }
}

/** Removes expired and excess rows. Called by the scheduler. */
export async function sweepResponses(world: KeepWorld): Promise<void> {
  const { db, keptResponses, now } = world
  await sweepCachedAnswers(db, now())
  for (;;) {
    const expired = await expiredResponses(db, now(), PAGE)
    for (const response of expired) await deleteResponse(db, response)
    if (expired.length < PAGE) break
  }
  for (;;) {
    const expired = await expiredConversations(db, now(), PAGE)
    for (const conversation of expired) await deleteConversation(db, conversation)
    if (expired.length < PAGE) break
  }
  for (const account of await accountsAbove(db, keptResponses.maxBytes))
    await makeRoomForResponse(world, account, 0)
}
