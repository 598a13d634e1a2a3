// Views that were saved in this browser: pages with their filters and range, by names, for each user. Saving keeps the
// address and never what it shows.

import { signal } from '@preact/signals'
import { address } from './address'
import { session } from './api'

export interface SavedView {
  name: string
  /** The address of the page, with the name of the view in it. */
  href: string
}

const KEPT_AS = 'gateway-console-views'
/** Views that are kept at most for one person. */
const MOST = 50

/** Grows with each change of what is kept. */
const turns = signal(0)

/** The saved views in the order of their names. */
export function savedViews(): SavedView[] {
  turns.value
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keptAs()) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isView) : []
  } catch {
    return []
  }
}

/** Saves the page as it is shown; a view of the same name is replaced. Returns its address. */
export function saveView(name: string): string {
  const { page, query } = address.value
  const href = `#/${page}?${new URLSearchParams({ ...query, view: name })}`
  keep([...savedViews().filter((view) => view.name !== name), { name, href }])
  return href
}

export function removeView(name: string): void {
  keep(savedViews().filter((view) => view.name !== name))
}

function keep(views: readonly SavedView[]): void {
  const sorted = views.toSorted((one, two) => one.name.localeCompare(two.name)).slice(0, MOST)
  try {
    localStorage.setItem(keptAs(), JSON.stringify(sorted))
  } catch {
    // A browser that keeps nothing has no views.
  }
  turns.value++
}

function keptAs(): string {
  return `${KEPT_AS} ${session.value?.kind} ${session.value?.name}`
}

function isView(value: unknown): value is SavedView {
  const { name, href } = (value ?? {}) as Partial<Record<keyof SavedView, unknown>>
  return typeof name === 'string' && typeof href === 'string' && href.startsWith('#/')
}
