// The part of the configuration that says what is logged, in which form, where, and for how long.

import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { parseDurationMs } from '../lib/durations'
import { LEVELS } from '../lib/log-events'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'

export const ClickHouseEntry = Type.Object(
  {
    url: requiredSetting(
      'Its address over HTTP: `http://127.0.0.1:8123`.',
      Type.String({ pattern: '^https?://' }),
    ),
    database: optionalSetting(
      'The database, which must be there. Default `default`.',
      Type.String({ pattern: '^\\w+$' }),
    ),
    table: optionalSetting(
      'The table, made if absent. Default `request_log`.',
      Type.String({ pattern: '^\\w+$' }),
    ),
    user: optionalSetting('The user. Default `default`.', Type.String()),
    password: optionalSetting("The user's password.", Type.String()),
  },
  closed,
)

export const LogEntry = Type.Object(
  {
    level: optionalSetting(
      'The least level of lines that are written. Default `info`.',
      Type.Union(LEVELS.map((level) => Type.Literal(level))),
    ),
    format: optionalSetting(
      '`text` for people, or `json`. Default: text on a terminal, else JSON.',
      Type.Union([Type.Literal('text'), Type.Literal('json')]),
    ),
    requests: optionalSetting('Whether each request is a line. Default true.', Type.Boolean()),
    to: optionalSetting(
      'Where rows of requests are kept: in the `database` (a file of its own beside SQLite), or in `clickhouse`. Default `database`.',
      Type.Union([Type.Literal('database'), Type.Literal('clickhouse')]),
    ),
    keep: optionalSetting('How long rows of requests are kept. Default `30d`.', Type.String()),
    clickhouse: optionalSetting('The server that keeps the rows.', ClickHouseEntry),
  },
  closed,
)
export type ClickHouseConfig = Static<typeof ClickHouseEntry>
type LogEntry = Static<typeof LogEntry>

const DEFAULT_KEEP = '30d'

const compiled = TypeCompiler.Compile(LogEntry)

/** Faults that the schema cannot express; none for an entry that does not fit the schema. */
export function logFaults(entry: unknown): string[] {
  if (!compiled.Check(entry)) return []
  const { keep, to, clickhouse } = entry
  const faults: string[] = []
  if (keep !== undefined && parseDurationMs(keep) === undefined) {
    faults.push(`log.keep: "${keep}" is not a duration such as "30d"`)
  }
  if (to === 'clickhouse' && !clickhouse) faults.push('log.clickhouse: missing; say where it is')
  if (clickhouse && to !== 'clickhouse') faults.push(`log.to: must be "clickhouse" for log.clickhouse`)
  return faults
}

/** How long rows of requests are kept, in milliseconds. */
export function keepRequestsMs({ keep = DEFAULT_KEEP }: LogEntry = {}): number {
  const keepMs = parseDurationMs(keep)
  if (keepMs === undefined) throw new Error('log.keep was not checked')
  return keepMs
}
