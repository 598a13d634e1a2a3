// Finds the months that can be closed: those that are entirely older than the limit, starting with the first that has charges. The
// very last charge stays open, because positions continue after it. It must never write.

import { calendarPeriod } from '../billing/ledger/limits'
import { closedPart } from '../billing/proofs/closings'
import { addToTotals, DAY_MS, firstPositionSince } from '../billing/reports/usage-totals'
import type { Db } from '../db/db'

/** A month to close. */
export interface MonthToClose {
  /** Such as `2026-10`, in UTC. */
  month: string
  /** The end of the month, in milliseconds since 1970. */
  endedBefore: number
  /** Positions of its charges, exclusive and inclusive. */
  after: number
  position: number
  /** Charges that began before the end of the month and have not ended: while there are any, the month waits. */
  open: number
}

/** The months that are older than a number of months, oldest first. Updates the totals of usage first, which know where months are. */
export async function monthsToClose(db: Db, keepMonths: number, now: number): Promise<MonthToClose[]> {
  await addToTotals(db)
  const limit = new Date(now)
  const last = Date.UTC(limit.getUTCFullYear(), limit.getUTCMonth() - keepMonths)
  const closed = await closedPart(db)
  const [row] = await db.query({
    sql: `select min(start) as first, (select coalesce(max(last_position), 0) from usage_totals where span = ${DAY_MS}) as highest
      from usage_totals where span = ${DAY_MS} and last_position > $1`,
    parameters: [closed.position],
  })
  if (row?.first == null) return []
  const highest = row.highest as number
  const months: MonthToClose[] = []
  let after = closed.position
  let period = calendarPeriod('month', Math.max(row.first as number, closed.endedBefore))
  for (; period.endsAt <= last; period = calendarPeriod('month', period.endsAt)) {
    const { name: month, endsAt: endedBefore } = period
    const position = Math.min((await firstPositionSince(db, endedBefore)) - 1, highest - 1)
    if (position <= after) continue
    const [counted] = await db.query({
      sql: 'select count(*) as count from open_charges where created_at < $1',
      parameters: [endedBefore],
    })
    months.push({ month, endedBefore, after, position, open: counted?.count as number })
    after = position
  }
  return months
}

/** Number of positions per read: some milliseconds during which other work waits. */
const PAGE = 20_000

/** Charges of a month to close, and what was paid for them. Reads them all, with a pause after each page. */
export async function chargesToClose(
  db: Db,
  { after, position }: MonthToClose,
  pause: () => Promise<void>,
): Promise<{ charges: number; amountNano: number }> {
  const sums = { charges: 0, amountNano: 0 }
  for (let from = after; from < position; from += PAGE) {
    const [row] = await db.query({
      sql: `select count(*) as charges, cast(coalesce(sum(amount), 0) as bigint) as amount from ended_charges
        where position > $1 and position <= $2`,
      parameters: [from, Math.min(from + PAGE, position)],
    })
    sums.charges += row?.charges as number
    sums.amountNano += row?.amount as number
    await pause()
  }
  return sums
}
