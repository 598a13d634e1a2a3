// Building blocks for samples of vendors' answers, for all protocols.

import type { Random } from '../random'
import type { Json } from '../scenario'

export type VendorProtocol = 'chat' | 'messages' | 'responses' | 'converse'

/** The words of a vendor's answer, ordered by kind, which a translation must neither invent nor lose. */
export interface AnswerWords {
  thinking: string
  answer: string
  calls: { name: string; arguments: string }[]
}

export interface StreamSample {
  label: string
  /** The data of each event: JSON, or other text. */
  events: readonly Json[]
  /** Absent if the stream is too unusual to be measured. */
  reported?: AnswerWords
}

/** Answers of a protocol as data. */
export interface AnswerSamples {
  /** Families whose recorded answers are of the protocol. */
  recorded: RegExp
  streams: readonly StreamSample[]
  /** The data that closes each recorded stream. */
  closing: readonly Json[]
  /** Events of kinds that may occur anywhere: unknown ones and errors. */
  anywhere: readonly Json[]
  generated(random: Random): StreamSample
}

/** A text in pieces that never split a letter. */
export function cut(random: Random, text: string): string[] {
  const letters = Array.from(text)
  const pieces: string[] = []
  while (letters.length > 0) pieces.push(letters.splice(0, 1 + random.below(8)).join(''))
  return pieces
}

/** The data of the events in a stream's text. */
export function dataOf(text: string): Json[] {
  return text.split(/\r?\n\r?\n/).flatMap((event) => {
    const data = event.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/s.exec(line)?.[1] ?? [])
    return data.length === 0 ? [] : [jsonOr(data.join('\n'))]
  })
}

function jsonOr(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
