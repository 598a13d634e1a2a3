// Views that were saved in this browser: pages with their filters and range, by names, for each user. Saving stores the address,
// and never the displayed data.

import { signal } from '@preact/signals'
import { address } from './address'
import { session } from './api'

export interface SavedView {
  name: string
  /** The address of the page, with the name of the view in it. */
  href: string
}

const KEPT_AS = 'gateway-console-views'
/** Maximum number of stored views per user. */
const MOST = 50

/** Increases with each change of the stored views. */
const turns = signal(0)

/** The saved views, ordered by name. */
export function savedViews(): SavedView[] {
  turns.value
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keptAs()) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isView) : []
  } catch {
    return []
  }
}

/** Saves the current page; a view with the same name is replaced. Returns its address. */
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
    // A browser that stores nothing has no views.
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
