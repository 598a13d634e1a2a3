// The state of an upstream: its circuit breaker, and the drills that make it fail for named keys.

import { call, hasRole } from '../api'
import { useQuery } from '../query'
import { texts } from '../texts'
import { Action } from './form'
import { Status } from './status'

const words = texts.upstreams
/** The newest drills, which include the running ones. */
const MAX_DRILLS = 50

/** The state of an upstream: without a key, resting after failures, or ready. */
export function UpstreamState({ breaker }: { breaker: string | null | undefined }) {
  const word = breaker ?? 'none'
  const state = word === 'none' ? 'unavailable' : word === 'closed' ? 'ready' : 'down'
  return <Status state={state}>{texts.upstreams.states[word] ?? ''}</Status>
}

/** The running drills, of one upstream or of all, with a button that ends each. Nothing if none runs. */
export function RunningDrills({ upstream }: { upstream?: string }) {
  const load = useQuery(
    ['drills'],
    async (signal) => (await call('listDrills', { query: { limit: MAX_DRILLS }, signal })).data,
  )
  const running = (load.data ?? []).filter(
    (drill) => drill.state === 'running' && (upstream === undefined || drill.upstream === upstream),
  )
  if (running.length === 0) return null
  return (
    <section class="part" aria-label={words.drills}>
      {running.map(({ id, upstream: name, fault, keys, share_percent: percent, ends_at: ends }) => (
        <p key={id} class="actions">
          <Status state="slow">
            {words.drill(name, faultText(fault), percent, words.drillKeys(keys.length), ends.slice(11, 16))}
          </Status>
          {hasRole('operator') && (
            <Action title={words.stopDrill} act={() => call('stopDrill', { params: { drill: id } })} />
          )}
        </p>
      ))}
    </section>
  )
}

function faultText(fault: object): string {
  const { kind, status } = fault as { kind: string; status?: number }
  return status === undefined ? kind : `${kind} ${status}`
}
