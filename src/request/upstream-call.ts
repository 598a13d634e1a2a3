// Makes one call to the vendor of a reservation: its body, its time limit, and its cancellation. It must never outlive the
// reservation's deadline.

import { withVendorFields, withVendorNames } from '../catalogue/operator-fields'
import { callerLeft, garbage, holdExpired, timedOut } from '../contract/failures'
import type { Call, Model } from '../contract/family'
import type { CallBody, Upstream } from '../contract/upstream'
import { GatewayError } from '../lib/errors'
import { editObject } from '../lib/json/json'
import { type TraceContext, traceHeaders } from '../lib/trace-context'
import { failedByOf } from '../request-log/failure'
import { noteFailedAttempt, noteNotSent, noteSent } from '../request-log/row'
import { encodeForm } from '../upstreams/multipart'
import { requestIdOf } from '../upstreams/request-id'
import { cutShort, meetFault } from './answer/drill-fault'
import type { CheckedRequest } from './check'
import type { Reservation } from './reservation'
import type { RequestWorld } from './world'

type Sent = Awaited<ReturnType<Upstream['send']>>

/** Sends a call, with a time limit until the answer has been read or a stream has begun. */
export async function send(
  world: Pick<RequestWorld, 'monotonic' | 'newId' | 'after' | 'drills'>,
  reservation: Reservation,
  call: Call,
): Promise<Sent> {
  const {
    request: { model, session },
    cancelToken,
    logRow,
    charge,
  } = reservation
  const { upstream } = model
  const at = world.monotonic()
  const endsAt = logRow.startedAt + upstream.maxDurationMs
  const tooLate = () => (logRow.sentMs === null ? holdExpired() : timedOut(model))
  if (at >= endsAt) throw Object.assign(tooLate(), { notTaken: true })
  // A process that was suspended may find its hold expired, and released by others.
  cancelToken.tooLate = () => (world.monotonic() >= endsAt ? holdExpired() : undefined)
  reservation.deadlineAt = Math.min(at + upstream.timeoutMs, endsAt)
  const adapted = traced(upstream.adapt(call, model.upstreamModel), logRow.trace)
  noteSent(logRow, at)
  try {
    const fault = world.drills.faultFor(upstream.name, charge.keyId, charge.id)
    const met = fault && (await fault)
    if (met) await meetFault(world, reservation, met)
    const sent = await upstream.send(
      adapted,
      bodyOf(world, reservation, adapted),
      cancelToken.signal,
      { account: charge.account, session: session?.hash },
      (error) => {
        const now = world.monotonic()
        noteFailedAttempt(logRow, error, now)
        noteSent(logRow, now)
      },
    )
    logRow.upstreamRequestId = requestIdOf(sent.response)
    logRow.upstreamKey = sent.keyNumber
    logRow.restingKeys = sent.restingKeys
    return met?.kind === 'cut' ? { ...sent, response: cutShort(sent.response, model) } : sent
  } catch (error) {
    const known = error instanceof GatewayError ? error : undefined
    if (known) {
      logRow.upstreamRequestId = known.upstreamRequestId
      logRow.upstreamKey = known.upstreamKey
    }
    // A caller disconnects from a call that the vendor has; any internal error of ours comes before it.
    if (failedByOf(error) !== 'vendor' && known?.code !== 'caller_left') noteNotSent(logRow)
    throw error
  }
}

/** The call as part of the trace of its request. */
function traced(call: Call, trace: TraceContext | null): Call {
  return trace === null ? call : { ...call, headers: { ...call.headers, ...traceHeaders(trace) } }
}

function bodyOf({ newId }: Pick<RequestWorld, 'newId'>, { request }: Reservation, call: Call): CallBody {
  const body = vendorBodyOf(request, call)
  return body !== null && 'form' in body ? encodeForm(body.form, newId('form')) : textOf(request, body)
}

/** The body of a call as it is sent; null for a call without a body, undefined for a form. */
export function textBodyOf(request: BodySource, call: Call): string | null | undefined {
  const body = vendorBodyOf(request, call)
  return body !== null && 'form' in body ? undefined : textOf(request, body)
}

type BodySource = Pick<CheckedRequest, 'source' | 'model'>

function vendorBodyOf({ source, model }: BodySource, call: Call): Call['body'] {
  const names = model.upstream.namesOfFields(call.protocol)
  return withVendorNames(withVendorFields(call.body, model, source), names, source)
}

function textOf({ source }: BodySource, body: Exclude<Call['body'], { form: unknown }>): string | null {
  if (body === null) return null
  if ('json' in body) return JSON.stringify(body.json)
  if (!source) throw new Error('there is no text to edit')
  return editObject(source.text, source.scanned, body.edit)
}

/**
 * Cuts off the call to the vendor when the caller of a stream disconnects before it begins, until the returned function is called.
 */
export function cutWhenCallerLeaves(reservation: Reservation, caller: { signal(): AbortSignal }): () => void {
  if (reservation.request.model.upstream.onAbort === 'drain' || reservation.idempotencyKey) return () => {}
  const signal = caller.signal()
  const leave = () => reservation.cancelToken.abort(callerLeft())
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  return () => signal.removeEventListener('abort', leave)
}

/** Reads with a family. Vendors send anything: if a family cannot read it, that is the vendor's fault, not ours. */
export function readUpstream<Result>(model: Model, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    // The family's own error for the caller, for example that the vendor withheld everything.
    if (error instanceof GatewayError) {
      error.vendorStatus ??= 200
      throw error
    }
    throw garbage(model, 'not of the expected form', error)
  }
}
