// Shows requests to the holder of their key. Upstreams, addresses and attempts are the operator's own business: they must
// never be shown.

import { isoTime } from '../db/iso-time'
import { usdOf } from './request-json'
import type { LoggedRequest } from './row'

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
