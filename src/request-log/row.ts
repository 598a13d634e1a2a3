// One row of the request log: what is known of a request when it has ended, without its body. A request only fills in
// its row; everything that reads rows runs later. Nothing here must be used for money.

import { inputTokensOf, outputTokensOf, type Quantities } from '../contract/units'
import type { Row, Value } from '../db/db'
import type { GatewayError } from '../lib/errors'
import type { TraceContext } from '../lib/trace-context'

/** The source of figures that the vendor reported, and that are more than the request could use. */
export const ABOVE_QUOTE = 'upstream_above_quote'
export interface RequestLogRow {
  id: string
  at: number
  /** The moment of `at` on the monotonic clock, from which durations are measured. Not written. */
  startedAt: number
  operation: string
  /** The caller's address; null for a tool. */
  clientAddress: string | null
  account: string | null
  keyId: string | null
  model: string | null
  upstream: string | null
  stream: boolean
  status: number
  errorCode: string | null
  /** Milliseconds from the request's arrival to the first byte of the answer, and to its last. */
  firstByteMs: number | null
  durationMs: number
  inputTokens: number | null
  outputTokens: number | null
  /** All quantities that were paid, as JSON; null where the tokens above say everything. */
  quantities: string | null
  /** The most that was held for it, in nano-dollars. */
  heldNano: number | null
  amountNano: number | null
  /** That of the charge, or `ABOVE_QUOTE`. */
  usageSource: string | null
  endedBy: string | null
  /** When the running call was sent, on the monotonic clock; null while none runs. Not written. */
  sentAt: number | null
  /** Milliseconds from the request's arrival to its first call. */
  sentMs: number | null
  /** Milliseconds that upstreams took, all attempts together: the rest of the duration is the gateway's own. */
  upstreamMs: number
  /** The vendor's id of its answer. */
  upstreamRequestId: string | null
  /** The number of the upstream's key, counted from 1; null where it has one or none. */
  upstreamKey: number | null
  /** The session that chose the key or the upstream, as `x-session-id 5f3a9c21`: its sign and its hash. Null where nothing was chosen by it. */
  session: string | null
  /** Keys that the session prefers and that rested, by their numbers, the most preferred first; null for none. */
  restingKeys: readonly number[] | null
  /** Models of a route that failed before the one of this row; null if there are none. */
  attempts: FailedAttempt[] | null
  /** The metadata that its usage is counted by, as JSON; null for none. */
  metadata: string | null
  /** The trace that the request is a part of; null while nobody traces. Not written. */
  trace: TraceContext | null
  /** Refusals of vendors for what is in the request; null for none. Not written. */
  refusals: VendorRefusal[] | null
}

/** A request that a vendor refused for what is in it. */
export interface VendorRefusal {
  upstream: string
  model: string
  /** Empty if the vendor named none. */
  field: string
  status: number
  /** The vendor's words, without keys. */
  message: string
}

/** A model of a route that could not answer. */
export interface FailedAttempt {
  model: string
  upstream: string
  status: number
  error: string
  /** The vendor's id of its refusal. */
  requestId: string | null
  /** The number of the upstream's key, counted from 1; null where it has one or none. */
  keyNumber: number | null
  durationMs: number
}

/** The row of a new request; the rest is filled in later. */
export function newLogRow(
  incoming: { requestId: string; operation: { name: string }; clientAddress?: string | null },
  { now, monotonic }: { now: () => number; monotonic: () => number },
): RequestLogRow {
  return {
    id: incoming.requestId,
    at: now(),
    startedAt: monotonic(),
    operation: incoming.operation.name,
    clientAddress: incoming.clientAddress ?? null,
    account: null,
    keyId: null,
    model: null,
    upstream: null,
    stream: false,
    status: 0,
    errorCode: null,
    firstByteMs: null,
    durationMs: 0,
    inputTokens: null,
    outputTokens: null,
    quantities: null,
    heldNano: null,
    amountNano: null,
    usageSource: null,
    endedBy: null,
    sentAt: null,
    sentMs: null,
    upstreamMs: 0,
    upstreamRequestId: null,
    upstreamKey: null,
    session: null,
    restingKeys: null,
    attempts: null,
    metadata: null,
    trace: null,
    refusals: null,
  }
}

/** Notes that a call is sent to a vendor. Of calls side by side the first counts. */
export function noteSent(logRow: RequestLogRow, at: number): void {
  logRow.sentAt ??= at
  logRow.sentMs ??= at - logRow.startedAt
}

/** Notes that nothing more is expected of the upstream. */
export function noteUpstreamEnd(logRow: RequestLogRow, at: number): void {
  if (logRow.sentAt === null) return
  logRow.upstreamMs += at - logRow.sentAt
  logRow.sentAt = null
}

/** Notes what the vendor of the row refused, if the error says that. */
export function noteRefusal(logRow: RequestLogRow, error: GatewayError): void {
  const { model, upstream } = logRow
  if (error.refusedField === null || model === null || upstream === null) return
  const { status, message, refusedField: field } = error
  logRow.refusals ??= []
  logRow.refusals.push({ upstream, model, field, status, message })
}

/** Notes that the model of the row could not answer, before the row goes to another one. */
export function noteFailedAttempt(
  logRow: RequestLogRow,
  {
    status,
    code,
    upstreamRequestId = null,
    upstreamKey = null,
  }: { status: number; code: string; upstreamRequestId?: string | null; upstreamKey?: number | null },
  at: number,
): void {
  const durationMs = logRow.sentAt === null ? 0 : Math.round(at - logRow.sentAt)
  noteUpstreamEnd(logRow, at)
  const { model, upstream } = logRow
  if (model === null || upstream === null) throw new Error('an attempt needs a model')
  logRow.attempts ??= []
  logRow.attempts.push({
    model,
    upstream,
    status,
    error: code,
    requestId: upstreamRequestId,
    keyNumber: upstreamKey,
    durationMs,
  })
  logRow.upstreamRequestId = null
  logRow.upstreamKey = null
  logRow.restingKeys = null
}

/** Notes what is paid. Most requests have two kinds of tokens only: then their counts say everything. */
export function noteQuantities(logRow: RequestLogRow, quantities: Quantities): void {
  logRow.inputTokens = inputTokensOf(quantities)
  logRow.outputTokens = outputTokensOf(quantities)
  for (const unit in quantities) {
    if (unit === 'input_token' || unit === 'output_token') continue
    logRow.quantities = JSON.stringify(quantities)
    return
  }
}

/** The quantities that were paid for a request; undefined where none were, or its row does not say. */
export function quantitiesOfRow({
  quantities,
  input_tokens: input,
  output_tokens: output,
}: LoggedRequest): Quantities | undefined {
  if (typeof quantities === 'string') return JSON.parse(quantities) as Quantities
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  return { input_token: input, output_token: output }
}

/**
 * Whether a request failed: its caller was told of an error, by a status from 400 on or, where an answer had begun with 200, in
 * the stream. A caller who left was told of nothing.
 */
export function endedInError(status: number, errorCode: Value): boolean {
  return status >= 400 || errorCode !== null
}

/** The gateway's own part of a request's duration, in milliseconds. */
export function overheadMsOf({ durationMs, upstreamMs }: RequestLogRow): number {
  return Math.max(0, durationMs - upstreamMs)
}

/** A row of the request log as it is stored, its columns by name. */
export interface LoggedRequest extends Row {
  id: string
  at: number
}

/** The columns in the order of their storage, each with its type in SQL. New ones are added at the end. */
export const COLUMNS = [
  ['id', 'text'],
  ['at', 'bigint'],
  ['operation', 'text'],
  ['account', 'text'],
  ['key_id', 'text'],
  ['model', 'text'],
  ['upstream', 'text'],
  ['stream', 'bigint'],
  ['status', 'bigint'],
  ['error_code', 'text'],
  ['first_byte_ms', 'bigint'],
  ['duration_ms', 'bigint'],
  ['input_tokens', 'bigint'],
  ['output_tokens', 'bigint'],
  ['amount', 'bigint'],
  ['usage_source', 'text'],
  ['ended_by', 'text'],
  ['held', 'bigint'],
  ['sent_ms', 'bigint'],
  ['upstream_ms', 'bigint'],
  ['upstream_request_id', 'text'],
  ['client_address', 'text'],
  ['attempts', 'text'],
  ['metadata', 'text'],
  ['quantities', 'text'],
  ['upstream_key', 'bigint'],
  ['session', 'text'],
  ['resting_keys', 'text'],
] as const

/** A row with the types of its columns. */
export type LoggedColumns = {
  [Column in (typeof COLUMNS)[number] as Column[0]]: (Column[1] extends 'text' ? string : number) | null
}

/** The values of a row in the order of the columns. */
export function valuesOf(logRow: RequestLogRow): Value[] {
  return [
    logRow.id,
    logRow.at,
    logRow.operation,
    logRow.account,
    logRow.keyId,
    logRow.model,
    logRow.upstream,
    logRow.stream ? 1 : 0,
    logRow.status,
    logRow.errorCode,
    rounded(logRow.firstByteMs),
    Math.round(logRow.durationMs),
    logRow.inputTokens,
    logRow.outputTokens,
    logRow.amountNano,
    logRow.usageSource,
    logRow.endedBy,
    logRow.heldNano,
    rounded(logRow.sentMs),
    Math.round(logRow.upstreamMs),
    logRow.upstreamRequestId,
    logRow.clientAddress,
    logRow.attempts && JSON.stringify(logRow.attempts),
    logRow.metadata,
    logRow.quantities,
    logRow.upstreamKey,
    logRow.session,
    logRow.restingKeys?.join() ?? null,
  ]
}

/** Values in the order of the columns, by name. What an older row lacks is null. */
export function loggedRequestOf(values: readonly Value[]): LoggedRequest {
  return Object.fromEntries(
    COLUMNS.map(([name], column) => [name, values[column] ?? null]),
  ) as unknown as LoggedRequest
}

function rounded(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds)
}
