// Compaction: a conversation becomes its user messages and a sealed summary, which continue it in fewer tokens. The model
// of the request writes the summary. Whatever opens for the account must be read again, and nothing else.

import type { AnswerContext } from '../contract/family'
import { asObject, isObject } from '../lib/objects'
import { SEALED_PREFIX } from '../lib/sealing'
import type { Item } from './content'

/** The words before a summary that is sealed, so that no other sealed text is taken for one. */
const MARK = 'compaction:'

/** The message that asks the model for the summary. */
export const SUMMARY_REQUEST: Item = userMessage(
  'Write a summary of the conversation above for another model that takes it over and cannot read it. Tell the goal, what the user asked for and prefers, what was decided and done, results of tools that still matter with exact names, paths, identifiers and figures, and what remains to be done. Answer with the summary alone, and call no tools.',
)

/** The summaries among the items as messages that a model can read. The same list if there is none. */
export function withReadableSummaries(
  items: readonly Item[],
  open: AnswerContext['open'],
): { items: readonly Item[]; addedBytes: number } {
  if (!items.some(isSealed)) return { items, addedBytes: 0 }
  let addedBytes = 0
  const readable = items.map((item) => {
    const plain = isSealed(item) ? open(item.encrypted_content) : undefined
    if (!plain?.startsWith(MARK)) return item
    const message = userMessage(`Summary of the conversation until here:\n\n${plain.slice(MARK.length)}`)
    addedBytes += Math.max(0, bytesOf(message) - bytesOf(item))
    return message
  })
  return { items: readable, addedBytes }
}

/** Bytes of an item as text: an upper bound of its tokens. */
export function bytesOf(item: Item): number {
  return Buffer.byteLength(JSON.stringify(item))
}

/** The messages of the user, which a compaction repeats as they are. */
export function userMessagesOf(items: readonly Item[]): Item[] {
  return items.filter((item) => {
    const { type = null, role } = asObject(item)
    return role === 'user' && (type === null || type === 'message')
  })
}

/** The answer to a request of a compaction, made of the response with the summary. Throws if that has no text. */
export function compactionOf(
  response: object,
  { id, seal }: AnswerContext,
  userMessages: readonly Item[],
): object {
  const { created_at: createdAt, output, usage } = response as Record<string, unknown>
  const summary = textOf(output)
  if (summary.trim() === '') throw new Error('the vendor sent no summary')
  const digits = id.slice(id.indexOf('_') + 1)
  const messages = userMessages.map((message, place) => shownMessage(message, `msg_${digits}${place}`))
  return {
    id,
    object: 'response.compaction',
    created_at: createdAt,
    output: [
      ...messages,
      { type: 'compaction', id: `cmp_${digits}`, encrypted_content: seal(MARK + summary) },
    ],
    usage,
  }
}

function isSealed(item: Item): item is Item & { encrypted_content: string } {
  // Items are not checked yet.
  const { type, encrypted_content: sealed } = asObject(item)
  return type === 'compaction' && typeof sealed === 'string' && sealed.startsWith(SEALED_PREFIX)
}

function userMessage(text: string): Item {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
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

/** The words of an answer, without its thoughts. */
function textOf(output: unknown): string {
  const messages = (Array.isArray(output) ? output : []).filter(
    (item) => isObject(item) && item.type === 'message',
  )
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  return parts
    .map((part) => asObject(part))
    .flatMap(({ type, text }) => (type === 'output_text' && typeof text === 'string' ? [text] : []))
    .join('\n')
}
