// Facts about an answer in a vendor's event, or in its whole reply: its output, its figures, and whether it ended. Families read
// each vendor's form into this one. Nothing here must know a vendor.

import type { Quantities } from './units'

/**
 * Facts in one event of a stream, or in a whole reply. Several may be present; absent means that nothing is stated.
 */
export interface Reading {
  output?: Made | undefined
  /** The complete text of an ended item, whether or not its pieces arrived before. */
  whole?: string
  usage?: UsageReading | undefined
  /** Calls of the vendor's tools that the reply, or this event of a stream, reports; charged if the figures do not include them. */
  calls?: Quantities
  /** The service tier that the vendor reports, under the vendor's name. */
  serviceTier?: string | undefined
  end?: Ending | undefined
  /** True if a filter of the vendor withheld the answer, or the rest of it. */
  isFiltered?: boolean
}

/** Output of the model, by its value to the caller. An answer without any is free. */
export type Made =
  /**
   * Worth its price by itself. Without figures of the vendor `text` is counted, or the quantities in `counted` are
   * charged.
   */
  | { kind: 'shown'; text?: string; counted?: Quantities }
  /** Text around a result that is still to come; without the result it is worthless, unless the caller disconnects. */
  | { kind: 'words'; text?: string }
  /**
   * A first state of a result: charged to a caller that disconnects after it, free if the answer breaks off after it.
   */
  | { kind: 'partial' }
  /** Hidden output, such as thinking: charged unless the vendor's figures exclude it. */
  | { kind: 'hidden' }

/** The vendor's own figures. */
export interface UsageReading {
  kind: UsageKind
  /** `invalid` if they are present but absurd. */
  figures: Quantities | 'invalid'
  /** The figures as the vendor wrote them, if not in the member `usage`. */
  reported?: unknown
}

export type UsageKind =
  /** Figures of everything so far, which replace earlier ones. */
  | 'total'
  /** Figures in a separate event, for our accounting only: hidden from a caller that did not request usage. */
  | 'separate'
  /** Figures from before the output: unless later ones arrive, the output is counted. */
  | 'start'
  /** Some of the figures: earlier ones that are not repeated stay. */
  | 'update'

export type Ending =
  /** The answer is complete. */
  | 'finished'
  /** The vendor reports a failure. */
  | 'failed'
  /** The vendor reports a failure, and the answer ends with it. */
  | 'finished-failed'
  /** The vendor reports a failure in a form that clients of this dialect do not recognise as an error. */
  | 'failed-disguised'

/** Output without anything to count. */
export const SHOWN: Made = { kind: 'shown' }
export const PARTIAL: Made = { kind: 'partial' }
export const HIDDEN: Made = { kind: 'hidden' }

/** Text, or visible output without text; undefined if there is neither. */
export function shownText(text: string, isOfWorth: boolean): Made | undefined {
  if (text !== '') return { kind: 'shown', text }
  return isOfWorth ? SHOWN : undefined
}

/** The vendor's figures; undefined if it reported none. */
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

/** The more valuable output of two events, or of two parts of an answer. */
export function worthMore<Kind extends Made['kind']>(one?: Kind, other?: Kind): Kind | undefined {
  if (!one || !other) return one ?? other
  return worth[other] > worth[one] ? other : one
}
