// The log line for an ended request. It must never contain content of a caller.

import { formatUsd } from '../lib/money'
import { overheadMsOf, type RequestLogRow } from './row'

/** The fields of the line, in reading order. */
export function requestFields(row: RequestLogRow): Record<string, unknown> {
  return {
    request: row.id,
    status: row.status,
    error: row.errorCode,
    operation: row.operation,
    model: row.model,
    upstream: row.upstream,
    account: row.account,
    key: row.keyId,
    client: row.clientAddress,
    stream: row.stream,
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    cost_usd: row.amountNano === null ? null : formatUsd(row.amountNano),
    ended_by: row.endedBy,
    first_byte_ms: rounded(row.firstByteMs),
    duration_ms: rounded(row.durationMs),
    overhead_ms: rounded(overheadMsOf(row)),
    attempts: row.attempts === null ? undefined : row.attempts.length + 1,
    upstream_request: row.upstreamRequestId,
  }
}

function rounded(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 10) / 10
}
