// An answer in a form that belongs to no dialect. A protocol turns what its vendor sends, whole or in pieces, into calls of a
// writer; the writer of a dialect turns them into what its caller reads. These are calls instead of event objects because there is
// one per token. Types only; nothing here must know a dialect, a protocol or a vendor.

import type { Reading } from '../../contract/reading'
import type { SealedReasoning } from '../sealed-reasoning'

type Fields = Readonly<Record<string, unknown>>

/** Receives one candidate of an answer, in order. It must never throw, and never lose or repeat a piece. */
export interface AnswerWriter {
  /** The answer begins. `id` is the vendor's own, or empty. Later calls are harmless, and so is a missing call. */
  begin(id: string): void
  /**
   * Gives a call the id by which its caller will know it, instead of the vendor's id, which may be empty or repeated. For a reader
   * that keeps something under that id before the call begins; otherwise the id is made when the call gets its name.
   */
  nameCall(item: CallItem): void
  /**
   * An item begins. Several items may be open at once if a vendor mixes their pieces; their order is the order of these calls. The
   * writer keeps the object: its reader fills in what comes later, such as a call's name.
   */
  open(item: AnswerItem): void
  /**
   * A piece of an open item's text; empty pieces are harmless. A call without arguments stays without them: it may have been cut
   * off, and its writer knows what its callers can parse. `logprobs` are those of a text's tokens, in the form of the responses
   * API.
   */
  add(item: AnswerItem, piece: string, logprobs?: readonly Fields[]): void
  /** A gap between two thoughts, or two parts of a text, in one item. */
  nextPart(item: AnswerItem): void
  /** Sources of a text, in the form of chat completions. */
  cite(item: AnswerItem, annotations: readonly Fields[]): void
  /** An item is complete: nothing is added to it, and its members are final. */
  close(item: AnswerItem): void
  /** Why the answer ended, as far as is known; the last call counts. It comes before or after the last item is closed. */
  end(end: Partial<AnswerEnd>): void
}

export type AnswerItem = ThinkingItem | TextItem | CallItem

/** A run of thinking. Its text may be empty. */
export interface ThinkingItem {
  kind: 'thinking'
  /**
   * Reasoning that must be sent back to the vendor with the next request; set before the item is closed, which is before the next
   * one is opened. A reader that sets it earlier updates it as more arrives. Absent: nothing must be sent back.
   */
  kept?: SealedReasoning
}

export interface TextItem {
  kind: 'text' | 'refusal'
}

export interface CallItem {
  kind: 'call'
  /**
   * The vendor's own id, which may be empty; after `nameCall`, or once the call has its name, the id by which the caller knows the
   * call.
   */
  id: string
  /** Empty until the vendor has named it; the call is not shown until then. */
  name: string
  form: 'function' | 'custom'
}

/** Why an answer ended. */
export type AnswerStop =
  /** By itself. Vendors report this even if there are calls of tools. */
  | 'stop'
  /** To call tools, as the vendor reports it. */
  | 'calls'
  | 'limit'
  /** At a stop sequence of the caller. */
  | 'stop_sequence'
  /** The model declined to answer. */
  | 'refusal'
  /** A filter of the vendor withheld the rest. */
  | 'filter'

export interface AnswerEnd {
  stop: AnswerStop
  /** True if the model's context is the limit, not the caller's setting. */
  isContextFull: boolean
  /** The stop sequence at which it ended, if the vendor reports it. */
  stopSequence: string
  /** Why the model refused, in its own words. */
  explanation: string
  thinkingTokens: number
  serviceTier: string
}

/** Reads the events of one candidate's stream into a writer; one for each stream. It must never throw. */
export interface AnswerReader {
  push(event: object, reading: Reading): void
  /** The stream has ended, normally or because it was cut: closes what is open. */
  finish(): void
}
