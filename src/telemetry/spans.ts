// Makes spans and log records of OpenTelemetry, in the JSON of its protocol, out of rows of ended requests and events of the log.
// Names follow the conventions for generative AI (https://opentelemetry.io/docs/specs/semconv/gen-ai/). They must never contain
// text of a caller or a model.

import { type Level, levelOf } from '../lib/log-events'
import { formatUsd } from '../lib/money'
import { requestFields } from '../request-log/line'
import type { RequestLogRow } from '../request-log/row'

type Attribute = { key: string; value: Record<string, unknown> }

const SERVER = 2
const CLIENT = 3
const OK = 1
const ERROR = 2
const SEVERITIES: Record<Level, number> = { debug: 5, info: 9, warn: 13, error: 17 }
/** Operations with their own name in the conventions. */
const OPERATIONS: Readonly<Record<string, string>> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
}

/** The spans of a request: its own, and that of its call to a vendor. Empty if it is not traced. */
export function spansOf(row: RequestLogRow): object[] {
  const { trace } = row
  if (!trace?.isSampled) return []
  const { traceId, spanId, callSpanId, parentId } = trace
  const status = { code: row.status >= 500 ? ERROR : OK }
  const own = {
    traceId,
    spanId,
    ...(parentId !== null && { parentSpanId: parentId }),
    name: row.model === null ? row.operation : `${row.operation} ${row.model}`,
    kind: SERVER,
    startTimeUnixNano: nanoOf(row.at),
    endTimeUnixNano: nanoOf(row.at + row.durationMs),
    attributes: attributesOf({
      'http.response.status_code': row.status,
      'client.address': row.clientAddress,
      'error.type': row.errorCode,
      'gateway.request_id': row.id,
      'gateway.account': row.account,
      'gateway.key_id': row.keyId,
      'gateway.cost_usd': row.amountNano === null ? null : Number(formatUsd(row.amountNano)),
    }),
    status,
  }
  if (row.sentMs === null || !row.isSent) return [own]
  const isVendors = row.failedBy === 'vendor'
  const name = OPERATIONS[row.operation] ?? row.operation
  const call = {
    traceId,
    spanId: callSpanId,
    parentSpanId: spanId,
    name: `${name} ${row.model}`,
    kind: CLIENT,
    startTimeUnixNano: nanoOf(row.at + row.sentMs),
    endTimeUnixNano: nanoOf(row.at + Math.min(row.durationMs, row.sentMs + row.upstreamMs)),
    attributes: attributesOf({
      'gen_ai.operation.name': name,
      'gen_ai.provider.name': row.upstream,
      'gen_ai.request.model': row.model,
      'gen_ai.response.id': row.upstreamRequestId,
      'gen_ai.usage.input_tokens': row.inputTokens,
      'gen_ai.usage.output_tokens': row.outputTokens,
      'error.type': isVendors ? row.errorCode : null,
      'gateway.attempts': (row.attempts?.length ?? 0) + 1,
    }),
    status: isVendors ? status : { code: OK },
  }
  return [own, call]
}

/** The log record of a request. */
export function requestRecord(row: RequestLogRow): object {
  const level = row.status >= 500 ? 'warn' : 'info'
  const record = recordOf('request', requestFields(row), row.at + row.durationMs, level)
  return row.trace ? { ...record, traceId: row.trace.traceId, spanId: row.trace.spanId } : record
}

/** The log record of an event. */
export function recordOf(
  event: string,
  fields: Readonly<Record<string, unknown>>,
  at: number,
  level = levelOf(event),
): object {
  return {
    timeUnixNano: nanoOf(at),
    severityNumber: SEVERITIES[level],
    severityText: level.toUpperCase(),
    eventName: event,
    body: { stringValue: event },
    attributes: attributesOf(fields),
  }
}

export function attributesOf(fields: Readonly<Record<string, unknown>>): Attribute[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([key, value]) => ({ key, value: anyValue(value) }))
}

function anyValue(value: unknown): Record<string, unknown> {
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') {
    // Whole numbers of 64 bits are texts in the protocol.
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  }
  return { stringValue: typeof value === 'string' ? value : JSON.stringify(value) }
}

/** Nanoseconds since 1970 as text. */
function nanoOf(milliseconds: number): string {
  return String(BigInt(Math.round(milliseconds * 1000)) * 1000n)
}
