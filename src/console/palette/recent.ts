// Recently opened items of the palette in this browser, for each user. It stores addresses of pages and never a secret.

import { session } from '../api'
import type { Command } from './commands'

const KEPT_AS = 'gateway-console-recent'
const MOST = 6

/** The last first. */
export function recent(): Command[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keptAs()) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isCommand) : []
  } catch {
    return []
  }
}

export function remember({ title, kind, href }: Command): void {
  if (href === undefined) return
  const others = recent().filter((each) => each.href !== href)
  try {
    localStorage.setItem(keptAs(), JSON.stringify([{ title, kind, href }, ...others].slice(0, MOST)))
  } catch {
    // A browser that stores nothing offers nothing.
  }
}

function keptAs(): string {
  return `${KEPT_AS} ${session.value?.kind} ${session.value?.name}`
}

function isCommand(value: unknown): value is Command {
  const { title, kind, href } = (value ?? {}) as Partial<Record<keyof Command, unknown>>
  return (
    typeof title === 'string' && typeof kind === 'string' && typeof href === 'string' && href.startsWith('#/')
  )
}
