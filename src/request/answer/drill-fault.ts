// The fault of a drill in front of a call: the caller meets what a failing vendor would make, and the vendor is not asked. It must never
// count as a failure of the vendor: its breaker, its keys and its figures know nothing of it.

import { GatewayError } from '../../lib/errors'
import { refusedByUpstream } from '../../upstreams/caller-errors'
import type { Reservation } from '../reservation'
import type { RequestWorld } from '../world'
import type { DrillFault } from './drills'

/** Lets a call go on, later if the drill wants so. Throws the error of the fault. */
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
  }
}

/** Waits until `begin` calls back. Throws if the request is cut before, as at its time limit. */
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
  return Object.assign(error, { isDrill: true, notTaken: true })
}
