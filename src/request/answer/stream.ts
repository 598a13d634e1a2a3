// Answers with a stream of events, which ends by itself. It must be settled before its last byte, in the one place
// where all requests end.

import { MAX_SAVED_LENGTH } from '../../billing/ledger/idempotency'
import { rateHeadersOf } from '../../billing/ledger/limits'
import { type Outcome, plausible, type ReportedUsage, sumOutcomes } from '../../billing/ledger/metering'
import { cutError, databaseDown, type EndedBy, endsAtHold } from '../../contract/failures'
import { streamOf, type Translator } from '../../contract/family'
import type { HttpBody } from '../../http-client/response'
import { keptAnswer } from '../../kept-responses/content'
import { errorBody, type GatewayError } from '../../lib/errors'
import { fromLatin1, KEEP_ALIVE } from '../../lib/sse'
import { noteFailure } from '../../request-log/failure'
import { isSaved } from '../cache/cache-rules'
import { endStream, type Line } from '../ending'
import type { Reservation } from '../reservation'
import { createStreamHold, type StreamHold } from '../stream/hold'
import { createStreamMeter, type StreamMeter } from '../stream/meter'
import { relayEvents } from '../stream/relay'
import { createTranslatingMeter } from '../stream/translation'
import type { StreamAnswer } from './answer'
import { receiptOf, withReceipt } from './receipt'

/** Sent during silence if clients know a keep-alive event. */
const PING = 'event: ping\ndata: {"type":"ping"}\n\n'

/**
 * Answers with a stream. `done` is called when the stream has ended. `candidates` is how many streams of a vendor are
 * in the source.
 */
export async function answerStream(
  line: Line,
  reservation: Reservation,
  source: HttpBody,
  done: () => void,
  candidates = 1,
): Promise<StreamAnswer> {
  const { world, reservations } = line
  const {
    request: { family, model },
    logRow,
  } = reservation
  // From here on, the stream checks its own deadlines.
  reservation.deadlineAt = Number.POSITIVE_INFINITY
  const rates = await rateHeadersOf(world.db, reservation.request.key, world.now())
  const { capture, captured } = captureOf(line, reservation)
  const hold = createStreamHold(world, reservation)
  const translator = translatorOf(reservation)
  // Made once, because the operator's part of the error is logged.
  let reported: GatewayError | undefined
  const errorOf = (event: object) => (reported ??= model.upstream.errorOf(400, event))
  const meter = meterOf(reservation, translator, { candidates, hold, errorOf })
  const silence = family.dialect === 'messages' ? PING : KEEP_ALIVE
  const body = relayEvents(source, {
    model,
    meter,
    hold,
    keepAlive: () => translator?.keepAlive?.() ?? silence,
    drain: model.upstream.onAbort === 'drain' || reservation.idempotencyKey !== null,
    startedAt: logRow.startedAt,
    backlog: world.backlog,
    ticker: world.ticker,
    monotonic: world.monotonic,
    after: world.after,
    abort: () => reservation.cancelToken.abort(),
    whyCut: () => (reservations.isDraining ? 'shutdown' : 'upstream'),
    errorEvent: (endedBy) => errorEvent(cutError(endedBy), reservation, translator),
    ...(capture && { capture }),
    async finish(outcome) {
      done()
      const failure = meter.failure()
      if (failure) noteFailure(logRow, errorOf(failure), codeOfFailure(errorOf(failure)))
      else if (outcome.endedBy === 'database') noteFailure(logRow, databaseDown())
      await hold?.whenNoted()
      return settled(line, reservation, outcome, { meter, translator, capture, captured })
    },
  })
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // Proxies such as nginx would otherwise buffer the stream.
    'x-accel-buffering': 'no',
    ...rates,
  }
  return { kind: 'stream', body, headers }
}

interface StreamParts extends ReturnType<typeof captureOf> {
  meter: StreamMeter
  translator: Translator | undefined
}

/** Settles a stream that has ended. Returns its closing events. */
async function settled(
  line: Line,
  reservation: Reservation,
  outcome: Outcome,
  { meter, translator, capture, captured }: StreamParts,
): Promise<Uint8Array | undefined> {
  const { toKeep, background } = reservation.request
  const { endedBy } = outcome
  const failure = meter.failure()
  let closing: Uint8Array | undefined
  await endStream(line, reservation, outcome, (usage) => {
    closing = endsAtHold(endedBy) ? meter.cut(usage) : meter.finish(usage)
    capture?.(closing)
    const answer = translator?.answer?.()
    if (toKeep && answer) toKeep.answer = keptAnswer(answer)
    if (background && isExplained(endedBy, failure))
      capture?.(Buffer.from(errorEvent(cutError(endedBy), reservation, translator)))
    return { status: 200, contentType: 'text/event-stream', body: fromLatin1(captured()) }
  })
  const receipt = await receiptOf(line.world, reservation)
  return receipt === undefined || background ? closing : withReceipt(closing, receipt)
}

/** Receives the sent bytes: for a repeat with the same key, for the cache, or for readers of a background response. */
function captureOf({ world }: Line, reservation: Reservation) {
  const { background, toKeep } = reservation.request
  let text = ''
  const keep = (bytes: Uint8Array) => {
    if (text.length <= MAX_SAVED_LENGTH) text += Buffer.from(bytes).toString('latin1')
  }
  const id = background && toKeep?.id
  const note = id === undefined ? undefined : (bytes: Uint8Array) => world.backgroundResponses.take(id, bytes)
  return { capture: isSaved(reservation) ? keep : note, captured: () => text }
}

/** Whether a background response ends with an event that says why. That of a stream is sent after its settlement. */
function isExplained(endedBy: EndedBy, failure: object | undefined): boolean {
  return !failure && (endedBy === 'upstream' || endedBy === 'timeout' || endedBy === 'shutdown')
}

function translatorOf({ request: { family, parsed, model } }: Reservation): Translator | undefined {
  return family.kind === 'made' ? family.stream?.translate(parsed, model) : undefined
}

/**
 * The code of an error that a vendor reports in a stream. The vendor had accepted the request: an error without a code is its own
 * failure.
 */
function codeOfFailure({ code }: GatewayError): string {
  return code === 'upstream_refused' || code === 'upstream_empty' ? 'upstream_error' : code
}

interface MeterParts {
  /** Streams of the vendor in the source. */
  candidates: number
  hold: StreamHold | undefined
  /** The caller's error for an event in which the vendor reports one. */
  errorOf(event: object): GatewayError
}

function meterOf(
  reservation: Reservation,
  translator: Translator | undefined,
  { candidates, hold, errorOf }: MeterParts,
): StreamMeter {
  const { family, parsed, model } = reservation.request
  const options = {
    model,
    hold,
    follower: family.kind === 'json' ? family.stream?.follow?.(parsed, model) : undefined,
    hideUsage: streamOf(family)?.showsUsage(parsed.body) !== true,
    judge: (usage: ReportedUsage) => plausible(usage, parsed, model),
    translateError: (json: object) => errorEvent(errorOf(json), reservation, translator),
  }
  if (!translator) return createStreamMeter(options)
  const total = (outcomes: readonly Outcome[]) => sumOutcomes(outcomes, parsed, model)
  return createTranslatingMeter(options, translator, { count: candidates, total })
}

function errorEvent(
  error: GatewayError,
  { request: { family }, logRow }: Reservation,
  translator?: Translator,
): string {
  if (translator?.fail) return translator.fail(error)
  const data = JSON.stringify(errorBody(error, family.dialect, logRow.id))
  return family.dialect === 'messages' ? `event: error\ndata: ${data}\n\n` : `data: ${data}\n\n`
}
