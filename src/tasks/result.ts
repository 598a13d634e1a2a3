// Shows a task with its result: that of a deferred request has a separate row, because it may be large. Nothing here must change a
// task.

import type { Db } from '../db/db'
import { findResult, type KeptResult } from '../kept-responses/results'
import { isDeferred, showTask, type Task } from './task'

interface ResultWorld {
  db: Db
  now(): number
}

/** The result of a deferred task that has succeeded; undefined for others, and once it has expired. */
export async function resultOf({ db, now }: ResultWorld, task: Task): Promise<KeptResult | undefined> {
  if (!isDeferred(task) || task.state !== 'succeeded') return undefined
  return findResult(db, task, now())
}

/** The task as JSON. An answer that is JSON is in `result`; others are read at `result_url`. */
export async function showWithResult(world: ResultWorld, task: Task): Promise<string> {
  const json = jsonOf(await resultOf(world, task))
  return json === undefined ? showTask(task) : `${showTask(task).slice(0, -1)},"result":${json}}`
}

/** The text of a result that is JSON; undefined for others. */
export function jsonOf(result: KeptResult | undefined): string | undefined {
  if (!result || !('body' in result) || typeof result.body !== 'string') return undefined
  return result.contentType === 'application/json' ? result.body : undefined
}
