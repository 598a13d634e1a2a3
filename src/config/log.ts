// The part of the configuration that says what is logged, in which form, where, and for how long.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { parseBytes, parseDurationMs } from '../lib/durations'
import { LEVELS } from '../lib/log-events'
import { closed, optionalSetting } from '../lib/setting'

export const BodiesEntry = Type.Object(
  {
    keep: optionalSetting('How long bodies are kept. Default `7d`.', Type.String()),
    keys: optionalSetting(
      'Only requests of these keys, by name or id. Default: all.',
      Type.Array(Type.String()),
    ),
    models: optionalSetting('Only requests to these models. Default: all.', Type.Array(Type.String())),
    redact: optionalSetting(
      'Names of fields whose values are left out, anywhere in a body.',
      Type.Array(Type.String({ minLength: 1 })),
    ),
    maxBodyBytes: optionalSetting(
      'How much of each body is kept. Default `64KB`, at most `1MB`.',
      Type.String(),
    ),
    maxBytes: optionalSetting(
      'Maximum size of all bodies; the oldest are deleted first. Default `1GB`.',
      Type.String(),
    ),
  },
  closed,
)

export const LogEntry = Type.Object(
  {
    level: optionalSetting(
      'The lowest level of lines that are written. Default `info`.',
      Type.Union(LEVELS.map((level) => Type.Literal(level))),
    ),
    format: optionalSetting(
      '`text` for people, or `json`. Default: text on a terminal, else JSON.',
      Type.Union([Type.Literal('text'), Type.Literal('json')]),
    ),
    requests: optionalSetting('Whether each request is logged as a line. Default true.', Type.Boolean()),
    keep: optionalSetting('How long rows of requests are kept. Default `30d`.', Type.String()),
    bodies: optionalSetting(
      'Keeps requests and answers, for `gateway requests show ID --bodies`. Default: off.',
      BodiesEntry,
    ),
  },
  closed,
)
type LogEntry = Static<typeof LogEntry>

const DEFAULT_KEEP = '30d'
const DEFAULT_BODIES = { keep: '7d', maxBodyBytes: '64KB', maxBytes: '1GB' } as const
const MAX_BODY_BYTES = 1_000_000

/** The fault of a removed setting of the log, with what to use instead; undefined for any other setting. */
export function removedLogSetting(place: string): string | undefined {
  if (place !== 'log.to' && place !== 'log.clickhouse') return undefined
  return 'log: requests are no longer written to ClickHouse; remove log.to and log.clickhouse. They are kept in the database, for many requests in PostgreSQL (`database`), and `telemetry` sends them to a collector over OTLP, which can write to ClickHouse'
}

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function logFaults(entry: unknown): string[] {
  if (!Check(LogEntry, entry)) return []
  const { keep, bodies } = entry
  const faults: string[] = []
  if (keep !== undefined && parseDurationMs(keep) === undefined) {
    faults.push(`log.keep: "${keep}" is not a duration such as "30d"`)
  }
  return [...faults, ...bodyFaults(bodies)]
}

function bodyFaults(bodies: Static<typeof BodiesEntry> = {}): string[] {
  const faults: string[] = []
  const { keep, maxBodyBytes, maxBytes } = { ...DEFAULT_BODIES, ...bodies }
  if (parseDurationMs(keep) === undefined) {
    faults.push(`log.bodies.keep: "${keep}" is not a duration such as "7d"`)
  }
  const each = parseBytes(maxBodyBytes)
  if (each === undefined || each > MAX_BODY_BYTES) {
    faults.push(`log.bodies.maxBodyBytes: "${maxBodyBytes}" is not a size up to 1MB, such as "64KB"`)
  }
  if (parseBytes(maxBytes) === undefined) {
    faults.push(`log.bodies.maxBytes: "${maxBytes}" is not a size such as "1GB"`)
  }
  return faults
}

/** Which bodies are stored, how much of them, and for how long. */
export interface BodyLimits {
  keepMs: number
  keys: readonly string[] | undefined
  models: readonly string[] | undefined
  redact: readonly string[]
  maxBodyBytes: number
  maxBytes: number
}

/** The limits of a valid entry; undefined if no bodies are stored. */
export function keptBodiesOf({ bodies }: LogEntry = {}): BodyLimits | undefined {
  if (!bodies) return undefined
  const { keys, models, redact = [], ...texts } = bodies
  const { keep, maxBodyBytes, maxBytes } = { ...DEFAULT_BODIES, ...texts }
  return {
    keys,
    models,
    redact,
    keepMs: checked(parseDurationMs(keep)),
    maxBodyBytes: checked(parseBytes(maxBodyBytes)),
    maxBytes: checked(parseBytes(maxBytes)),
  }
}

function checked(value: number | undefined): number {
  if (value === undefined) throw new Error('log.bodies was not checked')
  return value
}

/** How long rows of requests are stored, in milliseconds. */
export function keepRequestsMs({ keep = DEFAULT_KEEP }: LogEntry = {}): number {
  const keepMs = parseDurationMs(keep)
  if (keepMs === undefined) throw new Error('log.keep was not checked')
  return keepMs
}
