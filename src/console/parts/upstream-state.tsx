// The state of an upstream by its breaker.

import { texts } from '../texts'
import { Status } from './status'

/** How an upstream stands: without a key, left alone after failures, or ready. */
export function UpstreamState({ breaker }: { breaker: string | null | undefined }) {
  const word = breaker ?? 'none'
  const state = word === 'none' ? 'unavailable' : word === 'closed' ? 'ready' : 'down'
  return <Status state={state}>{texts.upstreams.states[word] ?? ''}</Status>
}
