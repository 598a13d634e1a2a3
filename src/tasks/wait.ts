// Waits for the end of a task on behalf of a caller. It must never hold anything: an abandoned wait leaves the task unchanged.

import { DatabaseUnavailable, type Db } from '../db/db'
import type { System } from '../lib/system'
import { findTask } from './find'
import { showWithResult } from './result'

export interface WaitWorld extends Pick<System, 'now' | 'monotonic' | 'after'> {
  db: Db
}

export interface TaskAnswer {
  status: number
  /** The task as JSON. */
  body: string
}

/** Interval of queries for a task that a caller waits for, in milliseconds. */
const CHECK_MS = 250

/** Waits until a task has ended, at most until `until` on the monotonic clock. Returns its state then. */
export async function waitForTask(
  world: WaitWorld,
  id: string,
  account: string,
  until: number,
  leaves: () => boolean,
): Promise<TaskAnswer | undefined> {
  for (;;) {
    const task = await findTask(world.db, account, id).catch(unknownWhileAway)
    if (task && task.state !== 'submitted') return { status: 200, body: await showWithResult(world, task) }
    if (world.monotonic() >= until || leaves()) return undefined
    await new Promise<void>((resolve) => world.after(CHECK_MS, resolve))
  }
}

/** The task continues without the database, and so does the wait for it. */
function unknownWhileAway(error: unknown): undefined {
  if (!(error instanceof DatabaseUnavailable)) throw error
}
