// Compactions that are continued: a sealed summary becomes a text again, and replaces what it summarizes. Every summary of the
// account must be readable again, and no other.

import type { AnswerContext } from '../contract/family'
import { compactionItem, isTrigger, summaryIn, userMessage } from '../families/responses/compaction'
import { asObject } from '../lib/objects'
import { SEALED_PREFIX } from '../lib/sealing'
import type { Item } from './content'

/**
 * The items of a continued stored conversation. A compacted part becomes its compaction, followed by the items that the summary
 * does not cover. The same list if nothing was compacted.
 */
export function continuedItems(items: readonly Item[], open: AnswerContext['open']): readonly Item[] {
  if (!items.some(isTrigger)) return items
  const made = items.findLastIndex(
    (item, place) => isTrigger(item) && summaryOf(items[place + 1], open) !== undefined,
  )
  const compacted = items.slice(0, Math.max(0, made)).filter(outlivesSummary)
  return [...compacted, ...items.slice(Math.max(0, made)).filter((item) => !isTrigger(item))]
}

/** Whether an item instructs the model: it stays next to the summary of the work so far. */
function outlivesSummary(item: Item): boolean {
  const { type = null, role } = item
  if (type === 'additional_tools' || type === 'configuration_update') return true
  return (type === null || type === 'message') && role !== 'assistant'
}

/** The items, with summaries as messages that a model can read. The same list if it contains no summary. */
export function withReadableSummaries(
  items: readonly Item[],
  open: AnswerContext['open'],
): { items: readonly Item[]; addedBytes: number } {
  if (!items.some(isSealed)) return { items, addedBytes: 0 }
  let addedBytes = 0
  const readable = items.map((item) => {
    const summary = summaryOf(item, open)
    if (summary === undefined) return item
    const message = userMessage(`Summary of the conversation until here:\n\n${summary}`)
    addedBytes += Math.max(0, bytesOf(message) - bytesOf(item))
    return message
  })
  return { items: readable, addedBytes }
}

/** Bytes of an item as text: an upper bound of its tokens. */
function bytesOf(item: Item): number {
  return Buffer.byteLength(JSON.stringify(item))
}

/** The messages of the user, which a compaction repeats unchanged. */
export function userMessagesOf(items: readonly Item[]): Item[] {
  return items.filter((item) => {
    const { type = null, role } = asObject(item)
    return role === 'user' && (type === null || type === 'message')
  })
}

/**
 * The answer to a request of a compaction, made from the response with the summary. A truncated summary is not returned: it would
 * replace content that it does not cover. Throws if there is no text.
 */
export function compactionOf(
  response: object,
  { id, seal }: AnswerContext,
  userMessages: readonly Item[],
): object {
  const { created_at: createdAt, output, usage, ...rest } = response as Record<string, unknown>
  const head = { id, object: 'response.compaction', created_at: createdAt }
  if (rest.status === 'incomplete') {
    return { ...head, status: rest.status, incomplete_details: rest.incomplete_details, output: [], usage }
  }
  const item = compactionItem(output, seal)
  if (!item) throw new Error('the vendor sent no summary')
  const digits = id.slice(id.indexOf('_') + 1)
  const messages = userMessages.map((message, place) => shownMessage(message, `msg_${digits}${place}`))
  const { type, ...sealed } = item
  return {
    ...head,
    output: [...messages, { type, id: `cmp_${digits}`, ...sealed }],
    usage,
  }
}

/** The summary of a compaction that was made here for this account; undefined for any other item. */
function summaryOf(item: Item | undefined, open: AnswerContext['open']): string | undefined {
  return isSealed(item) ? summaryIn(open(item.encrypted_content)) : undefined
}

function isSealed(item: Item | undefined): item is Item & { encrypted_content: string } {
  // Items are not checked yet.
  const { type, encrypted_content: sealed } = asObject(item)
  return type === 'compaction' && typeof sealed === 'string' && sealed.startsWith(SEALED_PREFIX)
}

/** A message with every member that clients require. */
function shownMessage({ id, content, ...rest }: Item, newId: string): Item {
  return {
    ...rest,
    id: typeof id === 'string' ? id : newId,
    type: 'message',
    status: 'completed',
    content: typeof content === 'string' ? [{ type: 'input_text', text: content }] : content,
  }
}
