// What was tried in the playground, in this browser alone, for each key apart. Pictures and answers are not kept.

import type { Kind, Values } from './playground-request'

export interface Tried {
  kind: Kind
  model: string
  values: Values
  costUsd: string | null
  at: string
}

const MOST = 20

const placeOf = (owner: string) => `gateway-playground ${owner}`

export function historyOf(owner: string): readonly Tried[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(placeOf(owner)) ?? '[]')
    return Array.isArray(kept) ? (kept as Tried[]) : []
  } catch {
    return []
  }
}

export function addToHistory(owner: string, tried: Tried): readonly Tried[] {
  const all = [tried, ...historyOf(owner)].slice(0, MOST)
  try {
    localStorage.setItem(placeOf(owner), JSON.stringify(all))
  } catch {
    // The browser keeps no more: the list lasts as long as the page.
  }
  return all
}

export function clearHistory(owner: string): readonly Tried[] {
  localStorage.removeItem(placeOf(owner))
  return []
}
