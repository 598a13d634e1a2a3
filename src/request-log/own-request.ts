// Shows requests to the holder of their key. Upstreams, addresses and attempts are the operator's own business: they must
// never be shown.

import { isoTime } from '../db/iso-time'
import { usdOf } from './request-json'
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

export function ownRequestJson(row: LoggedRequest) {
  return {
    id: row.id,
    at: isoTime(row.at),
    operation: row.operation,
    model: row.model,
    stream: row.stream === 1,
    status: row.status,
    error_code: row.error_code,
    first_byte_ms: row.first_byte_ms,
    duration_ms: row.duration_ms,
    input_tokens: row.input_tokens,
    output_tokens: row.output_tokens,
    held_usd: usdOf(row.held),
    amount_usd: usdOf(row.amount),
    usage_source: row.usage_source,
    ended_by: row.ended_by,
  }
}
