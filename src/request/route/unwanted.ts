// Answers that a route rejects while it has another model: empty ones, and those that a filter of the vendor withheld. The caller
// neither gets nor pays for them. The vendor's charge for them is recorded, because it is a cost of the request.

import { billOf, type Measure, type Outcome } from '../../billing/ledger/metering'
import type { FallbackReason } from '../../config/models/route-entry'
import type { Model, ParsedRequest } from '../../contract/family'
import type { OperationName } from '../../contract/operations'
import { tableNano } from '../../contract/prices'
import { GatewayError } from '../../lib/errors'
import type { Reservation } from '../reservation'

/** Operations whose answers are text: elsewhere an empty answer may be correct, such as the transcript of silence. */
const OF_WORDS: ReadonlySet<OperationName> = new Set([
  'chat',
  'messages',
  'responses',
  'contents',
  'completions',
])

/** Why an answer is rejected. */
export type Unwanted = Exclude<FallbackReason, 'too_long'>

/** Thrown instead of a rejected answer. It never reaches a caller: another model is tried. */
export class UnwantedAnswer extends GatewayError {
  constructor(
    readonly reason: Unwanted,
    /** The vendor's charge for it in nano-dollars, by the costs of the model; null if unknown. */
    readonly costNano: number | null,
  ) {
    super(200, reason === 'empty' ? EMPTY : FILTERED)
    this.vendorStatus = 200
  }
}

const EMPTY = { code: 'upstream_empty', message: 'The answer was empty.' } as const
const FILTERED = {
  code: 'content_policy_violation',
  message: 'A filter of the vendor withheld the answer.',
} as const

/** The kinds of answers of a reservation's model that are rejected because another model is left. Undefined if none is rejected. */
export function unwantedOf({
  request: { route, model, operation },
  next,
}: Pick<Reservation, 'request' | 'next'>): ReadonlySet<Unwanted> | undefined {
  if (!route || next.length === 0 || !OF_WORDS.has(operation.name)) return undefined
  const reasons = new Set<Unwanted>()
  if (route.fallback.has('empty')) reasons.add('empty')
  // The same model has the same filter elsewhere.
  if (route.fallback.has('filtered') && next.some(({ id }) => id !== model.id)) reasons.add('filtered')
  return reasons.size > 0 ? reasons : undefined
}

/** Throws for a rejected whole answer. `measured` is the usage that its caller would pay for; undefined if that is nothing. */
export function assertWanted(
  { unwanted, request: { parsed, model } }: Reservation,
  outcome: Outcome,
  isFiltered: boolean | undefined,
  measured: Measure | undefined,
): void {
  if (!unwanted) return
  const reason = isFiltered ? 'filtered' : measured ? undefined : 'empty'
  if (reason === undefined || !unwanted.has(reason)) return
  throw new UnwantedAnswer(reason, costOf(outcome, measured, parsed, model))
}

/** The vendor's charge for a rejected answer, by its own figures or, without any, by a count. */
export function costOf(
  outcome: Outcome,
  measured: Measure | undefined,
  parsed: ParsedRequest,
  model: Model,
): number | null {
  const { usage } = outcome
  const quantities = typeof usage === 'object' ? usage : (measured?.quantities ?? {})
  const { cost } = billOf(parsed, model, quantities, outcome)
  return cost ? tableNano(quantities, cost) : null
}
