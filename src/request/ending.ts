// The one place where requests end: the money is settled, released or handed over, and the one row of the request log
// is written. Answers that continue after the request was handled, such as streams, must call back into it before their last byte.

import type { SavedAnswer } from '../billing/ledger/idempotency'
import { aboveQuote, billOf, type Measure, measure, type Outcome } from '../billing/ledger/metering'
import type { PriceDrifts } from '../billing/proofs/price-drift'
import { knownError } from '../contract/error-answer'
import { cutError, type EndedBy, endedByOf } from '../contract/failures'
import { tableNano } from '../contract/prices'
import { inputTokensOf, type Quantities } from '../contract/units'
import { GatewayError } from '../lib/errors'
import type { Semaphore } from '../lib/semaphore'
import { noteFailure } from '../request-log/failure'
import {
  ABOVE_QUOTE,
  noteQuantities,
  noteRefusal,
  noteUpstreamEnd,
  type RequestLogRow,
} from '../request-log/row'
import type { ResponseCache } from './cache/response-cache'
import type { CheckedRequest } from './check'
import type { Reservation, Reservations } from './reservation'
import { holdRest } from './reserve'
import type { Paces } from './route/pace'
import type { WarmSessions } from './route/warm-sessions'
import type { RequestWorld } from './world'

/** The parts that every step of the line uses. */
export interface Line {
  world: RequestWorld
  reservations: Reservations
  /** Limits the number of texts that are counted for holds at once, so that other counts do not wait for long. */
  textCounts: Semaphore
  priceDrifts: PriceDrifts
  responseCache: ResponseCache
  paces: Paces
  warmSessions: WarmSessions
}

const NOTHING_USED: Measure = { quantities: {}, source: 'counted' }

/** Ends of answers that are reported to callers as errors, although their status was a success. */
const BROKEN_BY: ReadonlySet<EndedBy> = new Set(['upstream', 'timeout', 'shutdown'])

/**
 * Ends an answered request by paying for the answer. `known` is the usage, if already measured. Returns the paid nano-dollars; when
 * it resolves, the last byte of the answer may be sent.
 */
async function endAnswered(
  line: Line,
  reservation: Reservation,
  outcome: Outcome,
  saved: SavedAnswer,
  known?: Measure,
): Promise<number> {
  const { world, reservations, priceDrifts, responseCache } = line
  const { request, logRow, charge } = reservation
  const { parsed, model } = request
  noteUpstreamEnd(logRow, world.monotonic())
  const measured = known ?? (await measure(outcome, parsed, model, world.tokenCounter))
  // An answer without output is still delivered: as the end of a task it is free.
  const paid = measured ?? (request.deferral && outcome.endedBy === 'done' ? NOTHING_USED : undefined)
  let paidNano = 0
  if (paid) paidNano = await reservations.settle(reservation, outcome, paid, saved)
  else await reservations.release(reservation, outcome.endedBy, outcome)
  if (outcome.usage === 'invalid') {
    world.log('upstream_usage_invalid', {
      request: charge.id,
      upstream: model.upstream.name,
      usage: outcome.usageJson,
    })
  }
  logRow.endedBy = outcome.endedBy
  if (BROKEN_BY.has(outcome.endedBy) && logRow.errorCode === null)
    noteFailure(logRow, cutError(outcome.endedBy))
  logRow.heldNano = charge.heldNano
  logRow.usageSource = (measured && (noteAboveQuote(world, reservation, measured) ?? measured.source)) ?? null
  logRow.amountNano = paidNano
  if (measured) {
    noteQuantities(logRow, measured.quantities)
    noteTurn(line, request, measured.quantities)
    notePrice(priceDrifts, reservation, outcome, measured)
  }
  writeRow(world, logRow, 200)
  responseCache.offer(reservation, saved, outcome, measured)
  return paidNano
}

/** Remembers which model of a preferred route has answered a conversation. */
function noteTurn(
  { warmSessions, world }: Line,
  { route, session, model, parsed, cacheUse }: CheckedRequest,
  quantities: Quantities,
): void {
  if (!route?.prefer || !session || cacheUse?.hit) return
  const {
    cached_input_token: read = 0,
    cache_write_token: written = 0,
    cache_write_1h_token: writtenLong = 0,
  } = quantities
  const turn = {
    model,
    byteLength: parsed.byteLength,
    inputTokens: inputTokensOf(quantities),
    cacheTokens: read + written + writtenLong,
  }
  warmSessions.note(route.id, session.hash, turn, world.monotonic())
}

/** Compares the price that the vendor reports with our price list. */
function notePrice(
  drifts: PriceDrifts,
  { request: { parsed, model }, charge }: Reservation,
  outcome: Outcome,
  { quantities, source }: Measure,
): void {
  drifts.note({ request: charge.id, model, usageJson: outcome.usageJson }, () => {
    const { table, cost } = billOf(parsed, model, quantities, outcome)
    const costNano = cost ? tableNano(quantities, cost) : null
    return { priceNano: tableNano(quantities, table), costNano, usageSource: source, table }
  })
}

/** Logs vendors' figures that exceed what the request could use, and returns their name in the request log. */
function noteAboveQuote(
  { log }: RequestWorld,
  { request: { parsed, model, cacheUse }, charge }: Reservation,
  { quantities, source, reported = quantities }: Measure,
): typeof ABOVE_QUOTE | undefined {
  if (source !== 'upstream' || cacheUse?.hit) return undefined
  const above = aboveQuote(reported, parsed, model)
  if (!above) return undefined
  log('usage_above_quote', {
    request: charge.id,
    upstream: model.upstream.name,
    model: model.id,
    input_tokens: above.inputTokens,
    output_tokens: above.outputTokens,
    quoted_input_tokens: above.quotedInputTokens,
    quoted_output_tokens: above.quotedOutputTokens,
  })
  return ABOVE_QUOTE
}

/**
 * Ends the request of an answer that arrived whole, as `endAnswered` does. Throws 402 if it costs more than the account can pay:
 * then nothing of it may be delivered, and nothing is charged.
 */
export async function endWhole(
  line: Line,
  reservation: Reservation,
  outcome: Outcome,
  saved: SavedAnswer,
  known?: Measure,
): Promise<number> {
  const { world, reservations } = line
  const {
    request: { parsed, model },
    logRow,
    charge,
  } = reservation
  const measured = known ?? (await measure(outcome, parsed, model, world.tokenCounter))
  const refusal = measured && (await holdRest(world, reservation, outcome, measured))
  if (!refusal) return endAnswered(line, reservation, outcome, saved, measured)
  const { message: reason } = refusal
  world.log('answer_not_delivered', { request: charge.id, upstream: model.upstream.name, reason })
  logRow.endedBy = 'balance'
  reservation.failure = refusal
  await reservations.release(reservation, 'balance', outcome)
  throw refusal
}

/**
 * Ends the request of an answer that has begun. `close` writes its end with the charged usage, and returns what is saved of it.
 * Throws if the charge cannot be ended: the caller must not mistake the answer for a complete one.
 */
export async function endStream(
  line: Line,
  reservation: Reservation,
  outcome: Outcome,
  close: (usage: Quantities) => SavedAnswer,
): Promise<void> {
  const { world } = line
  const { parsed, model } = reservation.request
  try {
    noteUpstreamEnd(reservation.logRow, world.monotonic())
    const measured = await measure(outcome, parsed, model, world.tokenCounter)
    await endAnswered(line, reservation, outcome, close(measured?.quantities ?? {}), measured)
  } catch (error) {
    const { logRow, charge } = reservation
    line.responseCache.leave(reservation.request)
    line.world.log('charge_not_ended', { request: charge.id, error: String(error) })
    logRow.endedBy = outcome.endedBy
    logRow.heldNano = charge.heldNano
    noteFailure(logRow, error, 'internal_error')
    writeRow(line.world, logRow, 200)
    throw error
  }
}

/** Ends a request whose task continues: the charge stays open, and ends with the task. `status` is that of the answer. */
export function endHandedOver({ world, reservations }: Line, reservation: Reservation, status: number): void {
  const { logRow, charge } = reservation
  reservations.handOver(reservation)
  noteUpstreamEnd(logRow, world.monotonic())
  logRow.heldNano = charge.heldNano
  writeRow(world, logRow, status)
}

/** Ends a request that is answered by an earlier one with the same idempotency key, which was charged. */
export function endReplayed({ world }: Line, logRow: RequestLogRow, { status }: SavedAnswer): void {
  logRow.amountNano = 0
  writeRow(world, logRow, status)
}

/**
 * Ends a request without an answer by releasing its hold. Returns the error for the caller, which is a different one if the release
 * fails too.
 */
export async function endFailed(
  { world, reservations }: Line,
  logRow: RequestLogRow,
  reservation: Reservation | undefined,
  error: unknown,
): Promise<unknown> {
  let shown = error
  noteUpstreamEnd(logRow, world.monotonic())
  if (reservation) logRow.heldNano = reservation.charge.heldNano
  reservation?.cancelToken.abort(error)
  if (reservation && !reservation.isEnded) {
    const endedBy = endedByOf(error)
    logRow.endedBy = endedBy
    const known = knownError(error)
    if (known instanceof GatewayError) reservation.failure = known
    try {
      await reservations.release(reservation, endedBy)
    } catch (fault) {
      shown = fault
    }
  }
  shown = knownError(shown)
  if (shown instanceof GatewayError) noteRefusal(logRow, shown)
  noteFailure(logRow, shown)
  writeRow(world, logRow, shown instanceof GatewayError ? shown.status : 500)
  return shown
}

function writeRow({ requestLog, monotonic }: RequestWorld, logRow: RequestLogRow, status: number): void {
  logRow.status = status
  logRow.durationMs = monotonic() - logRow.startedAt
  // A whole answer counts as begun when it is complete.
  if (status < 400) logRow.firstByteMs ??= logRow.durationMs
  requestLog.write(logRow)
}
