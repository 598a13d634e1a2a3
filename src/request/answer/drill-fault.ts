// The fault of a drill, before a call or in its answer: the caller sees the same as with a failing vendor. It must never count as a
// failure of the vendor: its circuit breaker and its keys ignore it.

import { garbage } from '../../contract/failures'
import type { Model } from '../../contract/family'
import { HttpBody, HttpResponse } from '../../http-client/response'
import { GatewayError } from '../../lib/errors'
import { refusedByUpstream } from '../../upstreams/caller-errors'
import type { Reservation } from '../reservation'
import type { RequestWorld } from '../world'
import type { DrillFault } from './drills'

/** Bytes of an answer that arrive before a drill cuts it off: some events of a stream. */
const CUT_AFTER_BYTES = 1_000

/** Lets a call proceed, after a delay if the drill requires it. Throws the error of the fault. */
export async function meetFault(
  { after }: Pick<RequestWorld, 'after'>,
  { request: { model }, cancelToken: { signal } }: Reservation,
  fault: DrillFault,
): Promise<void> {
  switch (fault.kind) {
    case 'status': {
      const vendor = { code: null, type: null, param: null, message: 'a drill', whose: 'caller' } as const
      throw ofDrill(refusedByUpstream(model.upstream.name, fault.status, vendor))
    }
    case 'delay':
      return untilCut(signal, (go) => after(fault.delayMs, go))
    case 'hang':
      return untilCut(signal, () => () => {})
    case 'cut':
      return
  }
}

/** The answer to a call, cut off as if the connection to the vendor had ended. */
export function cutShort(response: HttpResponse, model: Model): HttpResponse {
  const { status, body } = response
  let left = CUT_AFTER_BYTES
  const short = new HttpBody({
    pause: () => body.pause(),
    resume: () => body.resume(),
    cancel: () => body.cancel(),
  })
  const cut = () => {
    short.fail(Object.assign(garbage(model, 'cut off'), { isOperators: true }))
    body.cancel()
  }
  body.start({
    data(bytes) {
      short.push(bytes.subarray(0, left))
      left -= bytes.length
      if (left <= 0) cut()
    },
    end: cut,
    fail: cut,
  })
  return new HttpResponse({ status, get: (name) => response.header(name) }, short)
}

/** Waits until `begin` calls back. Throws if the request is cut off before, such as at its time limit. */
function untilCut(
  signal: Reservation['cancelToken']['signal'],
  begin: (go: () => void) => () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const cut = () => {
      stop()
      reject(signal.reason instanceof GatewayError ? ofDrill(signal.reason) : signal.reason)
    }
    const stop = begin(() => {
      signal.removeEventListener('abort', cut)
      resolve()
    })
    signal.addEventListener('abort', cut)
    if (signal.aborted) cut()
  })
}

/** The error of a drill: nothing was sent. */
function ofDrill(error: GatewayError): GatewayError {
  return Object.assign(error, { isOperators: true, notTaken: true })
}
