// Finds the last answer of a key that ended early, so that its holder learns the reason. It must never make its caller fail.

import type { RequestStore } from './request-log'
import type { LoggedRequest } from './row'

const DAY_MS = 86_400_000
/** Rows of a key that are searched for its last answer: it may have been refused several times since. */
const LOOKED_AT = 20

/**
 * The last answer of a key within a day, if it was a stream that ended because no more could be held; otherwise undefined, also if
 * the log is unreadable. A row is in the log a quarter of a second after its request.
 */
export async function lastCutOf(
  requestLog: Pick<RequestStore, 'list'>,
  keyId: string,
  now: number,
): Promise<LoggedRequest | undefined> {
  const page = await requestLog
    .list({ keyId, since: now - DAY_MS }, { limit: LOOKED_AT })
    .catch(() => undefined)
  const last = page?.rows.find(({ status }) => Number(status) < 400)
  return last?.ended_by === 'balance' ? last : undefined
}
