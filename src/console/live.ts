// News from the gateway through one stream of events, open only while a page that needs it is visible. An event says that something
// has happened; the page then calls the API again, so that every row on the screen is one that the API returned.

import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { session, urlOf } from './api'

type LiveEvent = 'overview' | 'request' | 'task'

/** How many events of a kind have arrived: whatever depends on it is requested again. */
const counts = { overview: signal(0), request: signal(0), task: signal(0) }
/** Events within this time are merged, in milliseconds. */
const GATHER_MS = 500

const watchers = signal(0)
const isSeen = signal(!document.hidden)
document.addEventListener('visibilitychange', () => {
  isSeen.value = !document.hidden
})

/** Whether events were missed while the page was hidden. */
let hasMissed = false

effect(() => {
  if (watchers.value === 0 || !isSeen.value || !session.value) {
    hasMissed = !isSeen.value
    return
  }
  const source = new EventSource(urlOf('console/live'))
  const timers = new Map<LiveEvent, ReturnType<typeof setTimeout>>()
  const kinds = Object.keys(counts) as LiveEvent[]
  const happened = (kind: LiveEvent) => {
    if (timers.has(kind)) return
    const notify = () => {
      timers.delete(kind)
      counts[kind].value++
    }
    timers.set(kind, setTimeout(notify, GATHER_MS))
  }
  if (hasMissed) kinds.forEach(happened)
  hasMissed = false
  // A stream begins with the current figures, which the page has just requested.
  source.addEventListener('overview', () => source.addEventListener('overview', () => happened('overview')), {
    once: true,
  })
  for (const kind of ['request', 'task'] as const) source.addEventListener(kind, () => happened(kind))
  // The browser was too slow for some events: anything may have happened.
  source.addEventListener('missed', () => kinds.forEach(happened))
  return () => {
    source.close()
    for (const timer of timers.values()) clearTimeout(timer)
  }
})

/** A number that grows with each event of a kind; it does not change while `isOn` is false. */
export function useLive(kind: LiveEvent, isOn = true): number {
  useEffect(() => {
    if (!isOn) return
    watchers.value = watchers.peek() + 1
    return () => {
      watchers.value = watchers.peek() - 1
    }
  }, [isOn])
  return isOn ? counts[kind].value : counts[kind].peek()
}
