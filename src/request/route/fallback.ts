// Decides when a route continues with another model, and with which one: never after the first byte, never for a task, whose row
// names its vendor, and never with a model that would refuse for the same reason.

import type { FallbackReason } from '../../config/models/route-entry'
import { endedByOf } from '../../contract/failures'
import type { Model } from '../../contract/family'
import { GatewayError } from '../../lib/errors'
import type { Reservation } from '../reservation'
import { UnwantedAnswer } from './unwanted'

/** `failed`: the vendor could not answer in time. */
type Reason = FallbackReason | 'failed'

/** Why another model may be tried after an error; undefined if none may, because the error is final. */
function reasonOf(
  { request: { family, route }, isEnded, cancelToken }: Reservation,
  error: unknown,
): Reason | undefined {
  if (isEnded || family.kind === 'task' || !(error instanceof GatewayError)) return undefined
  const { aborted, reason } = cancelToken.signal
  if (aborted && endedByOf(reason) !== 'timeout') return undefined
  if (error instanceof UnwantedAnswer) return error.reason
  if (error.refusedFor !== null && route?.fallback.has(error.refusedFor)) return error.refusedFor
  return error.code !== 'hold_expired' && (error.status === 429 || error.status >= 500) ? 'failed' : undefined
}

/** The remaining models that may be tried after an error. Empty if the error is final. */
export function leftAfter(error: unknown, reservation: Reservation): readonly Model[] {
  const { next } = reservation
  const { model } = reservation.request
  switch (reasonOf(reservation, error)) {
    case undefined:
      return []
    case 'failed':
    case 'empty':
      return next
    case 'filtered':
      return next.filter(({ id }) => id !== model.id)
    case 'too_long':
      return next.filter((other) => other.id !== model.id && !isShorter(other, model))
  }
}

/** Whether another model is known to have no larger context than one that has refused a prompt. */
function isShorter({ contextTokens: other }: Model, { contextTokens: refusing }: Model): boolean {
  return other !== undefined && refusing !== undefined && other <= refusing
}
