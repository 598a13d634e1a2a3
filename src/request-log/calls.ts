// The calls of a request to vendors and how each ended: the one rule for failure rates of upstreams and models. A request that was
// never sent to a vendor must not count for it.

import type { RequestLogRow } from './row'

/** `cut`: ended by its caller, which disconnected, or by the gateway; this says nothing about the vendor. */
export type CallOutcome = 'answered' | 'refused' | 'busy' | 'failed' | 'cut'

export interface UpstreamCall {
  model: string
  upstream: string
  outcome: CallOutcome
}

const NONE: readonly UpstreamCall[] = []

/** The calls that failed before the last one, whether a route or another key succeeded or not. */
export function earlierCalls({ attempts }: RequestLogRow): readonly UpstreamCall[] {
  if (attempts === null) return NONE
  return attempts
    .filter(({ failedBy }) => failedBy === undefined || failedBy === 'vendor')
    .map(({ model, upstream, status }) => ({ model, upstream, outcome: outcomeOfStatus(status) }))
}

/** How the last call ended; undefined if the upstream of the row was not called. */
export function lastOutcome({ isSent, failedBy, status }: RequestLogRow): CallOutcome | undefined {
  if (!isSent) return undefined
  if (failedBy === null) return 'answered'
  if (failedBy !== 'vendor') return 'cut'
  // A stream that stopped early had begun with 200.
  return status < 400 ? 'failed' : outcomeOfStatus(status)
}

/** Whether a call counts as a failure of its upstream and model. */
export function isFailure(outcome: CallOutcome): boolean {
  return outcome !== 'answered' && outcome !== 'cut'
}

function outcomeOfStatus(status: number): CallOutcome {
  // An answer that a route rejected.
  if (status < 400) return 'answered'
  if (status === 429) return 'busy'
  return status < 500 ? 'refused' : 'failed'
}
