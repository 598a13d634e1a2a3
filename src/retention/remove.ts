// Removes charges that are closed, in small batches while requests are served, and on PostgreSQL whole partitions. It must never
// remove a charge before its archive was found in place, or one after the closed part.

import type { BackupPlace } from '../backup/place'
import { type Closing, closedPart, closingsOf } from '../billing/proofs/closings'
import { forgetQuantities } from '../billing/receipts/receipts'
import { dropClosedPartitions } from '../db/charge-partitions'
import { apply, type Db, type Statement, tryApply } from '../db/db'
import { archiveFault } from './archive'
import { NotClosed } from './close'

/** Number of positions per batch: some milliseconds during which other work waits. */
const BATCH = 1_000

interface RemovalParts {
  db: Db
  place: BackupPlace
  scratch: string
  /** Lets others write between two batches. */
  pause(): Promise<void>
}

/** Closings whose charges have not all been removed. */
export async function closingsToRemove(db: Db): Promise<Closing[]> {
  const removed = await removedUpTo(db)
  return (await closingsOf(db)).filter(({ position }) => position > removed)
}

/** Removes all closed charges that earlier calls have left. Returns the position up to which they are gone. */
export async function removeClosed({ db, place, scratch, pause }: RemovalParts): Promise<number> {
  for (const closing of await closingsToRemove(db)) {
    const fault = await archiveFault(place, closing, { scratch })
    if (fault !== undefined)
      throw new NotClosed(
        `The charges of ${closing.month} stay in the database: their archive ${closing.archive} ${fault}.`,
      )
  }
  return removeRows(db, pause)
}

/** Removes closed charges whose archives are in place. Returns the position up to which they are gone. */
export async function removeRows(db: Db, pause: () => Promise<void>): Promise<number> {
  await dropClosedPartitions(db, await closedPart(db))
  let from = await removedUpTo(db)
  await apply(db, [forgetQuantities((await closedPart(db)).endedBefore)])
  for (const { position } of await closingsToRemove(db)) {
    if (await isEmpty(db, from, position)) {
      if (await tryApply(db, [moveRemoved(from, position)])) from = position
    }
    while (from < position) {
      const to = Math.min(from + BATCH, position)
      // A miss means that another node is doing the same.
      const isDone = await tryApply(db, [moveRemoved(from, to), remove(from, to)])
      from = isDone ? to : await removedUpTo(db)
      await pause()
    }
  }
  return from
}

async function removedUpTo(db: Db): Promise<number> {
  const [row] = await db.query({ sql: `select position from marks where name = 'removed'` })
  return (row?.position as number | undefined) ?? 0
}

/** Whether no charge is left, for example after a partition was dropped. */
async function isEmpty(db: Db, after: number, to: number): Promise<boolean> {
  // Without a limit: with one, PostgreSQL would read from the beginning of the remaining rows.
  const [row] = await db.query({
    sql: 'select min(position) as first from ended_charges where position > $1 and position <= $2',
    parameters: [after, to],
  })
  return row?.first == null
}

function moveRemoved(from: number, to: number): Statement {
  return {
    sql: `update marks set position = $1 where name = 'removed' and position = $2`,
    parameters: [to, from],
    guard: true,
  }
}

function remove(after: number, to: number): Statement {
  return {
    sql: `delete from ended_charges where position > $1 and position <= $2
      and position <= (select coalesce(max(position), 0) from closings)`,
    parameters: [after, to],
  }
}
