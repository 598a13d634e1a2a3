// The operator's log: lines of a level or above, as text or as JSON. Lines of requests arrive in batches; each batch is
// written in one go.

import type { Config } from '../config/schema'
import { isLevel, type Level, levelOf } from '../lib/log-events'
import type { Log } from '../lib/system'
import { requestFields } from '../request-log/line'
import type { ReadRows } from '../request-log/request-log'
import type { RequestLogRow } from '../request-log/row'
import { formatLine, type LogFormat } from './log-lines'

export interface LogOutput {
  log: Log
  /** Writes a line for each request; undefined if none is wanted. */
  requests: ReadRows | undefined
}

const DEFAULT_LEVEL: Level = 'info'

/** Creates the log of a configuration. `write` takes whole lines. */
export function createLogOutput(
  { log: entry = {} }: { log?: Config['log'] | undefined },
  { write, format, wall }: { write: (lines: string) => void; format: LogFormat; wall: () => number },
): LogOutput {
  const { level: least = DEFAULT_LEVEL, requests = true } = entry
  const chosen = entry.format ?? format
  const lineOf = (row: RequestLogRow) => {
    const level = row.status >= 500 ? 'warn' : 'info'
    if (!isLevel(level, least)) return ''
    return formatLine(
      { at: row.at + row.durationMs, level, event: 'request', fields: requestFields(row) },
      chosen,
    )
  }
  return {
    log(event, fields) {
      const level = levelOf(event)
      if (isLevel(level, least)) write(formatLine({ at: wall(), level, event, fields }, chosen))
    },
    requests: requests
      ? (rows) => {
          const lines = rows.map(lineOf).join('')
          if (lines) write(lines)
        }
      : undefined,
  }
}
