// The time zone of the console: that of the browser, or UTC, as chosen in this browser. Every time and day is formatted here, so
// that no two times of a page are in different zones. The server sums by days in UTC, which pages state next to the figures.

import { effect, signal } from '@preact/signals'
import { language } from './language'

export const ZONES = ['local', 'utc'] as const
export type Zone = (typeof ZONES)[number]

const KEPT_AS = 'gateway-console-zone'

export const zone = signal<Zone>(kept())

effect(() => {
  try {
    localStorage.setItem(KEPT_AS, zone.value)
  } catch {
    // A browser that stores nothing uses its own zone the next time.
  }
})

function kept(): Zone {
  try {
    return ZONES.find((word) => word === localStorage.getItem(KEPT_AS)) ?? 'local'
  } catch {
    return 'local'
  }
}

/** Formats times in the zone that is chosen at that moment. */
export function timeFormat(options: Intl.DateTimeFormatOptions): { format(at: Date): string } {
  const formats: Partial<Record<Zone, Intl.DateTimeFormat>> = {}
  return {
    format(at) {
      const chosen = zone.value
      formats[chosen] ??= new Intl.DateTimeFormat(language, {
        ...options,
        ...(chosen === 'utc' && { timeZone: 'UTC' }),
      })
      return formats[chosen].format(at)
    },
  }
}

const shortTime = timeFormat({
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const longTime = timeFormat({ dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' })
const day = timeFormat({ day: 'numeric', month: 'short' })
const utcDay = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const timeOfDay = timeFormat({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

/** A day and a time to the minute. */
export const shortTimeText = (at: Date): string => shortTime.format(at)
/** A day of a year and a time to the minute. */
export const longTimeText = (at: Date): string => longTime.format(at)

/** The label of a span by its beginning, in milliseconds: a day in UTC, as in sums by day, or an hour with its day. */
export function spanText(from: number, lengthMs: number): string {
  const at = new Date(from)
  if (lengthMs >= 86_400_000) return utcDay.format(at)
  return `${day.format(at)} ${timeOfDay.format(at)}–${timeOfDay.format(new Date(from + lengthMs))}`
}

/** The name of the current zone: `Europe/Berlin`, or `UTC`. */
export function zoneName(): string {
  return zone.value === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** The short name of the zone at a time: `GMT+2`. */
export function shortZoneName(at: Date): string {
  const parts = new Intl.DateTimeFormat(language, {
    timeZoneName: 'short',
    ...(zone.value === 'utc' && { timeZone: 'UTC' }),
  }).formatToParts(at)
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC'
}

/** A date whose local fields show a time in the chosen zone. */
export function inZone(at: Date): Date {
  return zone.value === 'utc' ? new Date(at.getTime() + at.getTimezoneOffset() * 60_000) : at
}

/** A time in the form of a browser field: to the minute, in the current zone. */
export function fieldText(at: Date): string {
  const offsetMs = zone.value === 'utc' ? 0 : at.getTimezoneOffset() * 60_000
  return new Date(at.getTime() - offsetMs).toISOString().slice(0, 16)
}

/** The time in a browser field, in the current zone. */
export function timeOfField(text: string): Date {
  return new Date(zone.value === 'utc' ? `${text}Z` : text)
}
