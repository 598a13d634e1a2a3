// Finds the last answer of a key that ended early, so that its holder learns why. It must never fail what asks for it.

import type { RequestStore } from './request-log'
import type { LoggedRequest } from './row'

const DAY_MS = 86_400_000
/** Rows of a key that are looked at for its last answer: it may have been refused several times since. */
const LOOKED_AT = 20

/**
 * The last answer of a key in a day, if it was a stream that ended because no more could be held; undefined otherwise, and if
 * the log cannot be read. A row is in the log a quarter of a second after its request.
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
