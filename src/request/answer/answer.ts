// The result of a vendor's answer, and the table of answerers, one for each kind of family. An answerer calls the vendor and
// returns the result; it must never settle, release or log. Streams are the one exception: their answerer calls the common end
// before the last byte.

import type { SavedAnswer } from '../../billing/ledger/idempotency'
import type { Measure, Outcome } from '../../billing/ledger/metering'
import { callerLeft } from '../../contract/failures'
import type { Line } from '../ending'
import type { Reservation } from '../reservation'
import { answerCached } from './cached'
import { answerJson } from './json'
import { answerMade } from './made'
import { answerSpeech } from './speech'
import { answerTask } from './task'

export type Answered = WholeAnswer | FileAnswer | StreamAnswer | TaskBegun

/** A complete answer, as JSON or as a text. */
export interface WholeAnswer {
  kind: 'whole'
  contentType: string
  outcome: Outcome
  /** The usage, if already measured. */
  measured: Measure | undefined
  body: string
  /** The vendor's replies from which the answer was made. */
  replies: readonly object[]
}

/** A complete answer, as a file with its own headers. */
export interface FileAnswer {
  kind: 'file'
  outcome: Outcome
  /** The usage, if already measured. */
  measured?: Measure
  saved: SavedAnswer
  headers: Record<string, string>
}

/** An answer that has begun, and will end by itself. */
export interface StreamAnswer {
  kind: 'stream'
  body: ReadableStream<Uint8Array>
  headers: Record<string, string>
}

/** A task that the vendor has begun, or may have begun: the charge ends with it. */
export interface TaskBegun {
  kind: 'task'
  status: number
  body: string
}

/** The facts about the caller that an answerer needs. */
export interface Requester {
  /** Fires when the caller disconnects. */
  signal(): AbortSignal
}

/**
 * Calls the vendor and reads its answer. Throws or rejects with a GatewayError if there is no answer; then nothing is charged. If
 * the caller has already disconnected, nothing is sent: Bun closes a connection whose caller ends its half, or sends invalid bytes
 * after the request, and then no answer is possible.
 */
export function answer(line: Line, reservation: Reservation, caller: Requester): Promise<Answered> {
  const { family, cacheUse } = reservation.request
  if (cacheUse?.hit) return answerCached(line.world, reservation.request, cacheUse.hit)
  if (caller.signal().aborted) throw callerLeft()
  switch (family.kind) {
    case 'json':
      return answerJson(line, reservation, family, caller)
    case 'made':
      return answerMade(line, reservation, family, caller)
    case 'speech':
      return answerSpeech(line, reservation, family, caller)
    case 'task':
      return answerTask(line, reservation, family)
  }
}
