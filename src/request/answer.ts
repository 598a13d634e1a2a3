// What a vendor's answer came to, and the table of those who bring it: an answerer for each kind of family. An answerer
// calls the vendor and says what happened; it never settles, releases or logs. A stream is the one exception: it is still
// to happen, so its answerer has it end, before its last byte, where all requests end.

import type { SavedAnswer } from '../billing/idempotency'
import type { Measure, Outcome } from '../billing/metering'
import { answerJson } from './answer-json'
import { answerMade } from './answer-made'
import { answerSpeech } from './answer-speech'
import { answerTask } from './answer-task'
import type { Line } from './ending'
import type { Reservation } from './reservation'

export type Answered = WholeAnswer | FileAnswer | StreamAnswer | TaskBegun

/** The whole answer is there, as JSON or as a text. */
export interface WholeAnswer {
  kind: 'whole'
  contentType: string
  outcome: Outcome
  /** What is to be paid, where that is known already. */
  measured: Measure | undefined
  body: string
  /** The vendor's replies that it was made of. */
  replies: readonly object[]
}

/** The whole answer is there, as a file with headers of its own. */
export interface FileAnswer {
  kind: 'file'
  outcome: Outcome
  saved: SavedAnswer
  headers: Record<string, string>
}

/** The answer has begun, and ends by itself. */
export interface StreamAnswer {
  kind: 'stream'
  body: ReadableStream<Uint8Array>
  headers: Record<string, string>
}

/** The vendor has begun a task, or may have: the charge ends with it. */
export interface TaskBegun {
  kind: 'task'
  status: number
  body: string
}

/** What an answerer needs to know of its caller. */
export interface Requester {
  /** Fires when the caller leaves. */
  signal(): AbortSignal
}

/** Calls the vendor and reads its answer. Throws a GatewayError for what is no answer, and nothing is paid for then. */
export function answer(line: Line, reservation: Reservation, caller: Requester): Promise<Answered> {
  const { family } = reservation
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
