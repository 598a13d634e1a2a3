// The end of a request's charge as data: applied at once, or stored on disk while the database rejects it, and applied by a later
// process. However often it is applied, the charge must end once, and an answer whose hold was released must still be paid.

import type { Quantities } from '../../contract/units'
import type { Db, Statement } from '../../db/db'
import { formatUsd } from '../../lib/money'
import {
  type Charge,
  findOpenCharge,
  findPaid,
  type Released,
  refreshHold,
  release,
  type Settled,
  type Settlement,
  settle,
  settleLate,
} from './ledger'

/** Without a settlement or a release the charge stays open, and only `also` is executed. */
export interface ChargeEnd {
  charge: Charge
  /** The price of the charge; absent if nothing is charged. */
  settlement?: Settlement
  /** The used quantities; absent without receipts. */
  quantities?: Quantities
  /** The reason why nothing is charged. */
  released?: Released
  /** Additional statements that are executed with it or not at all. */
  also: readonly Statement[]
  /** Statements before those of a late charge: they restore what the release of the hold has freed. */
  again?: readonly Statement[]
  /** The end that is used instead if a guard of `also` misses. */
  orElse?: ChargeEnd
}

export interface Ended extends Settled {
  /** Whether the hold had already been released, so that only the available balance could be taken. */
  isLate?: boolean
  /** Whether an answer is paid, even if the amount is zero. */
  isPaid?: boolean
  /** Whether nothing was changed, because the charge had ended or a guard of `also` missed. */
  isMissed?: boolean
  /** The end that this call has made; absent if the charge ended in another way or earlier. */
  made?: ChargeEnd
}

const NOTHING_PAID: Ended = { paidNano: 0, shortfallNano: 0 }
const MISSED: Ended = { ...NOTHING_PAID, isMissed: true }

/**
 * Ends the charge, once, and returns the paid amount, even if it was paid before. `now` is the time of a later attempt.
 */
export async function endCharge(db: Db, end: ChargeEnd, now = 0): Promise<Ended> {
  const { charge, settlement, released, also } = end
  if (settlement) {
    const settled = await settle(db, charge, atLeast(settlement, now), also)
    if (settled) return { ...settled, isPaid: true, made: end }
  } else if (released) {
    if (await release(db, charge, atLeast(released, now), also)) return { ...NOTHING_PAID, made: end }
  } else {
    await db.batch(also)
    return NOTHING_PAID
  }
  // The result of an extension was lost.
  if (await refreshHold(db, charge)) return endCharge(db, end, now)
  const paid = settlement && (await payOtherwise(db, end, settlement, now))
  if (paid) return paid
  if (end.orElse) return endCharge(db, end.orElse, now)
  if (!settlement) return MISSED
  throw new Error(`charge ${charge.id} can be settled neither in time nor late`)
}

/** Charges an answer whose charge is not open, using the amount that is known to be held. Undefined if a guard forbids it. */
async function payOtherwise(
  db: Db,
  { charge, also, again = [] }: ChargeEnd,
  settlement: Settlement,
  now: number,
): Promise<Ended | undefined> {
  if (await findOpenCharge(db, charge.keyId, charge.id)) return undefined
  const late = await settleLate(db, charge, atLeast(settlement, now), [...again, ...also])
  if (late) return { ...late, isLate: true, isPaid: true }
  const paid = await findPaid(db, charge)
  return paid && { ...paid, isPaid: true }
}

/** An end that happens now. Never earlier than the answer: this time identifies it later. */
function atLeast<End extends { endedAt: number }>(end: End, now: number): End {
  return end.endedAt >= now ? end : { ...end, endedAt: now }
}

/** The fields of a late charge in the log. */
export function lateFields({ id }: Charge, { paidNano, shortfallNano }: Settled): Record<string, string> {
  return { request: id, paid_usd: formatUsd(paidNano), shortfall_usd: formatUsd(shortfallNano) }
}
