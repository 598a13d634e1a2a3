// Puts the gateway's own URL into a succeeded task before its end is stored, so that its webhook and all readers get the same one.
// A video that cannot be copied in time keeps the vendor's URL. Nothing here must fail a task.

import type { Artifacts } from '../artifacts/artifacts'
import type { Model } from '../contract/family'
import type { Db } from '../db/db'
import { replaceStrings } from '../lib/json/json'
import type { System } from '../lib/system'
import type { Success } from './finish'
import { extendLease } from './leases'
import type { Task } from './task'

/** Maximum time that an end waits for its copies, in milliseconds. */
const COPY_TIMEOUT_MS = 120_000
/** Time from the end of the copies to the end of the task, in milliseconds. */
const LEASE_MARGIN_MS = 15_000

export interface KeepVideoWorld extends Pick<System, 'now'> {
  /** Null if results are not stored. */
  artifacts: Artifacts | null
  db: Db
}

export async function keepVideo(
  { artifacts, db, now }: KeepVideoWorld,
  task: Task,
  { family, upstream }: Model,
  ending: Success,
): Promise<Success> {
  const { document, videoUrl } = ending
  // Near the deadline the hold is about to be released, so there is only time to end the task.
  const timeoutMs = Math.min(COPY_TIMEOUT_MS, task.deadlineAt - now())
  if (!artifacts || timeoutMs <= 0) return ending
  if (!(await extendLease(db, task, now() + timeoutMs + LEASE_MARGIN_MS))) return ending
  const links = family.kind === 'task' ? (family.links?.(document) ?? []) : []
  const kept = await artifacts.keepAll([videoUrl, ...links], {
    account: task.account,
    keyId: task.keyId,
    charge: task.charge,
    fetchFile: upstream.fetchFile,
    gatewayUrl: task.gatewayUrl,
    timeoutMs,
  })
  return { ...ending, document: JSON.parse(replaceStrings(JSON.stringify(document), kept)) }
}
