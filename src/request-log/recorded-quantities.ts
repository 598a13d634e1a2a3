// Looks up the quantities of charges in tasks and in the request log. Rows of the log may be lost or deleted, so callers must check the
// result against the charged price. It must never write.

import type { ArchivedCharge } from '../billing/ledger/charge-rows'
import type { Quantities } from '../contract/units'
import type { Db } from '../db/db'
import { timeOfId } from './filter'
import type { RequestStore } from './request-log'
import { quantitiesOfRow } from './row'

export interface RecordedWorld {
  db: Db
  requests: Pick<RequestStore, 'list'>
}

/** Maximum difference between the times of a request's id, log row and charge, in milliseconds. */
const CLOCKS_MS = 60_000
/** Pause between charges that starts another search, in milliseconds. */
const GAP_MS = 600_000
/** Number of log rows per read. */
const ROWS = 1_000
/** Suffix of the charge id for a success after a failure. */
const LATE = /:late$/

/** A charge to look up, with a time near which its request arrived, in milliseconds since 1970. */
interface Wanted {
  charge: ArchivedCharge
  at: number
}

/** Quantities by charge id; charges without a record are absent. */
export async function recordedQuantities(
  world: RecordedWorld,
  charges: readonly ArchivedCharge[],
): Promise<ReadonlyMap<string, Quantities>> {
  const found = new Map<string, Quantities>()
  const wanted = charges.map((charge) => ({ charge, at: charge.created_at }))
  for (const [isVideo, own] of Map.groupBy(wanted, ({ charge }) => charge.operation === 'video')) {
    for (const near of neighboursOf(own)) {
      if (isVideo) await readTasks(world, near, found)
      else await readRows(world, near, found)
    }
  }
  // A request whose body took long arrived well before its hold.
  for (const near of neighboursOf(wanted.flatMap((each) => earlierArrival(each, found))))
    await readRows(world, near, found)
  return found
}

/** A charge without a record whose request arrived well before its hold, by the time in its id. */
function earlierArrival({ charge, at: heldAt }: Wanted, found: ReadonlyMap<string, Quantities>): Wanted[] {
  const at = timeOfId(charge.id.replace(LATE, ''))
  if (at === undefined || found.has(charge.id) || charge.operation === 'video') return []
  return at < heldAt - CLOCKS_MS ? [{ charge, at }] : []
}

/**
 * Groups charges by time without long pauses, so that a request that took hours does not cause the rows of all these hours to be
 * read.
 */
function neighboursOf(wanted: readonly Wanted[]): Wanted[][] {
  const groups: Wanted[][] = []
  for (const each of wanted.toSorted((one, other) => one.at - other.at)) {
    const group = groups.at(-1)
    const last = group?.at(-1)
    if (group && last && each.at - last.at < GAP_MS) group.push(each)
    else groups.push([each])
  }
  return groups
}

function periodOf(wanted: readonly Wanted[]): [since: number, until: number] {
  return [(wanted[0]?.at ?? 0) - CLOCKS_MS, (wanted.at(-1)?.at ?? 0) + CLOCKS_MS]
}

/** Reads the quantities of videos from their tasks. */
async function readTasks(
  { db }: RecordedWorld,
  wanted: readonly Wanted[],
  found: Map<string, Quantities>,
): Promise<void> {
  const ids = new Set(wanted.map(({ charge }) => charge.id))
  const rows = await db.query({
    sql: 'select charge, quantities from tasks where created_at >= $1 and created_at < $2',
    parameters: periodOf(wanted),
  })
  for (const { charge, quantities } of rows)
    if (ids.has(charge as string)) found.set(charge as string, JSON.parse(quantities as string))
}

async function readRows(
  { requests }: RecordedWorld,
  wanted: readonly Wanted[],
  found: Map<string, Quantities>,
): Promise<void> {
  const charges = new Map(wanted.map(({ charge: { id } }) => [id.replace(LATE, ''), id]))
  const [since, until] = periodOf(wanted)
  for (let after: string | undefined; ; ) {
    const page = await requests.list({ since, until }, { limit: ROWS, after })
    for (const row of page.rows) {
      const charge = charges.get(row.id)
      const quantities = charge === undefined ? undefined : quantitiesOfRow(row)
      if (charge !== undefined && quantities) found.set(charge, quantities)
      charges.delete(row.id)
    }
    if (page.next === null || charges.size === 0) return
    after = page.next
  }
}
