// An answer in the words of no dialect. A protocol reads what its vendor sends, whole or in pieces, into calls of a writer, and a
// dialect's writer makes of them what its caller reads. Calls instead of event objects, because there is one for each token.
// Types only; nothing here must know a dialect, a protocol or a vendor.

import type { Reading } from '../../contract/reading'
import type { SealedReasoning } from '../sealed-reasoning'

type Fields = Readonly<Record<string, unknown>>

/** Takes one candidate of an answer, in order. It must never throw, and never lose or repeat a piece. */
export interface AnswerWriter {
  /** The answer begins. `id` is the vendor's own, or empty. Later calls, and a missing one, do no harm. */
  begin(id: string): void
  /**
   * Gives a call the id by which its caller will know it, instead of the vendor's, which may be empty or come twice. For a reader
   * that keeps something under that id before the call begins; otherwise it is done when the call has its name.
   */
  nameCall(item: CallItem): void
  /**
   * An item begins. Items are open side by side where a vendor mixes their pieces; their order is that of these calls. The
   * writer keeps the object: its reader fills in what comes later, such as a call's name.
   */
  open(item: AnswerItem): void
  /**
   * A piece of an open item's text; empty pieces do no harm. A call without arguments gets none: it may have been cut off, and its
   * writer knows what its callers parse. `logprobs` are those of a text's tokens, in the words
   * of responses.
   */
  add(item: AnswerItem, piece: string, logprobs?: readonly Fields[]): void
  /** A gap between two thoughts, or two parts of a text, of one item. */
  nextPart(item: AnswerItem): void
  /** Sources of a text, in the words of chat completions. */
  cite(item: AnswerItem, annotations: readonly Fields[]): void
  /** An item is whole: nothing is added to it, and what it says of itself is final. */
  close(item: AnswerItem): void
  /** Why the answer ended, and what is known of it by then; the last call counts. It comes before or after the last item is closed. */
  end(end: Partial<AnswerEnd>): void
}

export type AnswerItem = ThinkingItem | TextItem | CallItem

/** A run of thinking. It may be without a text. */
export interface ThinkingItem {
  kind: 'thinking'
  /**
   * Reasoning that must come back to the vendor with the next request; set before the item is closed, which is before the next one is
   * opened. A reader that sets it earlier fills it in as more comes. Absent: nothing.
   */
  kept?: SealedReasoning
}

export interface TextItem {
  kind: 'text' | 'refusal'
}

export interface CallItem {
  kind: 'call'
  /** The vendor's own, perhaps empty; from `nameCall` or its name on that by which the caller knows the call. */
  id: string
  /** Empty while the vendor has not named it: nothing is shown of the call until then. */
  name: string
  form: 'function' | 'custom'
}

/** Why an answer ended. */
export type AnswerStop =
  /** By itself. Vendors report this with calls of tools too. */
  | 'stop'
  /** To call the tools in it, in the vendor's own form. */
  | 'calls'
  | 'limit'
  /** At a text that the caller named. */
  | 'stop_sequence'
  /** The model declined to answer. */
  | 'refusal'
  /** A filter of the vendor kept the rest back. */
  | 'filter'

export interface AnswerEnd {
  stop: AnswerStop
  /** True if the limit is that of the model's context, and not the caller's. */
  isContextFull: boolean
  /** The text at which it ended, if the vendor says so. */
  stopSequence: string
  /** Why the model refused, in its own words. */
  explanation: string
  thinkingTokens: number
  serviceTier: string
}

/** Reads the events of one candidate's stream into a writer; one for each stream. It must never throw. */
export interface AnswerReader {
  push(event: object, reading: Reading): void
  /** The stream has ended, by itself or because it is cut: closes what is open. */
  finish(): void
}
