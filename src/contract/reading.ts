// What a vendor's event, or its whole reply, says about an answer: what was made, what was counted, and whether it ended.
// Families read each vendor's form into this one; nothing here may know a vendor.

import type { Quantities } from './units'

/** What one event of a stream, or a whole reply, says. It may say several things at once; what is absent it does not say. */
export interface Reading {
  output?: Made | undefined
  usage?: UsageReading | undefined
  /** The service tier that the vendor says it has served, by its name for it. */
  serviceTier?: string | undefined
  end?: Ending | undefined
}

/** What the model made, by what it is worth to the caller. An answer with nothing of it is free. */
export type Made =
  /** Worth its price by itself. Without figures of the vendor `text` is counted, or what is in `counted` is paid for. */
  | { kind: 'shown'; text?: string; counted?: Quantities }
  /** Words around a result that is still to come, and without which they are worth nothing. */
  | { kind: 'words' }
  /** A first state of a result: worth something to a caller who leaves with it, nothing to one who was left with it. */
  | { kind: 'partial' }
  /** Not shown, such as hidden thinking: it is paid unless the vendor's figures have none. */
  | { kind: 'hidden' }

/** The vendor's own figures. */
export interface UsageReading {
  kind: UsageKind
  /** `invalid` where they are present but absurd. */
  figures: Quantities | 'invalid'
  /** The same as the vendor wrote them, where that is not the member `usage`. */
  reported?: unknown
}

export type UsageKind =
  /** Of all that was made so far, in the place of earlier ones. */
  | 'total'
  /** The same in an event of its own, for our accounting only: not shown to a caller who did not ask for usage. */
  | 'separate'
  /** From before the output: unless later ones come, what is written after them is counted. */
  | 'start'
  /** Some of the figures: those of earlier events that are not named stay. */
  | 'update'

export type Ending =
  /** The answer is complete. */
  | 'finished'
  /** The vendor says that it failed. */
  | 'failed'
  /** The vendor says that it failed, and that the answer ends with it. */
  | 'finished-failed'
  /** The vendor says that it failed, in a form that clients of this dialect do not take for an error. */
  | 'failed-disguised'

/** Output in which there is nothing to count. */
export const SHOWN: Made = { kind: 'shown' }
export const WORDS: Made = { kind: 'words' }
export const PARTIAL: Made = { kind: 'partial' }
export const HIDDEN: Made = { kind: 'hidden' }

/** Text, or what is shown without any; undefined where there is neither. */
export function shownText(text: string, isOfWorth: boolean): Made | undefined {
  if (text !== '') return { kind: 'shown', text }
  return isOfWorth ? SHOWN : undefined
}

/** Figures of the vendor as it told them; undefined where it told none. */
export function usageReading(
  figures: Quantities | 'invalid' | undefined,
  kind: UsageKind = 'total',
): UsageReading | undefined {
  return figures && { kind, figures }
}

export function hasFailed({ end }: Reading): boolean {
  return end !== undefined && end !== 'finished'
}

export function hasFinished({ end }: Reading): boolean {
  return end === 'finished' || end === 'finished-failed'
}

const worth: Record<Made['kind'], number> = { hidden: 1, partial: 2, words: 3, shown: 4 }

/** What is worth more of what two events, or two parts of an answer, brought. */
export function worthMore<Kind extends Made['kind']>(one?: Kind, other?: Kind): Kind | undefined {
  if (!one || !other) return one ?? other
  return worth[other] > worth[one] ? other : one
}
