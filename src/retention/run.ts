// One run of retention: closes the months that are old enough, oldest first, and removes closed charges, including those that an
// earlier run has left. It must stop at the first fault.

import type { Closing } from '../billing/proofs/closings'
import { type ClosingParts, closeMonth } from './close'
import { monthsToClose } from './months'
import { removeClosed } from './remove'

/** Pause between two batches of rows that are removed, in milliseconds. */
const PAUSE_MS = 20

export interface RetentionReport {
  closed: Closing[]
  /** The first month that waits for unfinished charges, and their number; undefined if none waits. */
  waiting: { month: string; open: number } | undefined
}

export async function runRetention(parts: ClosingParts, keepMonths: number): Promise<RetentionReport> {
  const report: RetentionReport = { closed: [], waiting: undefined }
  for (;;) {
    const [month, ...later] = await monthsToClose(parts.db, keepMonths, parts.now())
    if (!month) break
    if (month.open > 0) {
      report.waiting = { month: month.month, open: month.open }
      break
    }
    const closing = await closeMonth(parts, month, later)
    // Another process is doing the same.
    if (!closing) break
    report.closed.push(closing)
  }
  parts.onProgress?.('Removing closed charges.')
  await removeClosed({ ...parts, pause: () => Bun.sleep(PAUSE_MS) })
  return report
}
