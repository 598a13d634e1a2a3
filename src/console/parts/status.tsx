// The state of an item: a word with a sign next to it, because colour must never be the only sign.

import { texts } from '../texts'
import { Icon, type IconName } from './icon'

const TONES: Record<string, readonly [tone: string, icon: IconName]> = {
  good: ['good', 'good'],
  bad: ['bad', 'bad'],
  warning: ['warning', 'warning'],
  waiting: ['waiting', 'wait'],
  paused: ['waiting', 'pause'],
  none: ['waiting', 'bad'],
}

/** How each state of the server is displayed. */
const STATES: Readonly<Record<string, keyof typeof TONES>> = {
  open: 'good',
  active: 'good',
  ready: 'good',
  delivered: 'good',
  succeeded: 'good',
  settled: 'good',
  redeemed: 'good',
  closed: 'bad',
  revoked: 'bad',
  failed: 'bad',
  down: 'bad',
  unavailable: 'bad',
  frozen: 'paused',
  paused: 'paused',
  expired: 'warning',
  ending: 'warning',
  unknown: 'warning',
  slow: 'warning',
  submitted: 'waiting',
  pending: 'waiting',
  held: 'waiting',
  released: 'none',
}

export function Status({ state, children }: { state: string; children?: string }) {
  const [tone, icon] = TONES[STATES[state] ?? 'waiting'] ?? ['waiting', 'wait']
  return (
    <span class={`status ${tone}`}>
      <Icon name={icon} /> {children ?? texts.states[state] ?? state}
    </span>
  )
}

/** The status of an answer over HTTP. A status of success with an error code is a failure too. */
export function HttpStatus({ status, error = null }: { status: number | null; error?: string | null }) {
  if (status === null) return <span class="quiet">–</span>
  const hasFailed = status >= 400 || error !== null
  const isCallers = status >= 400 && status < 500
  const tone = isCallers ? 'warning' : hasFailed ? 'bad' : 'good'
  return (
    <span class={`status ${tone}`}>
      <Icon name={hasFailed ? 'bad' : 'good'} /> {status}
    </span>
  )
}

/** How long before retirement a model is marked, in milliseconds. */
const MARKED_MS = 30 * 24 * 60 * 60 * 1_000

/** The day on which its vendor retires a model, such as `2026-12-11`, with a sign if that is soon or past. */
export function ModelEnd({ day }: { day: string }) {
  const isSoon = Date.parse(day) - Date.now() < MARKED_MS
  return isSoon ? <Status state="ending">{day}</Status> : <span>{day}</span>
}
