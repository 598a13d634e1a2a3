// Writes lines of the log: as JSON for programs, or as text for people. Pure. A line must never break into two, whatever
// stands in its fields.

import type { Level } from '../lib/log-events'

export type LogFormat = 'json' | 'text'

export interface LogLine {
  /** Milliseconds since 1970. */
  at: number
  level: Level
  event: string
  fields: Readonly<Record<string, unknown>>
}

/** One line with its end. */
export function formatLine({ at, level, event, fields }: LogLine, format: LogFormat): string {
  const time = new Date(at).toISOString()
  if (format === 'json') {
    // In two parts: an object made of both takes longer than writing it.
    const rest = JSON.stringify(fields).slice(1)
    return `{"at":"${time}","level":"${level}","event":${JSON.stringify(event)}${rest === '}' ? '' : ','}${rest}\n`
  }
  const words = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}=${textOf(value)}`)
  return `${[time, level.toUpperCase().padEnd(5), event, ...words].join(' ')}\n`
}

/** A value as it stands after its name: plain words as they are, all else as JSON. */
function textOf(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=\p{C}]+$/u.test(value) ? value : JSON.stringify(value)
}
