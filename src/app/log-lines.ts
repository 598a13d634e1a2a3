// Formats lines of the log: as JSON for programs, or as text for people. Pure. Whatever its fields contain, a line must never break
// into two, or contain a control character that a terminal obeys.

import type { Level } from '../lib/log-events'
import { printable } from '../lib/printable'

export type LogFormat = 'json' | 'text'

interface LogLine {
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
    // In two parts: building an object from both takes longer than writing it.
    const rest = JSON.stringify(fields).slice(1)
    const start = `{"at":"${time}","level":"${level}","event":${JSON.stringify(event)}`
    return `${start}${rest === '}' ? '' : ','}${printable(rest)}\n`
  }
  const words = [time, level.toUpperCase().padEnd(5), event]
  for (const name in fields) {
    const value = fields[name]
    if (value !== null && value !== undefined) words.push(`${name}=${textOf(value)}`)
  }
  // Appending pieces to one text takes half as long again, including the write.
  return `${printable(words.join(' '))}\n`
}

/** Words of ASCII without spaces, quotes and equals signs: nearly all, and quickly recognized. */
const PLAIN_ASCII = /^[!#-<>-~]+$/
const PLAIN = /^[^\s"=\p{C}]+$/u

/** A value as written after its name: plain words unchanged, everything else as JSON. */
function textOf(value: unknown): string {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && (PLAIN_ASCII.test(value) || PLAIN.test(value))
    ? value
    : JSON.stringify(value)
}
