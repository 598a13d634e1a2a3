// The address of the page, which contains the whole state: the page, the open row, filters and the time range. All of it is in the
// fragment, so that a proxy's path does not matter and nothing of it reaches a log. Pages read `address.value`, make links with
// `hrefOf`, and change filters with `setQuery`. State that a colleague who gets the URL should see must never be kept elsewhere.

import { computed, signal } from '@preact/signals'

export interface Address {
  /** The page by its name: `requests`. */
  page: string
  /** The open row; null if no row is open. */
  id: string | null
  query: Readonly<Record<string, string>>
}

export const FIRST_PAGE = 'overview'
/** Query parameters that are carried over to the next page. */
const KEPT = ['range', 'since', 'until', 'compare']

export const address = signal<Address>(read())
/** The current address of the browser. */
let shown = location.hash
addEventListener('hashchange', () => {
  const wanted = location.hash
  // Back, Forward or a typed address: the browser has already followed it.
  if (wanted !== shown && isHeld(() => go(wanted))) return history.pushState(null, '', shown || '#')
  show()
})

/** Shows the page of the address that the browser has. */
function show(): void {
  shown = location.hash
  address.value = read()
}

type LeaveGuard = (goOn: () => void) => boolean
let leaveGuard: LeaveGuard | null = null

/**
 * Sets the guard that is called before the page is left: it returns whether the page stays, and later calls the function that
 * continues.
 */
export function guardLeaving(guard: LeaveGuard | null): void {
  leaveGuard = guard
}

/** Whether something must be confirmed first; `goOn` is called once that is answered. */
function isHeld(goOn: () => void): boolean {
  return leaveGuard?.(goOn) ?? false
}

/** Runs an action that ends the current page, such as signing out, once nothing on it would be lost. */
export function leaveTo(end: () => void): void {
  if (!isHeld(end)) end()
}

function read(): Address {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  const [page = '', ...rest] = path.split('/')
  return {
    page: page || FIRST_PAGE,
    id: rest.length > 0 ? decoded(rest.join('/')) : null,
    query: Object.fromEntries(new URLSearchParams(search)),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The address of a page with these filters, in the current time range. */
export function hrefOf(page: string, query: Query = {}, id: string | null = null): string {
  const kept = Object.fromEntries(
    KEPT.flatMap((name) => (address.value.query[name] ? [[name, address.value.query[name]]] : [])),
  )
  return hashOf(page, { ...kept, ...query }, id)
}

/** The address of a row of the current page, with its filters. */
export function hrefOfRow(id: string | null): string {
  const { page, query } = address.value
  return hashOf(page, query, id)
}

type Query = Readonly<Record<string, string | null | undefined>>

function hashOf(page: string, query: Query, id: string | null): string {
  const set = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const search = new URLSearchParams(set).toString()
  return `#/${page}${id === null ? '' : `/${encodeURIComponent(id)}`}${search && `?${search}`}`
}

export function go(href: string): void {
  if (href !== location.hash && isHeld(() => go(href))) return
  location.hash = href
  shown = location.hash
}

/** Changes filters of the current page; null removes one. Each change is a step that Back undoes. */
export function setQuery(changes: Query): void {
  const { page, id, query } = address.value
  // A changed view is no longer the saved one.
  const hash = hashOf(page, { ...query, view: null, ...changes }, id)
  if (hash === hashOf(page, { ...query, view: null }, id) || isHeld(() => setQuery(changes))) return
  history.pushState(null, '', hash)
  show()
}

const HOUR_MS = 3_600_000
/** Time ranges by name, in milliseconds. */
export const RANGES: Readonly<Record<string, number>> = {
  '1h': HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
  '90d': 90 * 24 * HOUR_MS,
}
export const DEFAULT_RANGE = '24h'
/** The step of the clock for a range up to now, so that figures are not requested all the time. */
const STEP_MS = 60_000
/** Moves the range on: set by the frame while the page is visible. */
export const clock = signal(Date.now())

/** The time range of all figures. `until` is null if the range ends now. */
export const period = computed<{ since: string; until: string | null; word: string | null }>(() => {
  const { range, since, until } = address.value.query
  if (since) return { since, until: until ?? null, word: null }
  const word = range && range in RANGES ? range : DEFAULT_RANGE
  const now = Math.floor(clock.value / STEP_MS) * STEP_MS
  return { since: new Date(now - (RANGES[word] ?? 0)).toISOString(), until: null, word }
})

/** The range as filters of a list. */
export function periodQuery(): { since: string; until?: string } {
  const { since, until } = period.value
  return until === null ? { since } : { since, until }
}
