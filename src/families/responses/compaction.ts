// Compaction of a conversation by a model that only writes text: it writes a summary, which is returned as one sealed item. The
// item must replace the whole answer, so that a client gets only this item and not the text that led to it.

import { asObject, isObject } from '../../lib/objects'
import type { Fields } from './response-object'

/** The last item of an input, if it requests a compaction instead of an answer. */
const TRIGGER = 'compaction_trigger'

/** The prefix of a sealed summary, which distinguishes it from other sealed texts. */
const MARK = 'compaction:'

/** The message that asks the model for the summary. */
const SUMMARY_REQUEST: Fields = userMessage(
  'Write a summary of the conversation above for another model that takes it over and cannot read it. Tell the goal, what the user asked for and prefers, what was decided and done, results of tools that still matter with exact names, paths, identifiers and figures, and what remains to be done. Answer with the summary alone, and call no tools.',
)

/** How many bytes longer a request for a summary is than the summarized conversation. */
export const SUMMARY_REQUEST_BYTES = Buffer.byteLength(JSON.stringify(SUMMARY_REQUEST))

export function userMessage(text: string): Fields {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}

export function isTrigger(item: unknown): boolean {
  return asObject(item).type === TRIGGER
}

/** Whether the input ends with the item that requests a compaction. */
export function asksCompaction({ input }: { input?: unknown }): boolean {
  return Array.isArray(input) && isTrigger(input.at(-1))
}

/** The request for the model: for a summary, if it requests a compaction. */
export function bodyForModel<Body extends { input?: unknown }>(body: Body): Body {
  return asksCompaction(body) ? summaryRequestOf(body, body.input as readonly object[]) : body
}

/**
 * The request for a summary of the items, instead of the input. It has no format and calls no tools; the list of tools stays,
 * because vendors need it to read earlier calls, and the cached prefix begins with it.
 */
export function summaryRequestOf<Body extends object>(body: Body, items: readonly object[]): Body {
  const { text: _, tool_choice: __, ...asked } = body as Fields
  const conversation = isTrigger(items.at(-1)) ? items.slice(0, -1) : items
  if (hasTools(asked.tools) || items.some((item) => hasTools(asObject(item).tools))) {
    asked.tool_choice = 'none'
  }
  return { ...asked, input: [...conversation.map(withoutFormat), SUMMARY_REQUEST] } as unknown as Body
}

/** An item that changes settings, without the format of the answer. */
function withoutFormat(item: object): object {
  const { type, text: _, ...rest } = asObject(item)
  return type === 'configuration_update' ? { type, ...rest } : item
}

function hasTools(tools: unknown): boolean {
  return Array.isArray(tools) && tools.length > 0
}

/** The item with the summary in an output, without its id; undefined if the output has no text. */
export function compactionItem(output: unknown, seal: (text: string) => string) {
  const summary = textOf(output)
  if (summary.trim() === '') return undefined
  return { type: 'compaction', encrypted_content: seal(MARK + summary) }
}

/** The summary in a sealed text; undefined for any other sealed text. */
export function summaryIn(plain: string | undefined): string | undefined {
  return plain?.startsWith(MARK) ? plain.slice(MARK.length) : undefined
}

/** The text of an answer, without its thoughts. */
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
