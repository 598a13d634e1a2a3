// One row of the request log: everything known about a request at its end, without its body. A request only fills in its row;
// everything that reads rows runs later. Nothing here must be used for money.

import type { Preference } from '../config/models/route-entry'
import { inputTokensOf, outputTokensOf, type Quantities } from '../contract/units'
import type { Row, Value } from '../db/db'
import { type RowCodec, readableText } from '../db/encryption/codec'
import { jsonOfColumn } from '../db/json-column'
import type { GatewayError } from '../lib/errors'
import { formatUsd } from '../lib/money'
import type { TraceContext } from '../lib/trace-context'
import { failedByOf, type Party } from './failure'

/** The source of reported figures that exceed what the request could use. */
export const ABOVE_QUOTE = 'upstream_above_quote'
/** Maximum length of a stored model name, in characters. */
const MAX_NAME_LENGTH = 128

export interface RequestLogRow {
  id: string
  at: number
  /** The time `at` on the monotonic clock, from which durations are measured. Not written. */
  startedAt: number
  operation: string
  /** The caller's address; null for a tool. */
  clientAddress: string | null
  account: string | null
  keyId: string | null
  /** The token that acted for the key, or the user that the request named; null if the holder of the key acted. */
  spenderId: string | null
  model: string | null
  /** The requested name, which may be an alias, a route or unknown; null until it is read. */
  requestedModel: string | null
  upstream: string | null
  stream: boolean
  status: number
  errorCode: string | null
  /** The error message, without keys; null for none. The same applies to the next three. */
  errorMessage: string | null
  /** The request field at fault. */
  errorParam: string | null
  failedBy: Party | null
  /** The status with which the vendor refused; null if there was none. */
  vendorStatus: number | null
  /** Milliseconds from the request's arrival to the first byte of the answer, and to the last. */
  firstByteMs: number | null
  durationMs: number
  inputTokens: number | null
  outputTokens: number | null
  /** All charged quantities, as JSON; null if the token counts above are complete. */
  quantities: string | null
  /** The maximum that was held for it, in nano-dollars. */
  heldNano: number | null
  amountNano: number | null
  /** The source of the charged figures, or `ABOVE_QUOTE`. */
  usageSource: string | null
  endedBy: string | null
  /** When the running call was sent, on the monotonic clock; null if none runs. Not written. */
  sentAt: number | null
  /** Whether the upstream of the row was called. Not written. */
  isSent: boolean
  /** Milliseconds from the request's arrival to its first call. */
  sentMs: number | null
  /** Milliseconds spent in upstreams, all attempts together: the rest of the duration is the gateway's own. */
  upstreamMs: number
  /** The vendor's id for its answer. */
  upstreamRequestId: string | null
  /** The number of the upstream's key, counted from 1; null if it has at most one. */
  upstreamKey: number | null
  /**
   * The session that chose the key or the upstream, such as `x-session-id 5f3a9c21`: its source and its hash. Null if it chose
   * nothing.
   */
  session: string | null
  /** Keys that the session prefers and that were resting, by number, the most preferred first; null if none was resting. */
  restingKeys: readonly number[] | null
  /** The response cache: `miss`, `hit` with the request that made the answer, or `bypass` with the reason. Null without a cache. */
  cache: string | null
  /** Models of a route that failed before the model of this row; null if there are none. */
  attempts: FailedAttempt[] | null
  /** Models of a route that were skipped; null if there are none. */
  passedOver: PassedOver[] | null
  /** The order of the models by the route's preference; null if the route has no preference. */
  routeOrder: RouteOrder | null
  /** The metadata that its usage counts under, as JSON; null if it has none. */
  metadata: string | null
  /** The trace that the request is part of; null without tracing. Not written. */
  trace: TraceContext | null
  /** Vendors' refusals because of the request's content; null if no vendor refused it. Not written. */
  refusals: VendorRefusal[] | null
}

/** A request that a vendor refused because of its content. */
export interface VendorRefusal {
  upstream: string
  model: string
  /** Empty if the vendor named none. */
  field: string
  status: number
  /** The vendor's message, without keys. */
  message: string
}

/** Why a model of a route was not called. */
export type PassedOverReason =
  /** The model's condition is not met. */
  | 'condition'
  /** The prompt is too long. */
  | 'context'
  /** The model does not support a field or a value of the request. */
  | 'request'

/** A model of a route that was not called. */
export interface PassedOver {
  model: string
  upstream: string
  reason: PassedOverReason
  /** The reason in words for operators, without any text of the caller. */
  detail: string
}

/** The models of a route in the order of its preference: the first was called first, the others only if it failed. */
export interface RouteOrder {
  prefer: Preference
  models: PlacedModel[]
}

/** A model of a route at its position. */
export interface PlacedModel {
  model: string
  upstream: string
  reason: PlaceReason
  /** The figure in words for operators. */
  detail: string
}

/** Why a model of a preferred route has its position. */
export type PlaceReason =
  /** The model has the best figure. */
  | 'best'
  /** The figure is about as good as the best, and the session or a random choice decided. */
  | 'equal'
  /** The model has answered the conversation before, and its figure is not much worse than the best. */
  | 'conversation'
  /** The request was sent to measure the figure. */
  | 'measured'
  /** The model comes after the first. */
  | 'later'

/** A model of a route that could not answer. */
export interface FailedAttempt {
  model: string
  upstream: string
  status: number
  error: string
  /** Absent in rows of older gateways, like the next one. */
  failedBy?: Party
  /** The status with which the vendor refused; null if there was none. */
  vendorStatus?: number | null
  /** The vendor's id of its refusal. */
  requestId: string | null
  /** The number of the upstream's key, counted from 1; null if it has at most one. */
  keyNumber: number | null
  durationMs: number
  /** The vendor's charge for a rejected answer, in dollars; absent without one, or if unknown. */
  costUsd?: string
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
    spenderId: null,
    model: null,
    requestedModel: null,
    upstream: null,
    stream: false,
    status: 0,
    errorCode: null,
    errorMessage: null,
    errorParam: null,
    failedBy: null,
    vendorStatus: null,
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
    isSent: false,
    sentMs: null,
    upstreamMs: 0,
    upstreamRequestId: null,
    upstreamKey: null,
    session: null,
    restingKeys: null,
    cache: null,
    attempts: null,
    passedOver: null,
    routeOrder: null,
    metadata: null,
    trace: null,
    refusals: null,
  }
}

/** Records that a call is sent to a vendor. Of parallel calls, the first counts. */
export function noteSent(logRow: RequestLogRow, at: number): void {
  logRow.isSent = true
  logRow.sentAt ??= at
  logRow.sentMs ??= at - logRow.startedAt
}

/** Records that the upstream of the row was not called after all, for example because it rests after failures. */
export function noteNotSent(logRow: RequestLogRow): void {
  logRow.isSent = false
  logRow.sentAt = null
  if (logRow.attempts === null) logRow.sentMs = null
}

/** Records that nothing more is expected from the upstream. */
export function noteUpstreamEnd(logRow: RequestLogRow, at: number): void {
  if (logRow.sentAt === null) return
  logRow.upstreamMs += at - logRow.sentAt
  logRow.sentAt = null
}

/** Records the refusal of the row's vendor, if the error is one. */
export function noteRefusal(logRow: RequestLogRow, error: GatewayError): void {
  const { model, upstream } = logRow
  if (error.refusedField === null || model === null || upstream === null) return
  const { status, message, refusedField: field } = error
  logRow.refusals ??= []
  logRow.refusals.push({ upstream, model, field, status, message })
}

/**
 * Records that the model of the row could not answer, before the row moves to another one. `costNano` is the vendor's charge for a
 * rejected answer.
 */
export function noteFailedAttempt(
  logRow: RequestLogRow,
  error: GatewayError,
  at: number,
  costNano: number | null = null,
): void {
  const durationMs = logRow.sentAt === null ? 0 : Math.round(at - logRow.sentAt)
  noteUpstreamEnd(logRow, at)
  const { model, upstream } = logRow
  const { status, code, vendorStatus, upstreamRequestId, upstreamKey } = error
  if (model === null || upstream === null) throw new Error('an attempt needs a model')
  logRow.attempts ??= []
  logRow.attempts.push({
    model,
    upstream,
    status,
    error: code,
    failedBy: failedByOf(error),
    vendorStatus,
    requestId: upstreamRequestId,
    keyNumber: upstreamKey,
    durationMs,
    ...(costNano !== null && { costUsd: formatUsd(costNano) }),
  })
  logRow.upstreamRequestId = null
  logRow.upstreamKey = null
  logRow.restingKeys = null
  logRow.isSent = false
}

/** Records the charged quantities. Most requests have only two kinds of tokens: then their counts are complete. */
export function noteQuantities(logRow: RequestLogRow, quantities: Quantities): void {
  logRow.inputTokens = inputTokensOf(quantities)
  logRow.outputTokens = outputTokensOf(quantities)
  for (const unit in quantities) {
    if (unit === 'input_token' || unit === 'output_token') continue
    logRow.quantities = JSON.stringify(quantities)
    return
  }
}

/** The quantities charged for a request; undefined if there were none, or its row does not contain them. */
export function quantitiesOfRow({
  quantities,
  input_tokens: input,
  output_tokens: output,
}: LoggedRequest): Quantities | undefined {
  if (typeof quantities === 'string')
    return jsonOfColumn<Quantities | undefined>(quantities, undefined) ?? undefined
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  return { input_token: input, output_token: output }
}

/**
 * Whether a request failed: its caller got an error, by a status of at least 400 or, if an answer had begun with 200, in the
 * stream. A caller that disconnected got none.
 */
export function endedInError(status: number, errorCode: Value): boolean {
  return status >= 400 || errorCode !== null
}

/** The gateway's own part of a request's duration, in milliseconds. */
export function overheadMsOf({ durationMs, upstreamMs }: RequestLogRow): number {
  return Math.max(0, durationMs - upstreamMs)
}

/** A row of the request log as stored, its columns by name. */
export interface LoggedRequest extends Row {
  id: string
  at: number
}

/** The columns in storage order, each with its SQL type. New ones are added at the end. */
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
  ['error_message', 'text'],
  ['error_param', 'text'],
  ['asked_model', 'text'],
  ['failed_by', 'text'],
  ['vendor_status', 'bigint'],
  ['cache', 'text'],
  ['passed_over', 'text'],
  ['route_order', 'text'],
  ['spender_id', 'text'],
] as const

/** The index of a column. */
export function columnPlace(column: (typeof COLUMNS)[number][0]): number {
  return COLUMNS.findIndex(([name]) => name === column)
}

/** A row with the types of its columns. */
export type LoggedColumns = {
  [Column in (typeof COLUMNS)[number] as Column[0]]: (Column[1] extends 'text' ? string : number) | null
}

/** The values of a row in the order of the columns, up to the last that is not null. */
export function valuesOf(logRow: RequestLogRow, codec: RowCodec): Value[] {
  const values = [
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
    logRow.errorMessage && codec.encode(logRow.errorMessage, placeOfMessage(logRow.id)),
    logRow.errorParam,
    requestedNameOf(logRow),
    logRow.failedBy,
    logRow.vendorStatus,
    logRow.cache,
    logRow.passedOver && JSON.stringify(logRow.passedOver),
    logRow.routeOrder && JSON.stringify(logRow.routeOrder),
    logRow.spenderId,
  ]
  while (values.at(-1) === null) values.pop()
  return values
}

/** The requested name, without characters that no name has; null if it is the id of the model that answered. */
export function requestedNameOf({ requestedModel, model }: RequestLogRow): string | null {
  if (requestedModel === null || requestedModel === model) return null
  return requestedModel.slice(0, MAX_NAME_LENGTH).replaceAll(/[\p{Cc}\p{Cs}]/gu, '')
}

/**
 * Values in the order of the columns, by name. Columns missing from an older row are null, and so is a message whose key is no
 * longer configured.
 */
export function loggedRequestOf(values: readonly Value[], codec: RowCodec): LoggedRequest {
  const row = Object.fromEntries(
    COLUMNS.map(([name], column) => [name, values[column] ?? null]),
  ) as unknown as LoggedRequest
  if (typeof row.error_message === 'string')
    row.error_message = decodedMessage(row.error_message, row.id, codec)
  return row
}

/** A message before it was stored; null if its key is no longer configured. */
export function decodedMessage(stored: string, id: string, codec: RowCodec): string | null {
  return readableText(codec, stored, placeOfMessage(id)) ?? null
}

/** Messages may quote texts of a caller or a model, so they are encrypted if the operator has set a key. */
function placeOfMessage(id: string): string {
  return `request_pages.error_message ${id}`
}

function rounded(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds)
}
