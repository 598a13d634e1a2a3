// Collects log lines that are reported to operators, until the next check stores them. It must never slow down logging: a note is a
// row of a small table in memory.

import type { EventName } from '../contract/events'
import type { Log } from '../lib/system'
import { type EventCondition, UNTIL_ENDED } from './conditions'

/** A note: a condition that was seen, or one that is over. */
type Notice =
  | { condition: EventCondition; lastsMs: number }
  | { isOver: Pick<EventCondition, 'type' | 'subject' | 'details'> }

interface Noticed {
  type: EventName
  /** The subject: the fields of the line that name it, or the name of the only one. */
  subject: { fields: readonly string[] } | { name: string }
  /** Fields of the line that the message has. */
  fields: readonly string[]
  lastsMs: number
  /** The log line that ends it, if any, and the fields of that line for the final message. */
  endedBy?: string
  endFields?: readonly string[]
  /** Whether it is a state of this process, which is recorded at each check while it lasts, and ends with the process. */
  isOwn?: true
}

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const MAX_SHOWN = 5
const MAX_LENGTH = 500

/** Lines that begin a condition, by their events. */
const noticed: Readonly<Record<string, Noticed>> = {
  backup_failed: {
    type: 'backup.failed',
    subject: { name: 'backup' },
    fields: ['reason'],
    lastsMs: UNTIL_ENDED,
    endedBy: 'backup_made',
    endFields: ['name', 'bytes'],
  },
  books_wrong: {
    type: 'books.wrong',
    subject: { name: 'books' },
    fields: ['problems'],
    lastsMs: DAY_MS,
  },
  charge_not_ended: {
    type: 'charge.failed',
    subject: { name: 'charges' },
    fields: ['request', 'error'],
    lastsMs: DAY_MS,
  },
  config_not_reloaded: {
    type: 'configuration.refused',
    subject: { name: 'configuration' },
    fields: ['faults'],
    lastsMs: MINUTE_MS,
    endedBy: 'config_reloaded',
    isOwn: true,
  },
  // Reported again until it is credited, or for three days.
  payment_not_credited: {
    type: 'payment.not_credited',
    subject: { fields: ['payment'] },
    fields: ['reason'],
    lastsMs: DAY_MS,
    endedBy: 'payment_credited',
  },
  // Kept for longer than the day in its subject, so that a node with a slow clock does not report it again.
  price_drift: {
    type: 'price.drift',
    subject: { fields: ['model', 'day'] },
    fields: ['model', 'upstream', 'request', 'list_usd', 'vendor_usd', 'percent', 'basis'],
    lastsMs: DAY_MS + 60 * MINUTE_MS,
  },
  usage_above_quote: {
    type: 'usage.above_quote',
    subject: { fields: ['model'] },
    fields: [
      ...['request', 'upstream', 'input_tokens', 'output_tokens'],
      ...['quoted_input_tokens', 'quoted_output_tokens'],
    ],
    lastsMs: 60 * MINUTE_MS,
  },
  upstream_refused_operator: {
    type: 'upstream.refused',
    subject: { fields: ['upstream'] },
    fields: ['status', 'code', 'message'],
    lastsMs: 15 * MINUTE_MS,
  },
}

const enders = new Map(
  Object.values(noticed).flatMap((row) => (row.endedBy === undefined ? [] : [[row.endedBy, row] as const])),
)

export class Notices {
  private readonly waiting = new Map<string, Notice>()
  private readonly own = new Map<string, Notice>()

  /** A log whose lines are noted. */
  noticing(log: Log): Log {
    return (event, fields) => {
      const row = noticed[event]
      if (row) this.begin(row, fields)
      const ended = enders.get(event)
      if (ended) this.end(ended, fields)
      log(event, fields)
    }
  }

  /** The notes since the last check, and those of continuing states. */
  take(): Notice[] {
    const notices = [...this.own.values(), ...this.waiting.values()]
    this.waiting.clear()
    return notices
  }

  /** Keeps notes that could not be stored for the next check, unless there are newer ones for the same subjects. */
  putBack(notices: readonly Notice[]): void {
    for (const notice of notices) {
      const { type, subject } = 'isOver' in notice ? notice.isOver : notice.condition
      const name = `${type} ${subject}`
      if (!this.own.has(name) && !this.waiting.has(name)) this.waiting.set(name, notice)
    }
  }

  private begin({ type, subject, fields, lastsMs, isOwn }: Noticed, line: Record<string, unknown>): void {
    const name = subjectOf(subject, line)
    const details = detailsOf(fields, line)
    const notice = { condition: { type, subject: name, account: null, details }, lastsMs }
    ;(isOwn ? this.own : this.waiting).set(`${type} ${name}`, notice)
  }

  private end({ type, subject, isOwn, endFields = [] }: Noticed, line: Record<string, unknown>): void {
    const name = subjectOf(subject, line)
    const details = detailsOf(endFields, line)
    if (isOwn) this.own.delete(`${type} ${name}`)
    else this.waiting.set(`${type} ${name}`, { isOver: { type, subject: name, details } })
  }
}

function subjectOf(subject: Noticed['subject'], line: Record<string, unknown>): string {
  return 'name' in subject ? subject.name : subject.fields.map((field) => String(line[field])).join(', ')
}

function detailsOf(fields: readonly string[], line: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, shown(line[field])]))
}

/** A value in the form of a message. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_SHOWN).map(shown)
  return typeof value === 'string' ? value.slice(0, MAX_LENGTH) : (value ?? null)
}
