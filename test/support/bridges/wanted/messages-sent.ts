// Facts about what a vendor of messages has sent in a stream, by which differences are judged.

import { isJson } from '../../../../src/families/responses/events'
import type { Json } from '../../scenario'
import type { WantedDifference } from '../differences'

/** A difference between a pair of families. */
export type Row = Omit<WantedDifference, 'pair'>

/** The words in a vendor's events, and whether some are of a block that has not begun, or has ended. */
export function wordsSent(events: Json[]): {
  said: string
  thinking: string
  signatures: string
  isLoose: boolean
} {
  const sent = { said: '', thinking: '', signatures: '', isLoose: false }
  const open = new Map<Json, Json>()
  for (const { type, index, content_block: block, delta } of events) {
    const begun = type === 'content_block_start' ? (block ?? {}) : {}
    if (type === 'content_block_start') open.set(index, begun.type)
    if (type === 'content_block_stop') open.delete(index)
    const {
      text = '',
      thinking = '',
      signature = '',
    } = type === 'content_block_delta' ? (delta ?? {}) : begun
    const kind = open.get(index)
    const isKnown = kind === 'text' || kind === 'thinking' || kind === 'tool_use'
    if (type === 'content_block_delta' && (text || thinking) && !isKnown) sent.isLoose = true
    sent.said += text
    sent.thinking += thinking
    sent.signatures += signature
  }
  return sent
}

/** Whether a vendor leaves out the name of a call. */
export const hasNamelessCalls = ({ events, reply }: Json): boolean =>
  ((events ?? reply.content) as Json[]).some((each) => {
    const { type, name } = (events ? each?.content_block : each) ?? {}
    return type === 'tool_use' && (typeof name !== 'string' || name === '')
  })

/** Whether another list has all of a list. */
export const isAmong = (list: readonly Json[], others: readonly Json[]): boolean =>
  list.every((each) => others.some((other) => Bun.deepEquals(each, other)))

/** Whether the vendor sent a call's input at its beginning: its arguments, or the only text in them. */
export const isSentWhole = (input: string, events: Json[]): boolean =>
  events.some(({ content_block: block }) => block?.type === 'tool_use' && isInputOf(input, block.input ?? {}))

/** Whether the vendor sent a call's input in pieces. */
export function isSentInPieces(input: string, events: Json[]): boolean {
  const pieces = events.filter(({ delta }) => delta?.type === 'input_json_delta')
  const byBlock = Map.groupBy(pieces, ({ index }) => index)
  return [...byBlock.values()].some((list) => {
    const json = list.map(({ delta }) => delta.partial_json).join('')
    return json === input || (isJson(json) && isInputOf(input, JSON.parse(json)))
  })
}

const isInputOf = (input: string, sent: Json): boolean =>
  [JSON.stringify(sent), String(Object.values(sent)[0])].includes(input)

/** Whether a vendor sends blocks of kinds that no caller knows. */
export const hasOtherBlocks = (events: Json[]): boolean =>
  events.some(
    ({ type, content_block: block }) =>
      type === 'content_block_start' && !/^(?:text|(?:redacted_)?thinking|tool_use)$/.test(block?.type),
  )

/** The place that an error names. */
export const placeIn = (message: string): string | undefined => /'([a-z_.[\]\d]+)'/.exec(message)?.[1]
